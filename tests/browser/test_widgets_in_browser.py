"""Pictures and widgets in JupyterLab: with a keyboard, in both themes, in a narrow window, and without a kernel."""

import json
import os
import sys

import pytest

from ffnlib.widgets.explorer import LIVE

PLAYGROUND = """\
import numpy as np
from ffnlib import figures
from ffnlib.widgets import Choice, Slider, Toggle, explore

def power(exponent=2, shape="line", shifted=False):
    if exponent == 0:
        raise ValueError("an exponent of 0 draws nothing")
    x = np.linspace(0, 2, 21)
    y = x**exponent + shifted
    said = {"title": f"Two to the {exponent}", "words": f"At 2 it reaches {y[-1]:g}."}
    if shape == "table":
        return figures.Table(("exponent", "result"), [(exponent, float(y[-1]))], **said)
    return figures.lines(x, {"power": y}, x_label="x", y_label="y", **said)

explore(
    power,
    "How steep is a power?",
    exponent=Slider("exponent", 0, 5, value=2),
    shape=Choice("shown as", ["line", "table"]),
    shifted=Toggle("one higher"),
)"""
CELLS = {
    "picture": (
        "from ffnlib import figures\n"
        'figures.bars(["attention", "feed-forward"], [4, 8], title="The FFN holds two thirds", '
        'words="It holds 8 of 12 d^2, 67 %.", x_label="parameters, in d^2", highlight=[1])'
    ),
    "table": (
        "figures.Table(('array', 'shape', 'multiplications', 'additions'), "
        "[('W1', (4, 16), 64, 48), ('W2', (16, 4), 64, 60)], "
        "title='Shapes turn around', words='W2 has 16 rows.')"
    ),
    "matrices": (
        "import numpy as np\n"
        "figures.matrices([('x', np.array([2, 1])), '@', ('W1', np.ones((2, 4)))], title='A product', words='2 by 4.')"
    ),
    "playground": PLAYGROUND,
    "tiny": "from ffnlib.widgets import tiny_layer\ntiny_layer()",
    "slow": (
        "import time\n\n"
        "def slow(step=0):\n"
        "    time.sleep(0.2)\n"
        "    return figures.Table(('step',), [(step,)], title='A slow one', words=f'This is step {step}.')\n\n"
        "explore(slow, 'A slow one', step=Slider('step', 0, 100, value=0))"
    ),
}


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    """A notebook of pictures and widgets, as a learner gets it: without outputs."""
    nbformat = pytest.importorskip("nbformat")
    cells = [nbformat.v4.new_code_cell(source, metadata={"ffn": {"role": role}}) for role, source in CELLS.items()]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    file = tmp_path_factory.mktemp("notebook") / "pictures.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), file)
    return file


@pytest.fixture(scope="module")
def lesson(open_lesson, notebook):
    """The notebook, open and run."""
    page = open_lesson(notebook)
    page.run_all()
    assert page.errors() == []
    return page


def test_a_picture_has_its_alternative_text_and_its_sentence(lesson):
    cell = lesson.cell("picture")
    image = cell.get_by_role("img", name="The FFN holds two thirds. It holds 8 of 12 d^2, 67 %.")
    assert image.count() == 1 and image.bounding_box()["width"] > 400
    assert "In words: It holds 8 of 12 d^2, 67 %." in lesson.said(cell)


def test_the_keyboard_moves_a_slider_and_readout_picture_and_sentence_follow(lesson):
    widget = lesson.widget(lesson.cell("playground"))
    source, words = widget.image, widget.words
    assert words == "In words: At 2 it reaches 4."
    widget.press("exponent", "ArrowRight", "ArrowRight")
    assert widget.words == "In words: At 2 it reaches 16."
    assert widget.root.locator(".ffn-readout").inner_text() == "4"
    assert widget.image[0] != source[0] and widget.image[1] == "Two to the 4. At 2 it reaches 16."


def test_the_arrow_keys_stay_with_the_slider_and_do_not_walk_through_the_notebook(lesson):
    widget = lesson.widget(lesson.cell("playground"))
    lesson.cell("playground").locator(".jp-InputPrompt").click()
    widget.press("exponent", "ArrowDown")
    assert widget.words == "In words: At 2 it reaches 8."
    assert "jp-mod-active" in lesson.cell("playground").get_attribute("class")
    assert lesson.page.evaluate("document.activeElement.getAttribute('aria-label')") == "exponent"


