"""What a notebook is read as: cells, and the words by which a reader finds them."""

import pytest

from ffnlib.grading.collect import Handed
from ffnlib.grading.submission import Cell, places, read_submission
from tests.grading import build_submissions as golden


def test_a_cell_is_named_by_what_jupyter_shows_of_it():
    cells = (
        Cell(2, "\n  import numpy as np  \nx = 1"),
        Cell(5, "def relu(x):\n    return x", count=12),
        Cell(6, "x" * 100),
    )
    assert list(places(cells).values()) == [
        'the cell that begins with "import numpy as np"',
        'the cell [12] that begins with "def relu(x):"',
        f'the cell that begins with "{"x" * 37}..."',
    ]


def test_cells_that_begin_alike_are_told_apart():
    cells = tuple(Cell(number, "x = 1", count=number // 4) for number in range(1, 6))
    assert [words.partition(" that")[0] for words in places(cells).values()] == [
        *("the 1st cell", "the 2nd cell", "the 3rd cell", "the 1st cell [1]", "the 2nd cell [1]")
    ]


@pytest.mark.parametrize(
    ("written", "read"), [({"execution_count": 7}, 7), ({"prompt_number": 7, "execution_count": None}, 0)]
)
def test_the_count_is_the_one_beside_the_cell(written, read):
    made = [cell | written for cell in golden.cells()]
    assert read_submission(Handed("ann", "x.ipynb", golden.notebook(made), 0.0)).cells[0].count == read


@pytest.mark.parametrize("odd", [None, True, -1, 2**70, 1.5, "7", [7], {}])
def test_a_count_of_another_kind_is_none(odd):
    made = [cell | {"execution_count": odd} for cell in golden.cells()]
    assert read_submission(Handed("ann", "x.ipynb", golden.notebook(made), 0.0)).cells[0].count == 0
