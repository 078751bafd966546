"""The learner's notebook is the solved one without its solutions, and `--check` notices every difference."""

import argparse
import json
from dataclasses import replace

import pytest

from ffnlib.authoring import build
from ffnlib.authoring.notebook import NotebookError, canonical, dumps, new_cell, new_notebook, read, write

from .conftest import ANSWER


def options(*words):
    parser = argparse.ArgumentParser()
    build.add_arguments(parser)
    return parser.parse_args(words)


def built(lesson):
    assert build.build(lesson.save().root, lesson.exercises) == []
    return {cell["id"]: cell for cell in read(lesson.built)["cells"]}


def test_a_region_in_a_function_becomes_a_comment_and_a_raise(lesson):
    source = built(lesson)["double-answer"]["source"]
    assert source == ('def double(x):\n    """Return twice x."""\n    # your code here\n    raise NotImplementedError')


def test_a_region_that_computes_a_value_becomes_an_ellipsis(lesson):
    assert built(lesson)["half-answer"]["source"] == "# your code here\nhalf = ..."


def test_an_answer_under_another_name_keeps_that_name_in_its_stub(lesson):
    lesson.cell("half-answer")["source"] = lesson.cell("half-answer")["source"].replace("half", "share")
    lesson.cell("half-check")["source"] = 'check("half", share)'
    assert built(lesson)["half-answer"]["source"] == "# your code here\nshare = ..."


def test_several_regions_of_one_cell_are_all_replaced(lesson):
    lesson.cell("double-answer")["source"] = (
        ANSWER + "\n    # between\n    " + "\n    ".join(["### BEGIN SOLUTION", "pass", "### END SOLUTION"])
    )
    source = built(lesson)["double-answer"]["source"]
    assert source.count("raise NotImplementedError") == 2 and "# between" in source and "factor" not in source


def test_solution_only_cells_are_left_out(lesson):
    assert "author-note" not in built(lesson)


def test_the_learners_notebook_holds_no_outputs_and_no_counts(lesson):
    for number, cell in enumerate((cell for cell in lesson.notebook["cells"] if cell["cell_type"] == "code"), 1):
        printed = {"name": "stdout", "output_type": "stream", "text": "seen\n"}
        cell |= {"execution_count": number, "outputs": [printed]}
    cells = built(lesson).values()
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in cells if cell["cell_type"] == "code")


def test_the_meaning_of_every_kept_cell_survives(lesson):
    cells = built(lesson)
    for name in cells:
        assert cells[name]["metadata"]["ffn"] == lesson.cell(name)["metadata"]["ffn"]


def test_answer_and_check_cells_carry_nbgraders_metadata_in_both_notebooks(lesson):
    double = lesson.exercises["01_tiny"]["double"]
    lesson.exercises["01_tiny"]["double"] = replace(double, points=2.5)
    learner = built(lesson)
    for cells in (learner, {cell["id"]: cell for cell in read(lesson.file)["cells"]}):
        answer, check = (cells[f"double-{kind}"]["metadata"]["nbgrader"] for kind in ("answer", "check"))
        both = {"schema_version": 3, "task": False}
        assert answer == both | {"grade_id": "double", "solution": True, "grade": False, "locked": False}
        graded = {"grade_id": "double_check", "solution": False, "grade": True, "locked": True, "points": 2.5}
        assert check == both | graded
        marked = [name for name in cells if "nbgrader" in cells[name]["metadata"]]
        assert marked == ["double-answer", "double-check", "half-answer", "half-check"]


def test_a_lesson_that_was_not_run_is_noted(lesson, capsys):
    built(lesson)
    told = capsys.readouterr().out
    assert "note: solutions/01_tiny.ipynb: cell setup has not been run as it stands" in told
    assert "run `python3 -m ffnlib build --execute 01_tiny`" in told


def test_building_twice_changes_no_byte(lesson):
    built(lesson)
    first = lesson.file.read_bytes(), lesson.built.read_bytes()
    build.build(lesson.root, lesson.exercises)
    assert (lesson.file.read_bytes(), lesson.built.read_bytes()) == first


def test_canonical_form_forgets_what_editors_and_kernels_leave(lesson):
    kept = dumps(lesson.notebook)
    lesson.notebook["metadata"] |= {"widgets": {"a": 1}, "language_info": {"name": "python", "version": "3.11.7"}}
    for cell in lesson.notebook["cells"]:
        cell["metadata"] |= {"collapsed": True, "execution": {"iopub.execute_input": "2026"}, "trusted": True}
    assert dumps(canonical(lesson.notebook)) == kept


def test_canonical_outputs_keep_words_and_pictures_and_drop_widget_models(lesson):
    cell = lesson.cell("table")
    model = {"application/vnd.jupyter.widget-view+json": {"model_id": "0a"}, "image/svg+xml": "<svg/>"}
    data = {"text/plain": "four"} | model
    cell["outputs"] = [
        {"output_type": "stream", "name": "stdout", "text": "one "},
        {"output_type": "stream", "name": "stdout", "text": "two\n"},
        {"output_type": "execute_result", "data": data, "metadata": {"width": 3}, "execution_count": 9},
    ]
    cell["execution_count"] = 4
    kept = next(each for each in canonical(lesson.notebook)["cells"] if each["id"] == "table")["outputs"]
    assert kept == [
        {"output_type": "stream", "name": "stdout", "text": "one two\n"},
        {"output_type": "execute_result", "data": {"text/plain": "four"}, "metadata": {}, "execution_count": 4},
    ]


