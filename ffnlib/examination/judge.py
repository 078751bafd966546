"""Right or wrong, and why: the only place that decides.

`judge` is pure. It computes what the oracle and the wrong programs give for the same arguments, compares that with the
evidence and returns a Verdict. It never sees the answer itself.
"""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from ffnlib.examination import evidence as gathering
from ffnlib.examination import explain, known_errors
from ffnlib.examination.evidence import Evidence, Observation
from ffnlib.examination.exercise import Exercise, Probe
from ffnlib.examination.forms import NOTHING, Complaint
from ffnlib.examination.probing import flatten
from ffnlib.examination.trials import Trial, put_to_trial
from ffnlib.examination.verdict import BROKEN, NOT_YET, PASSED, UNTOUCHED, Verdict
from ffnlib.examination.wording import answer_words, call_words, numbers_in


def judge(exercise: Exercise, probes: tuple[Probe, ...], evidence: Evidence) -> Verdict:
    """Return the verdict on one answer; where weights fit a module in several ways, on the way that goes furthest."""
    versions = _versions(evidence)
    if len(versions) > 1:
        versions.sort(key=lambda version: _wrong_calls(exercise, probes, version))
    verdicts = []
    for version in versions:
        verdicts.append(_judge(exercise, probes, version))
        if verdicts[-1].passed or verdicts[-1].misconception:
            return verdicts[-1]
    return verdicts[0]


def _wrong_calls(exercise: Exercise, probes: tuple[Probe, ...], evidence: Evidence) -> int:
    pairs = zip(flatten(probes), evidence.observations)
    return sum(put_to_trial(exercise, args, seen).difference is not None for args, seen in pairs)


def _versions(evidence: Evidence) -> list[Evidence]:
    """Return the evidence once for every way in which weights were placed in a module, in all observations alike."""
    labels = [attempt[0] for attempt in _attempts(evidence.observations[0])] if evidence.observations else []
    return [replace(evidence, observations=_placed(evidence, label)) for label in labels] or [evidence]


def _attempts(seen: Observation) -> tuple:
    module = seen.returned is not None and seen.returned.kind == "module"
    return seen.returned.value.get("attempts", ()) if module else ()


def _placed(evidence: Evidence, label: str) -> tuple[Observation, ...]:
    chosen = []
    for seen in evidence.observations:
        attempts = tuple(attempt for attempt in _attempts(seen) if attempt[0] == label)
        if attempts:
            seen = replace(seen, returned=replace(seen.returned, value={**seen.returned.value, "attempts": attempts}))
        chosen.append(seen)
    return tuple(chosen)


def _judge(exercise: Exercise, probes: tuple[Probe, ...], evidence: Evidence) -> Verdict:
    early = _not_asked(exercise, evidence)
    if early is not None:
        return early
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        calls = flatten(probes)
        read_only = exercise.wanted == "value"
        observations = (Observation(evidence.answer),) if read_only else evidence.observations
        if len(observations) != len(calls):
            return Verdict(
                exercise.id, BROKEN, None, (("got", f"{len(observations)} observations of {len(calls)} calls"),)
            )
        trials = [put_to_trial(exercise, args, seen) for args, seen in zip(calls, observations)]
        return _verdict(exercise, evidence, trials)


def _not_asked(exercise: Exercise, evidence: Evidence) -> Verdict | None:
    """Return the verdict on an answer that could not be tried, or None when it could."""
    answer, first = evidence.answer, evidence.observations[:1]
    if answer is not None and answer.kind == "ellipsis":
        return _untouched(exercise)
    if first and gathering.is_stub(first[0]):
        return _untouched(exercise)
    if evidence.problem:
        got = answer_words(answer)
        steps = {
            "function": f"pass the function itself, without calling it: {exercise.check_text()}",
            "class": f"pass the class itself, not an object made from it: {exercise.check_text()}",
        }
        because = f"a {exercise.wanted} is asked for, and this is not one"
        return _not_yet(
            exercise,
            f"not a {exercise.wanted}",
            (("got", got), ("because", because), ("next", steps[exercise.wanted])),
            (),
        )
    return None


def _untouched(exercise: Exercise) -> Verdict:
    text = f"write your answer in its cell, run that, and {exercise.check_text()} again; hint({exercise.id!r}) helps"
    return Verdict(exercise.id, UNTOUCHED, None, (("next", text),))


def _not_yet(exercise: Exercise, name: str | None, lines, private=("called", "got")) -> Verdict:
    return Verdict(exercise.id, NOT_YET, name, tuple(line for line in lines if line[1]), private)


def _verdict(exercise: Exercise, evidence: Evidence, trials: list[Trial]) -> Verdict:
    wrong = [trial for trial in trials if trial.difference]
    complaint = explain.complained(trials)
    changed = [trial for trial in trials if trial.observation.changed]
    if not wrong and not complaint and not changed and not evidence.library:
        return Verdict(exercise.id, PASSED, None, (*_passed_lines(exercise, trials), *_notes(trials, trials)))
    if not wrong:
        return _right_numbers(exercise, evidence, complaint, changed, trials)
    shown = _telling(wrong, [])
    named, more = _cause(exercise, evidence, trials, [shown, *(t for t in wrong if t is not shown)], complaint)
    if named:
        shown = _telling(wrong, _about(named, trials, changed))
    called, got = _called_and_got(exercise, shown)
    more = [text for text in more if not got[1] or got[1] not in text]  # told once is enough
    if named and changed and named[0] != explain.MODIFIES_INPUT:
        more.append(f"besides, {explain.changed_input(exercise, changed)[1]}")
    notes = (*_notes([shown], trials), *(("note", text) for text in more))
    if named is None:
        return _not_yet(exercise, None, (called, got, *explain.what_is_known(exercise, trials, shown), *notes))
    name, because, step = named
    own = shown.reading.complaint if shown.reading else None
    if own and own.name == name != NOTHING.name:  # said of the call that is shown, not of the first one
        because, step = own.because, own.next
    formless = (
        shown.difference is not None and shown.difference.kind == "form"
    )  # then "got" says what the cause says, or less
    seen = [line for line in (called, got) if line[1] not in because and not (line is got and formless)]
    return _not_yet(exercise, name, (*seen, ("because", because), ("next", step), *notes))


