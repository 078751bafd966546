"""A widget answers every hand with a picture and a sentence, and reads without a front end, a kernel or anywidget."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
import torch

from ffnlib import figures
from ffnlib.figures import Table
from ffnlib.widgets import (
    Choice,
    Matrix,
    Slider,
    Toggle,
    activation_curve,
    activation_curve_picture,
    adding_inputs,
    explore,
    fading_gradients,
    gate_and_up,
    gate_and_up_picture,
    moving_rows,
    moving_rows_picture,
    tiny_layer,
    tiny_layer_picture,
)
from ffnlib.widgets.explorer import LIVE
from ffnlib.widgets.fading_gradients import gradient_sizes


def line_of(slope=1, shape="straight", shifted=False):
    x = np.linspace(0, 1, 5)
    y = slope * (x if shape == "straight" else x**2) + shifted
    if slope == 3:
        raise ZeroDivisionError("no slope of 3")
    return figures.lines(x, {"y": y}, title="It rises", words=f"At 1 it reaches {y[-1]:g}.", x_label="x", y_label="y")


def a_widget():
    return explore(
        line_of,
        "Move the line",
        slope=Slider("slope", 0, 5, value=2),
        shape=Choice("shape", ["straight", "bent"]),
        shifted=Toggle("one higher"),
    )


def ask(widget, **asked):
    """What the front end sends, and what it finds afterwards."""
    panel = widget._panel()
    panel._handle_custom_msg({"turn": panel.turn + 1, "asked": asked}, [])
    return panel


def test_the_default_position_is_shown_at_once_and_reads_as_its_words():
    widget = a_widget()
    assert repr(widget) == widget._repr_mimebundle_()["text/plain"] == "At 1 it reaches 2."


def test_moving_a_control_changes_picture_and_sentence():
    widget = a_widget()
    before = widget.shown.png
    panel = ask(widget, slope="4", shape="straight", shifted=True)
    assert panel.words == widget.words == "At 1 it reaches 5."
    assert panel.positions == {"slope": 4, "shape": "straight", "shifted": True} and panel.turn == 1
    assert widget.shown.png != before and panel.body == widget.shown.body


def test_a_number_out_of_range_is_brought_back_and_said():
    panel = ask(a_widget(), slope="120")
    assert panel.positions["slope"] == 5
    assert panel.note == "slope: 120 is above 5; 5 is used."
    assert panel.words == "At 1 it reaches 5."


def test_a_failing_function_is_said_keeps_the_picture_and_is_forgotten_when_it_works_again():
    widget = a_widget()
    panel = ask(widget, slope="3")
    assert (
        panel.note == "This position cannot be shown: ZeroDivisionError: no slope of 3. You still see the one before."
    )
    assert panel.words == "At 1 it reaches 2." and isinstance(widget.error, ZeroDivisionError)
    assert ask(widget, slope="4").note == "" and widget.error is None


def test_a_failing_default_is_the_authors_and_raises():
    with pytest.raises(ZeroDivisionError):
        explore(line_of, "t", slope=Slider("slope", 0, 5, value=3))


def test_a_control_from_nowhere_in_a_message_is_ignored():
    assert ask(a_widget(), slope="1", other="4").words == "At 1 it reaches 1."


def test_a_misspelt_parameter_is_named_with_the_near_one():
    with pytest.raises(TypeError, match="'slop' is no parameter of line_of: did you mean 'slope'"):
        explore(line_of, "t", slop=Slider("slope", 0, 5))
    with pytest.raises(TypeError, match="'slop' is no control of this widget: did you mean 'slope'"):
        a_widget().move(slop=3)


def test_a_picture_that_fails_when_it_is_drawn_is_said_like_any_failure():
    def labelled(formula="plain"):
        return figures.Picture(figures.panel(formula)[0], f"{len(formula)} characters.")

    widget = explore(labelled, "t", formula=Choice("formula", ["plain", r"$\frac{1}$"])).move(formula=r"$\frac{1}$")
    assert "ValueError" in widget.note and widget.words == "5 characters."


def test_a_parameter_without_control_or_default_is_named():
    with pytest.raises(TypeError, match=r"also needs \['height'\]"):
        explore(lambda height: None, "t")


def test_a_function_that_returns_something_else_is_refused():
    with pytest.raises(TypeError, match="returned int; a Picture, a Table or"):
        explore(lambda: 3, "t")


def test_a_table_and_a_pair_are_shown_too():
    table = Table(("n", "square"), [(2, 4)], words="2 squared is 4.", title="Squares")
    assert "<table" in explore(lambda: table, "t")._repr_mimebundle_()["text/html"]
    assert repr(explore(lambda: (line_of().figure, "a pair of 1"), "t")) == "a pair of 1"


def test_a_worker_gets_nothing_and_computes_nothing(monkeypatch):
    monkeypatch.setenv("FFNLIB_WORKER", "1")
    assert explore(lambda: 1 / 0, "t") is None and tiny_layer() is None


def test_without_anywidget_the_static_twin_remains(monkeypatch):
    from ffnlib.widgets.explorer import _panel_class

    _panel_class.cache_clear()
    monkeypatch.setitem(sys.modules, "anywidget", None)
    bundle = a_widget()._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html"}
    assert "Shown for slope = 2; shape = straight; one higher: off." in bundle["text/html"]
    assert "<img" in bundle["text/html"] and "In words: At 1 it reaches 2." in bundle["text/html"]


def test_importing_the_widgets_imports_no_front_end_and_no_pyplot():
    program = (
        "import sys, ffnlib.widgets;"
        "print([name for name in ('anywidget', 'ipywidgets', 'IPython', 'matplotlib') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert run.stdout.strip() == "[]"


def test_a_text_that_looks_like_markup_stays_text():
    widget = explore(lambda a="x": line_of(), "a <b> title", a=Choice("<i>", ["<u>", "v"]))
    html = widget._repr_mimebundle_()["text/html"]
    assert "a &lt;b&gt; title" in html and "&lt;i&gt; = &lt;u&gt;" in html and "<b>" not in html


@pytest.mark.parametrize(("asked", "value"), [("4", 4), (4.4, 4), ("1", 2), (9, 8), ("7.9", 8), (True, 2)])
def test_a_slider_lands_on_a_step_inside_its_range(asked, value):
    found, _ = Slider("n", 2, 9, step=2).read(asked)
    assert found == value and isinstance(found, int)


def test_a_slider_of_tenths_gives_the_tenth_as_written():
    assert Slider("p", 0, 1, step=0.1).read("0.30000000000000004") == (0.3, "")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"low": 3, "high": 3}, "nothing to move"),
        ({"low": 0, "high": 3, "step": 0}, "nothing to move"),
        ({"low": 0, "high": 3, "value": 4}, "value=4 is not a position"),
        ({"low": 0, "high": 9, "step": 2, "value": 3}, "value=3 is not a position"),
    ],
)
def test_a_slider_that_cannot_work_is_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        Slider("n", **wrong)


def test_a_choice_returns_the_option_itself_and_says_when_there_is_no_such_option():
    choice = Choice("d_ff", [1024, 4096], value=4096)
    assert choice.read("1024") == (1024, "")
    assert choice.read("7") == (4096, "d_ff: '7' is none of 1024, 4096; 4096 is used.")
    with pytest.raises(ValueError, match="value=5 is none of"):
        Choice("d_ff", [1024], value=5)


def test_a_matrix_clamps_each_number_on_its_own_and_says_which():
    matrix = Matrix("W", [[1, 2], [3, 4]], rows=("x0", "x1"), columns=("h0", "h1"))
    value, sentence = matrix.read([["-50", "0.25"], ["", "nan"]])
    assert value.tolist() == [[-9, 0.25], [3, 4]] and value.dtype == np.float64
    assert sentence == (
        "W, x0, h0: -50 is below -9; -9 is used. W, x1, h0: an empty field is no number; 3 is used. "
        "W, x1, h1: 'nan' is no number; 4 is used."
    )
    assert matrix.value.tolist() == [[1, 2], [3, 4]]


def test_a_matrix_keeps_a_vector_a_vector():
    value, _ = Matrix("b", [1, 2, 3]).read([["1", "2", "5"]])
    assert value.shape == (3,)


def test_a_matrix_refuses_another_size_kindly_and_wrong_names_loudly():
    assert Matrix("b", [1, 2]).read([["1"]])[1] == "b: 1 numbers do not fill a shape of (2,)."
    with pytest.raises(ValueError, match="do not name"):
        Matrix("b", [1, 2], columns=("one",))
    with pytest.raises(ValueError, match="no vector and no matrix"):
        Matrix("b", 3)


@pytest.mark.parametrize("control", [Slider("n", 0, 5), Choice("c", [1, 2]), Toggle("t"), Matrix("W", np.eye(2))])
def test_every_control_is_plain_data_and_named(control):
    spec = json.loads(json.dumps(control.spec()))
    assert spec["label"] == control.label
    again, sentence = control.read(control.plain(control.value))
    assert np.array_equal(again, control.value) and sentence == ""


def test_every_number_of_a_matrix_has_a_name_of_its_own():
    names = np.ravel(Matrix("W", np.eye(3)).spec()["names"])
    assert len(set(names)) == 9 and "W, row 1, column 2" in names


def test_every_kind_of_control_has_a_maker_in_the_script():
    from ffnlib.widgets.explorer import _panel_class

    for control in (Slider, Choice, Toggle, Matrix):
        assert re.search(rf"^  {control.kind}\(spec, moved\)", str(_panel_class()._esm), re.MULTILINE), control


def test_the_tiny_layer_agrees_with_a_loop_and_with_the_words():
    from ffnlib.widgets import two_four_two as tiny

    hidden = [max(0.0, sum(tiny.X[i] * tiny.W1[i, j] for i in range(2)) + tiny.B1[j]) for j in range(4)]
    output = [sum(hidden[j] * tiny.W2[j, k] for j in range(4)) + tiny.B2[k] for k in range(2)]
    assert hidden == [2.5, 0, 4, 0] and output == [4.5, 3]
    assert tiny_layer_picture().words == (
        "Of the hidden units, which hold (2.5, -0.5, 4, -2) before ReLU, h0 and h2 fire, and the output is (4.5, 3)."
    )


def test_the_tiny_layer_moves_like_the_layer():
    widget = tiny_layer()
    assert widget.move(x=[-2, -1]).words == (
        "Of the hidden units, which hold (-2.5, 1.5, -6, 2) before ReLU, h1 and h3 fire, and the output is (1, 1.5)."
    )
    assert widget.move(x=[0, 0], b1=[0, 0, 0, 0]).words.endswith("no unit fires, and the output is (0, -1).")
    assert widget.move(x=[2, 1], activation=False).words.startswith(
        "Without ReLU the hidden units keep (2.5, -1, 5, -2)"
    )


# ---- nbval: a picture and a widget pass twice in a row, and fail when the words change

SAME_PATH = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
NOTEBOOK_CELLS = (
    "from ffnlib import figures\nfrom ffnlib.widgets import tiny_layer",
    'figures.bars(["a", "b"], [1, 2], title="b is longer", words="b is 2 times as long as a.", x_label="length")',
    "tiny_layer()",
)


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    """A notebook with a picture and a widget, run once, stored the way solved lessons are: without the live widget."""
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    folder = tmp_path_factory.mktemp("nbval")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in NOTEBOOK_CELLS])
    nbclient.NotebookClient(notebook, resources={"metadata": {"path": str(folder)}}, store_widget_state=False).execute(
        env=SAME_PATH
    )
    for cell in notebook.cells:
        for output in cell.outputs:
            output.get("data", {}).pop(LIVE, None)
    (folder / "sanitize.cfg").write_text(
        "".join(f"[{name}]\nregex: {name}\nreplace: {new}\n" for name, new in figures.NBVAL_SANITIZE.items())
    )
    nbformat.write(notebook, folder / "shown.ipynb")
    return folder / "shown.ipynb"


def nbval(notebook):
    """Exit status and report of nbval on one notebook."""
    pytest.importorskip("nbval")
    run = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(notebook.parent)),
            *("--nbval", "--nbval-current-env", "--nbval-cell-timeout=120", "--nbval-kernel-startup-timeout=120"),
            *("--nbval-sanitize-with", str(notebook.parent / "sanitize.cfg"), str(notebook)),
        ],
        cwd=notebook.parent,
        capture_output=True,
        text=True,
        env=SAME_PATH,
    )
    return run.returncode, run.stdout + run.stderr


@pytest.mark.slow
def test_nbval_passes_a_picture_and_a_widget_twice_in_a_row(executed):
    for _ in range(2):
        status, report = nbval(executed)
        assert status == 0 and "3 passed" in report, report


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cell", "said", "changed"), [(1, "2 times as long", "3 times as long"), (2, "(4.5, 3)", "(4.5, 4)")]
)
def test_nbval_fails_when_the_words_of_one_cell_change(executed, tmp_path, cell, said, changed):
    stored = json.loads(executed.read_text(encoding="utf-8"))
    data = stored["cells"][cell]["outputs"][0]["data"]
    assert said in json.dumps(data)
    stored["cells"][cell]["outputs"][0]["data"] = json.loads(json.dumps(data).replace(said, changed))
    (tmp_path / "shown.ipynb").write_text(json.dumps(stored), encoding="utf-8")
    (tmp_path / "sanitize.cfg").write_text((executed.parent / "sanitize.cfg").read_text())
    status, report = nbval(tmp_path / "shown.ipynb")
    assert status == 1 and "1 failed, 2 passed" in report, report


@pytest.mark.slow
def test_nbval_passes_when_only_the_pixels_differ(executed, tmp_path):
    text = executed.read_text(encoding="utf-8")
    other = re.sub(r"(data:image/png;base64,)[A-Za-z0-9+/]{40}", r"\1" + "A" * 40, text)
    assert other != text
    (tmp_path / "shown.ipynb").write_text(other, encoding="utf-8")
    (tmp_path / "sanitize.cfg").write_text((executed.parent / "sanitize.cfg").read_text())
    status, report = nbval(tmp_path / "shown.ipynb")
    assert status == 0, report


def test_the_worked_example_does_not_add_until_the_inputs_point_the_same_way():
    widget = adding_inputs()
    assert "(2, 0) and FFN(v) = (1, 2) add up to (3, 2); FFN(u + v) = (3, 1)" in widget.words
    assert "h3" in widget.words and widget.shown.title == "FFN(u + v) misses the sum by (0, -1)"
    assert widget.move(v=[2, 0]).shown.title == "Here the outputs add"


def test_a_weight_out_of_range_in_the_worked_example_is_brought_back_and_said():
    widget = adding_inputs()
    panel = ask(widget, W1=[[99, 0], [0, 1], [1, 1], [-1, 1]])
    assert panel.note == "W1, h0, x0: 99 is above 9; 9 is used." and "FFN(u) = (10, 0)" in panel.words


@pytest.mark.parametrize("row", range(6))
def test_a_change_moves_one_row_of_the_layer_and_all_rows_of_attention(row):
    words = moving_rows_picture(row=row, size=0.25).words
    assert words == f"Add 0.25 to row {row}: the layer moves row {row}, attention moves all 6 rows."


@pytest.mark.parametrize("row", range(1, 6))
def test_an_exchange_moves_the_same_two_rows_of_both(row):
    words = moving_rows().move(row=row, action="exchange it with the first").words
    assert words.endswith(f"the layer moves the rows 0 and {row}, attention moves the rows 0 and {row}.")


def test_nothing_added_moves_nothing():
    assert moving_rows().move(size=0).words == "Add 0 to row 2: the layer moves no row, attention moves no row."


def test_the_activation_curve_falls_with_gelu_and_has_a_corner_with_relu():
    assert repr(activation_curve()) == "GELU(-1) = -0.159, and the slope there is -0.083."
    assert ask(activation_curve(), x=0, activation="ReLU").words == (
        "ReLU(0) = 0; the slope is 0 on the left and 1 on the right."
    )


@pytest.mark.parametrize("activation", ["GELU", "GELU with tanh", "SiLU", "ReLU", "logistic", "tanh"])
def test_every_activation_is_drawn_from_end_to_end(activation):
    for x in (-4, 0, 4):
        assert activation_curve_picture(activation, x).words.startswith(f"{activation}({x}) = ")


def test_a_gate_of_silu_enlarges_and_a_logistic_one_lets_a_share_pass():
    assert repr(gate_and_up()) == "SiLU(2) = 1.762; times up, -1, the unit holds -1.762."
    assert ask(gate_and_up(), activation="logistic (GLU)").words == (
        "logistic(2) = 0.881; times up, -1, the unit holds -0.881."
    )


@pytest.mark.parametrize("gate", [-4, 0, 4])
@pytest.mark.parametrize("up", [-3, 0, 1, 3])
def test_without_an_activation_a_gated_unit_is_a_product(gate, up):
    words = gate_and_up_picture("none (bilinear)", gate, up).words
    assert words.endswith(f"the unit holds {gate * up + 0:g}.")


@pytest.mark.parametrize("norm", ["no norm", "pre-norm", "post-norm"])
@pytest.mark.parametrize("skip", [True, False])
def test_the_gradients_of_the_stack_are_autograds(norm, skip):
    rng, depth = np.random.default_rng(0), 5
    x, weighing = map(torch.from_numpy, rng.normal(size=(2, 64, 32)))
    streams = [x.requires_grad_()]
    for _ in range(depth):
        W1, W2 = (
            torch.from_numpy(rng.uniform(-b, b, shape))
            for b, shape in ((2 / 32**0.5, (32, 128)), (2 / 128**0.5, (128, 32)))
        )
        before = streams[-1]
        inner = torch.nn.functional.layer_norm(before, (32,)) if norm == "pre-norm" else before
        after = torch.relu(inner @ W1) @ W2 + (before if skip else 0)
        streams.append(torch.nn.functional.layer_norm(after, (32,)) if norm == "post-norm" else after)
    found = torch.autograd.grad((streams[-1] * weighing).sum(), streams)
    assert np.allclose(gradient_sizes(depth, norm, 2.0, skip), [float(one.norm()) for one in found], rtol=1e-9)


def test_the_gradient_fades_without_the_skip_and_twice_the_weights_or_a_norm_keep_it():
    assert (
        "stays within a factor of 3 with the skip and falls to 5e-16 of its size without it" in fading_gradients().words
    )
    for norm, scale in (("no norm", 2.0), ("pre-norm", 1.0), ("post-norm", 1.0)):
        sizes = gradient_sizes(24, norm, scale, skip=False)
        assert 0.05 < sizes[0] / sizes[-1] < 20


def test_a_stack_deeper_than_the_slider_is_brought_back_and_said():
    assert fading_gradients().move(depth=99).note == "layers: 99 is above 48; 48 is used."
