"""When the asking itself goes wrong: our faults are called ours, and probes that cannot tell are refused."""

from __future__ import annotations

import numpy as np
import pytest

from ffnlib.examination.evidence import Evidence, gather
from ffnlib.examination.exercise import Misconception, Probe, call
from ffnlib.examination.judge import judge
from ffnlib.examination.probing import draw, separating
from tests.examination.asking import doubled, made_up, verdict_on


def test_evidence_for_other_calls_than_were_asked_is_our_fault():
    exercise = made_up()
    probes = draw(exercise, 0)
    seen = gather(probes, doubled)
    verdict = judge(exercise, probes, Evidence(seen.observations[:2]))
    assert verdict.status == "broken" and "2 observations of 4 calls" in verdict.message


def test_probes_that_tell_all_programs_apart_are_found_among_the_seeds():
    def probes(rng):
        return (call(np.full(3, 2.0 if rng.integers(3) else 5.0)),)  # 2 * 2 is 2 squared

    squared = Misconception("squared", lambda x: x * x, "x is squared", "which operation?")
    found = separating(made_up(probes=probes, misconceptions=(squared,)), range(40))
    assert any(value == 5.0 for args in found[0].calls for value in args[0])


def test_probes_that_never_tell_two_programs_apart_are_refused_with_their_names():
    squared = Misconception("squared", lambda x: x * x, "x is squared", "which operation?")
    exercise = made_up(probes=lambda rng: (call(np.full(3, 2.0)),), misconceptions=(squared,))
    with pytest.raises(ValueError, match="never tell 'oracle' from 'squared'"):
        separating(exercise, range(3))


def test_results_of_another_kind_at_the_second_asking_are_a_change():
    from ffnlib.examination.exercise import Array, Parts

    exercise = made_up(
        oracle=lambda x: (x, x),
        returns=Parts(("a", "b"), (Array(), Array())),
        misconceptions=(),
        probes=lambda rng: (call(rng.normal(size=3)),),
    )
    answers = iter([(np.zeros(3), np.zeros(3)), (np.zeros(3), np.zeros(3)), (np.zeros(3), "text")])
    assert verdict_on(lambda x: next(answers), exercise).status == "not-yet"


def test_a_missing_error_among_other_faults_gets_a_question():
    def oracle(x):
        if not x.any():
            raise ValueError("zero")
        return 2 * x

    exercise = made_up(
        oracle=oracle, misconceptions=(), probes=lambda rng: (call(np.zeros(2)), call(rng.normal(size=2)))
    )
    verdict = verdict_on(lambda x: np.cos(x) + 0.1234, exercise)
    assert verdict.status == "not-yet" and "raise the error there" in verdict.message


def test_stopping_a_module_while_it_is_built_stops_the_check():
    torch = pytest.importorskip("torch")

    class FeedForward(torch.nn.Module):
        def __init__(self, d_model, d_ff):
            raise KeyboardInterrupt

    probe = Probe(((3, 5),), "build", (), (np.zeros((1, 2, 3)),))
    with pytest.raises(KeyboardInterrupt):
        gather((probe,), FeedForward, "class")