def test_the_sentence_follows_a_hand_that_moves_faster_than_python_draws(lesson):
    widget = lesson.widget(lesson.cell("slow"))
    widget.control("step").focus()
    for _ in range(45):  # 4.5 s of a key every 0.1 s, below the patience of 5 s
        lesson.page.keyboard.press("ArrowRight")
        lesson.page.wait_for_timeout(100)
        if widget.words != "In words: This is step 0.":
            return
    pytest.fail(f"nothing moved under the keys: {widget.words!r}, {widget.note!r}")


def test_a_choice_and_a_toggle_answer_to_keys_too(lesson):
    widget = lesson.widget(lesson.cell("playground"))
    widget.press("one higher", "Space")
    assert widget.words == "In words: At 2 it reaches 9." and widget.control("one higher").is_checked()
    widget.control("shown as").select_option("table")
    widget.root.locator("table").wait_for()
    widget.control("shown as").select_option("line")
    widget.root.locator("img").wait_for()
    widget.press("one higher", "Space")


def test_a_failing_position_is_said_and_left_again(lesson):
    widget = lesson.widget(lesson.cell("playground"))
    before = widget.words
    widget.press("exponent", "Home")
    assert "ValueError: an exponent of 0 draws nothing" in widget.note and widget.words == before
    widget.press("exponent", "End")
    assert widget.note == "" and widget.words == "In words: At 2 it reaches 32."