def _cause(exercise, evidence: Evidence, trials: list[Trial], wrong: list[Trial], complaint: Complaint | None):
    """Return the first explanation that fits, cheapest first, and what is worth a note beside it.

    Shapes and values in it are those of the first wrong call, which is the one that is shown.
    """
    answered = [trial for trial in trials if not trial.difference or not trial.expected_error]
    named = (
        explain.right_in_a_wrong_form(exercise, trials, complaint)
        or explain.one_of_several(exercise, trials)
        or explain.kept_between_calls(exercise, trials)
        or explain.order_of_arguments(exercise, evidence)
        or explain.listed(exercise, trials)
    )
    if named is None:
        named, besides = explain.listed_where_nothing_is_raised(exercise, trials)
        if named:
            return named, [besides]
    if named is None and len(answered) < len(trials):
        named = explain.listed(exercise, answered)
        if named:
            return named, ["besides, no error is raised where one is asked for"]
        if not any(trial.difference for trial in answered):
            named = explain.missing_error(wrong)
    named = (
        named
        or explain.refused(wrong)
        or explain.nothing_computed(exercise, trials)
        or explain.refuses_too_much(trials)
    )
    if named is not None:
        return named, [f"and {complaint.because}"] if complaint and named[0] != complaint.name else []
    told = complaint and (complaint.name != "float32" or wrong[0].difference.kind == "form")
    form = (complaint.name, complaint.because, complaint.next) if told else None
    often = 2 * sum(bool(trial.reading and trial.reading.complaint) for trial in wrong) >= len(wrong)
    raised = [trial.observation.raised for trial in wrong]
    named = (
        (form if often else None)  # an error in most calls says more than a form that is seen in few
        or explain.form_of_arguments(exercise, wrong)
        or known_errors.explained(raised)
        or form
        or explain.constant(trials)
        or explain.order_of_rows(exercise, wrong)
        or explain.neighbouring_shape(wrong)
        or explain.overflowed(wrong)
        or explain.cut_off(wrong)
        or explain.loop_left_early(wrong)
        or explain.changed_input(exercise, [trial for trial in trials if trial.observation.changed])
        or explain.searched(exercise, answered)
        or explain.constant_part(exercise, trials)
        or explain.number_of_axes(exercise, trials)
        or known_errors.of_shapes(raised[0])
    )
    return named, [f"besides, {complaint.because}"] if named is None and complaint else []


def _about(named: tuple[str, str, str], trials: list[Trial], changed: list[Trial]) -> list[Trial]:
    """Return the calls that a cause is about, where it is about some of them: a form, an error, a changed argument."""
    if named[0] == explain.MODIFIES_INPUT:
        return changed
    formed = [t for t in trials if t.reading and t.reading.complaint and t.reading.complaint.name == named[0]]
    return formed or [t for t in trials if t.observation.raised and known_errors.cause(t.observation.raised) == named]


def _telling(wrong: list[Trial], caused: list[Trial]) -> Trial:
    """Return the call to show: one that is about the cause, with the fewest numbers, so that it can be done by hand."""
    about = [trial for trial in wrong if any(trial is other for other in caused)] or caused or wrong
    calm = [trial for trial in about if not trial.observation.raised]
    about = calm if 2 * len(calm) > len(about) else about
    kind = about[0].difference.kind if about[0].difference else ""
    alike = [trial for trial in about if trial.difference and trial.difference.kind == kind and numbers_in(trial.args)]
    return min(alike, key=lambda trial: numbers_in(trial.args)) if alike else about[0]


def _passed_lines(exercise: Exercise, trials: list[Trial]):
    times = f" {len(trials)} times, each result as expected" if len(trials) > 1 else ""
    return (("called", f"{exercise.call_text()}{times}"),)


def _notes(shown: list[Trial], trials: list[Trial]):
    """Return the friendly notes, each once: forms of the calls shown that were read on purpose, and all warnings."""
    notes = [note for trial in shown if trial.reading for note in trial.reading.notes]
    notes += [f"on the way: {text}" for trial in trials for text in trial.observation.warned]
    return tuple(("note", note) for note in list(dict.fromkeys(notes))[:3])


def _right_numbers(exercise, evidence, complaint, changed, trials) -> Verdict:
    """Return the verdict when every number is right and something else is not."""
    if evidence.library:
        because = f"the answer calls {exercise.library}, which is the function asked for"
        step = "write it yourself from smaller operations"
        return _not_yet(exercise, "library call", (("because", because), ("next", step), *_notes(trials, trials)))
    if complaint:
        shown = next(t for t in trials if t.reading and t.reading.complaint)
        name, because, step = complaint.name, complaint.because, complaint.next
    else:
        shown = changed[0]
        name, because, step = explain.changed_input(exercise, changed)
    lines = (("called", call_words(exercise, shown.args)), ("because", because), ("next", step))
    lines += _notes([shown], trials)
    return _not_yet(exercise, name, lines)


def _called_and_got(exercise: Exercise, trial: Trial):
    got = trial.difference.words if trial.difference else ""
    return ("called", call_words(exercise, trial.args)), ("got", got)
