"""Every answer is explained in words of its own, one is right, and what is said to happen happens."""

import numpy as np
import pytest

from ffnlib import layer
from ffnlib.activations import gelu, slope
from ffnlib.authoring import build, claims
from ffnlib.authoring.notebook import lesson_files
from ffnlib.course import load
from ffnlib.review.questions import FINAL, PROGRAMS, SENTENCES, quiz, shown_order

QUESTIONS = {question.id: question for question in (*PROGRAMS, *SENTENCES, *FINAL)}
rng = np.random.default_rng(0)
x, W1, b1 = rng.normal(size=(5, 6)), rng.normal(size=(6, 24)), rng.normal(size=24)
W2, b2 = rng.normal(size=(24, 6)), rng.normal(size=6)


def texts(question, right=None):
    return [answer.text for answer in QUESTIONS[question].answers if right is None or answer.right == right]


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=lambda question: question.id)
def test_one_answer_is_right_and_each_has_an_explanation_of_its_own(question):
    assert [answer.right for answer in question.answers].count(True) == 1
    assert len({answer.text for answer in question.answers}) == len(question.answers) >= 4
    assert len({answer.why for answer in question.answers}) == len(question.answers)
    assert all(len(answer.why.split()) >= 5 for answer in question.answers)


def test_no_explanation_serves_two_questions():
    every = [answer.why for question in QUESTIONS.values() for answer in question.answers]
    assert len(QUESTIONS) == len((*PROGRAMS, *SENTENCES, *FINAL)) and len(set(every)) == len(every)


def test_the_right_answer_has_no_habitual_place():
    for questions in (PROGRAMS, SENTENCES, FINAL):
        orders = [shown_order(number, question) for number, question in enumerate(questions, 1)]
        places = [[answer.right for answer in order].index(True) for order in orders]
        assert len(set(places)) >= 3 and max(places.count(place) for place in places) <= len(places) / 2


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=lambda question: question.id)
def test_a_question_rests_on_claims_of_the_table(question):
    assert question.claims and set(question.claims) <= {claim.id for claim in claims.load()}


def test_a_question_is_asked_once_all_its_claims_are_decided():
    known = {claim.id for claim in load().claims}
    for questions in (PROGRAMS, SENTENCES, FINAL):
        due = [question for question in questions if set(question.claims) <= known]
        page = quiz(questions)
        assert page.words.startswith(f"{len(due)} questions with {sum(len(one.answers) for one in due)} answers")
        assert page.html.count("<details") == sum(len(one.answers) for one in due)
        assert page.html.count("<strong>Yes.</strong>") == len(due)


def test_all_questions_are_asked_when_all_lessons_are_written():
    if len(lesson_files(build.ROOT)) == 15:
        known = {claim.id for claim in load().claims}
        assert [question.id for question in QUESTIONS.values() if not set(question.claims) <= known] == []


# ---- programs: run them ------------------------------------------------------------------------


def run(question, **names):
    space = {"np": np, "rng": rng, "x": x, "W1": W1, "b1": b1, "W2": W2, "b2": b2, **names}
    exec(QUESTIONS[question].code, space)
    return space


def test_relu_last_is_one_matrix_and_a_clip():
    made = run("relu-last")["feed_forward"](x, W1, b1, W2, b2)
    assert np.allclose(made, np.maximum(0, x @ (W1 @ W2) + b1 @ W2 + b2)) and made.min() == 0


def test_flattened_is_refused():
    with pytest.raises(ValueError):
        run("flattened")


def test_without_biases_zeros_give_zeros():
    without = run("no-biases")["feed_forward"]
    assert not without(np.zeros((1, 6)), W1, b1, W2, b2).any()
    assert not np.allclose(without(x, W1, b1, W2, b2) - layer.feed_forward(x, W1, b1, W2, b2), b2)


def test_a_softmax_along_the_rows_lets_a_row_notice_another():
    changed = x + np.eye(5, 1)
    assert not np.allclose(run("softmax-inside")["result"][4], run("softmax-inside", x=changed)["result"][4])


def test_a_chain_without_skip_replaces_the_rows():
    assert (run("row-replaced", layers=[np.zeros_like] * 24)["x"] == 0).all()


def test_a_layer_of_width_one_runs():
    made = run("width-one", d_model=6)
    assert made["W1"].shape == made["W2"].shape == (6, 6)


# ---- numbers: computed by another way -----------------------------------------------------------


def test_the_count_and_its_wrong_answers():
    W1, W2 = np.zeros((512, 2048)), np.zeros((2048, 512))
    b1, b2 = np.zeros(2048), np.zeros(512)
    whole = sum(each.size for each in (W1, W2, b1, b2))
    assert texts("count-512", right=True) == [f"{whole:,}"]
    wrong = [W1.size + W2.size, W1.size + b1.size + b2.size, 12 * whole]
    assert texts("count-512", right=False) == [f"{number:,}" for number in wrong]


def test_the_lengths_of_equal_cost():
    d = 4096
    T = np.arange(1, 40_000)
    ffn, core, projections = 16 * T * d**2, 4 * T**2 * d, 8 * T * d**2
    first = [T[core + projections >= ffn][0], T[core >= ffn][0], T[core >= ffn + projections][0]]
    assert [text for text in texts("equal-cost") if "to" not in text] == [f"{length:,}" for length in first]
    assert texts("equal-cost", right=True) == [f"{first[0]:,}"]


def test_the_width_of_a_gated_layer_of_equal_size():
    d, sizes = 300, {"4 d": 12, "2 d": 6, "8/3 d": 8, "4/3 d": 4}
    for text, parts in sizes.items():
        width = round(d * eval(text.removesuffix(" d")))
        assert 3 * d * width == parts * d**2
    assert texts("swiglu-width", right=True) == ["8/3 d"] and set(texts("swiglu-width")) == set(sizes)


def test_the_slope_of_gelu():
    at = slope(gelu, -1.0)
    assert texts("gelu-slope", right=True) == ["small and negative"] and round(float(at), 2) == -0.08
    assert slope(gelu, -0.753) < 0 < slope(gelu, -0.751) and abs(slope(gelu, 0.0) - 0.5) < 1e-6


def test_the_worked_example():
    K, V = np.array([[1, 0], [0, 1], [1, 1], [-1, 1]]), np.array([[1, 0, 1, 0], [0, 1, 0, 1]])
    made = V @ np.maximum(0, K @ [1, 1])
    assert texts("worked-example", right=True) == [str(tuple(int(number) for number in made))]


def test_twice_as_long_costs_about_twice():
    d = 4096
    cost = [8 * T * d**2 + 4 * T**2 * d for T in (128, 256)]
    assert texts("twice-as-long", right=True) == [str(round(cost[1] / cost[0]))]


def test_the_key_of_a_unit_is_what_the_unit_reads():
    moved = W1.copy()
    moved[:, 7] += 1
    changed = np.flatnonzero((x @ moved != x @ W1).any(axis=0))
    assert texts("where-is-the-key", right=True) == ["in `W1[:, 7]`"] and changed.tolist() == [7]