def test_a_typed_number_moves_the_layer_and_one_out_of_range_is_said(lesson):
    widget = lesson.widget(lesson.cell("tiny"))
    field = widget.control("W1, x0, h0")
    widget.press("W1, x0, h0", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown")
    assert field.input_value() == "-1" and "h2 fires" in widget.words
    widget.press("W1, x0, h0", "Control+A", "5", "0")
    assert field.input_value() == "9" and "50 is above 9" in widget.note
    assert "(18.5, -0.5, 4, -2)" in widget.words


def test_a_half_typed_number_is_left_alone(lesson):
    widget = lesson.widget(lesson.cell("tiny"))
    field = widget.control("b2, y0")
    widget.press("b2, y0", "Control+A", "1", ".")
    lesson.page.keyboard.type("5")
    lesson.page.wait_for_timeout(1000)
    assert field.input_value() == "1.5"


def test_a_comma_is_a_decimal_mark_typed_or_pasted(lesson):
    widget = lesson.widget(lesson.cell("tiny"))
    field = widget.control("b2, y0")
    widget.press("b2, y0", "Control+A", "0", ",", "5")
    assert field.input_value() == "0.5"
    field.select_text()
    lesson.page.keyboard.insert_text("-2,5")  # as a paste arrives: the whole text at once
    assert field.input_value() == "-2.5"
    widget.press("b2, y0", "ArrowDown")
    assert field.input_value() == "-3"


def test_an_emptied_field_takes_its_number_back_when_it_is_left(lesson):
    widget = lesson.widget(lesson.cell("tiny"))
    widget.control("b2, y1").focus()
    lesson.page.keyboard.press("Control+A")
    lesson.page.keyboard.press("Delete")
    lesson.page.wait_for_timeout(600)
    assert widget.control("b2, y1").input_value() == "" and "empty" not in widget.note
    widget.press("b2, y1", "Tab")
    assert widget.control("b2, y1").input_value() == "-1" and "an empty field is no number" in widget.note


def test_an_emptied_field_is_not_remarked_on_when_another_control_moves(lesson):
    widget = lesson.widget(lesson.cell("tiny"))
    widget.control("b2, y1").focus()
    lesson.page.keyboard.press("Control+A")
    lesson.page.keyboard.press("Delete")
    before = widget.words
    widget.control("b2, y0").evaluate("node => { node.value = 2; node.dispatchEvent(new Event('input')); }")
    assert widget.follows((before, widget.look()))
    assert "empty" not in widget.note and widget.control("b2, y1").input_value() == ""
    widget.press("b2, y1", "Tab")
    assert widget.control("b2, y1").input_value() == "-1" and "an empty field is no number" in widget.note


def test_axe_finds_nothing_to_complain_about_in_either_theme(lesson):
    for theme in ("JupyterLab Dark", "JupyterLab Light"):
        lesson.theme(theme)
        assert lesson.violations() == []


def test_axe_would_have_found_an_image_without_a_text(lesson):
    lesson.page.evaluate("document.querySelector('img.ffn-image').removeAttribute('alt')")
    assert any(line.startswith("image-alt") for line in lesson.violations())


def test_a_request_to_another_host_and_a_console_error_would_have_been_noticed(lesson):
    assert lesson.complaints == []
    lesson.page.evaluate("fetch('https://example.org/picture.png').catch(() => console.error('no picture'))")
    lesson.page.wait_for_timeout(500)
    said = " ".join(lesson.complaints)
    lesson.complaints.clear()
    assert "left the machine: https://example.org/picture.png" in said and "console: no picture" in said


@pytest.mark.parametrize(("theme", "width"), [("Light", 1280), ("Dark", 1280), ("Light", 620), ("Dark", 620)])
def test_pictures_and_widgets_keep_inside_the_window(lesson, theme, width):
    lesson.page.set_viewport_size({"width": width, "height": 1000})
    lesson.theme(f"JupyterLab {theme}")
    for role in CELLS:
        shown = lesson.cell(role).locator(".ffn-card, .ffn-explorer").first
        lesson.photograph(lesson.cell(role).locator(".jp-OutputArea"), f"{role}_{theme}_{width}")
        assert shown.evaluate("node => node.scrollWidth <= node.clientWidth + 1"), role
        assert shown.evaluate("node => getComputedStyle(node).backgroundColor") == "rgb(255, 255, 255)"
    lesson.page.set_viewport_size({"width": 1280, "height": 1000})
    lesson.theme("JupyterLab Light")


def test_a_wide_table_scrolls_under_the_arrow_keys_in_a_narrow_window_and_shows_that_it_has_the_focus(lesson):
    lesson.resize(320)
    frame = lesson.cell("table").get_by_role("group", name="Shapes turn around")
    assert frame.evaluate("node => node.scrollWidth > node.clientWidth && node.scrollLeft === 0")
    lesson.cell("picture").locator("img").click()
    for _ in range(100):
        lesson.page.keyboard.press("Tab")
        if frame.evaluate("node => node === document.activeElement"):
            break
    assert frame.evaluate("node => getComputedStyle(node).outlineStyle") != "none"
    lesson.page.keyboard.press("ArrowRight")
    lesson.page.wait_for_timeout(500)
    assert frame.evaluate("node => node.scrollLeft > 0 && node === document.activeElement")
    lesson.resize(1280)


def test_a_widget_whose_kernel_was_restarted_says_so(lesson):
    lesson.server.ask(f"kernels/{lesson.session()['kernel']['id']}/restart", method="POST")
    lesson.wait_for_kernel()
    widget = lesson.widget(lesson.cell("playground"))
    widget.press("exponent", "ArrowLeft")
    assert widget.note.startswith("Python has not answered")


def test_a_stored_notebook_reads_without_being_run(open_lesson, notebook, tmp_path):
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    stored = nbformat.read(notebook, as_version=4)
    run = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    # Playwright's loop runs in this thread, and nbclient needs one of its own.
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        client = nbclient.NotebookClient(stored, store_widget_state=False)
        pool.submit(client.execute, env=run).result()
    for cell in stored.cells:
        for output in cell.outputs:
            output.get("data", {}).pop(LIVE, None)
    (tmp_path / "stored.ipynb").write_text(json.dumps(stored), encoding="utf-8")
    page = open_lesson(tmp_path / "stored.ipynb")
    for role in CELLS:
        assert "In words: " in page.said(page.cell(role))
    assert page.page.locator(".jp-OutputArea-output img[alt]").count() == 4
    assert page.violations() == []
    page.theme("JupyterLab Dark")
    page.photograph(page.cell("table").locator(".jp-OutputArea"), "table_Dark")
    page.photograph(page.cell("tiny").locator(".jp-OutputArea"), "tiny_Dark")