def test_files_are_written_sorted_indented_by_one_with_unix_line_ends(lesson):
    lesson.save()
    text = lesson.file.read_bytes().decode("utf-8")
    assert text == json.dumps(json.loads(text), ensure_ascii=False, indent=1, sort_keys=True) + "\n"
    assert "\r" not in text


def test_reading_and_writing_again_changes_no_byte(lesson):
    lesson.cell("law")["source"] = "Ünïcode\n\ntwo lines"
    lesson.save()
    before = lesson.file.read_bytes()
    write(lesson.file, read(lesson.file))
    assert lesson.file.read_bytes() == before


def test_the_check_names_the_file_and_the_first_cell_that_differs(lesson):
    built(lesson)
    learner = read(lesson.built)
    learner["cells"][3]["source"] += "\n# changed"
    write(lesson.built, learner)
    [problem] = build.difference(lesson.root, lesson.built, built_again(lesson))
    assert str(problem).startswith("notebooks/01_tiny.ipynb, cell 4 (double-answer): not up to date in source")


def built_again(lesson):
    _, solved = build.load(lesson.root, lesson.exercises)
    return build.learner_notebook(solved[lesson.file])


@pytest.mark.parametrize("damage", ["missing", "shorter", "outside", "line ends"])
def test_the_check_notices_damage_outside_the_cells_too(lesson, damage):
    built(lesson)
    wanted = built_again(lesson)
    if damage == "missing":
        lesson.built.unlink()
    elif damage == "shorter":
        write(lesson.built, wanted | {"cells": wanted["cells"][:-1]})
    elif damage == "outside":
        write(lesson.built, wanted | {"metadata": {}})
    else:
        lesson.built.write_bytes(lesson.built.read_bytes().replace(b"\n", b"\r\n"))
    [problem] = build.difference(lesson.root, lesson.built, wanted)
    assert problem.file == "notebooks/01_tiny.ipynb" and "python3 -m ffnlib build" in problem.message


def test_a_notebook_without_a_source_is_reported_and_then_removed(lesson):
    built(lesson)
    stray = lesson.root / "notebooks" / "09_gone.ipynb"
    write(stray, lesson.notebook)
    assert "notebooks/09_gone.ipynb" in [problem.file for problem in build.check(lesson.root, lesson.exercises)]
    build.build(lesson.root, lesson.exercises)
    assert not stray.exists()


def test_lessons_link_to_their_neighbours(lesson):
    cells = [
        new_cell("markdown", "question", "# What is half?\n\n3 minutes", role="header"),
        new_cell("markdown", "law", "Half is less. What would change our mind: a half of 0.", role="law"),
    ]
    write(lesson.root / "solutions" / "02_half.ipynb", new_notebook("02_half", cells))
    lesson.exercises["02_half"] = {}
    assert built(lesson)["links"]["source"] == "[Next: What is half?](02_half.ipynb)"
    second = read(lesson.root / "notebooks" / "02_half.ipynb")["cells"][-1]
    assert second["source"] == "[Previous: What is twice a number?](01_tiny.ipynb)"


def test_a_word_is_defined_once_in_the_course(lesson):
    again = [
        new_cell("markdown", "question", "# What is half?\n\n3 minutes", role="header"),
        new_cell("markdown", "factor-again", "A **Factor** is 2.", role="text", term=["Factor"]),
        new_cell("markdown", "law", "Half is less. What would change our mind: a half of 0.", role="law"),
    ]
    write(lesson.root / "solutions" / "02_half.ipynb", new_notebook("02_half", again))
    [problem] = build.build(lesson.save().root, lesson.exercises | {"02_half": {}})
    assert "02_half.ipynb, cell 2 (factor-again): 'Factor' is already defined (01_tiny, factor)" in str(problem)


def test_predictions_become_ellipses_and_are_no_points(lesson):
    source = '### BEGIN SOLUTION\nguess = "TRUE"\nwhy = "seen"\n### END SOLUTION\npredict("S0-01", guess)'
    lesson.notebook["cells"].insert(2, new_cell("code", "guess-first", source, role="predict"))
    cell = built(lesson)["guess-first"]
    assert cell["source"] == '# your code here\nguess = ...\nwhy = ...\npredict("S0-01", guess)'
    assert cell["metadata"]["nbgrader"]["grade_id"] == "guess-first"
    assert cell["metadata"]["nbgrader"]["solution"] and not cell["metadata"]["nbgrader"]["grade"]


def test_nothing_is_written_while_a_rule_is_broken(lesson, capsys):
    lesson.cell("table")["source"] = "double = 3"
    before = lesson.save().file.read_bytes()
    assert build.main(options(), lesson.root, lesson.exercises) == 1
    assert lesson.file.read_bytes() == before and not lesson.built.exists()
    assert "solutions/01_tiny.ipynb, cell 15 (table), line 1: double is the answer" in capsys.readouterr().err


def test_a_lesson_outside_the_catalogue_is_refused(lesson, capsys):
    lesson.save()
    assert build.main(options(), lesson.root, {}) == 1
    assert "01_tiny is not in ffnlib/examination/lessons" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "{", "[]", '{"nbformat": 3, "cells": []}', "\x00"])
def test_a_file_that_is_no_notebook_is_named(tmp_path, text):
    file = tmp_path / "01_broken.ipynb"
    file.write_text(text)
    with pytest.raises(NotebookError, match=r"01_broken\.ipynb: not a notebook"):
        read(file)


def test_an_empty_folder_is_told_from_an_empty_course(tmp_path, capsys):
    assert build.main(options(), tmp_path, {}) == 1
    assert "no lesson NN_name.ipynb is here" in capsys.readouterr().err
