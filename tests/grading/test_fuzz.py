"""Notebooks changed at random, in bytes and in structure, always end in a row, and never in more points."""

import copy
import json
import random

import pytest

from ffnlib.grading.collect import Handed
from ffnlib.grading.submission import read_submission
from tests.grading import build_submissions as golden

ODD = [None, True, -1, 2**70, 1.5, "", "x", "\ud800", [], {}, [[]], {"ffn": {"role": "answer", "exercise": "relu"}}]


def changed_bytes(data, draw):
    data = bytearray(data)
    for _ in range(draw.randint(1, 8)):
        where = draw.randrange(len(data))
        data[where : where + draw.choice([0, 1, 1, 50])] = draw.randbytes(draw.choice([0, 1, 1, 20]))
    return bytes(data)


def changed_structure(data, draw):
    notebook = json.loads(data)
    for _ in range(draw.randint(1, 5)):
        change(notebook, draw)
    return json.dumps(notebook).encode("utf-8", "surrogatepass")


def change(node, draw, depth=0):
    """Change one place of nested data: remove it, repeat it, or put something odd there."""
    keys = list(node) if isinstance(node, dict) else list(range(len(node)))
    if not keys:
        return
    key = draw.choice(keys)
    if isinstance(node[key], (dict, list)) and node[key] and (draw.random() < 0.8 or not depth):
        change(node[key], draw, depth + 1)
    elif draw.random() < 0.3:
        del node[key]
    elif isinstance(node, list) and draw.random() < 0.5:
        node.insert(draw.randrange(len(node)), copy.deepcopy(node[key]))
    else:
        node[key] = draw.choice(ODD)


@pytest.mark.parametrize("change_one", [changed_bytes, changed_structure])
def test_any_bytes_are_read_as_a_submission_or_as_a_problem(change_one):
    draw = random.Random(7)
    for _ in range(1500):
        submission = read_submission(Handed("ann", "x.ipynb", change_one(golden.KINDS["right"][1], draw), 0.0))
        assert submission.problem or submission.lesson
        json.dumps(vars(submission), default=vars)


def test_changed_notebooks_end_in_a_row_each(hand_in, grade):
    draw = random.Random(11)
    for number in range(60):
        change_one = (changed_bytes, changed_structure)[number % 2]
        kind = draw.choice(["right", "wrong", "format_3", "magics", "exception_with_a_page", "copied_cell"])
        folder = hand_in(f"s{number:03}.ipynb", change_one(golden.KINDS[kind][1], draw))
    rows = grade(folder, timeout=10)
    assert len(rows) == 60
    for row in rows:
        assert row["status"] in ("graded", "needs-human") and 0 <= (row["score"] or 0) <= row["max_score"] <= 4
    assert sum(row["score"] == 4 for row in rows) > 5, "most changes are harmless, and then no point is lost"
