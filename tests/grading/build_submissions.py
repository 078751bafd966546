# ruff: noqa: E501 - one kind of submission is one line of a table
"""Writes tests/submissions: one small notebook of lesson 01 for every way in which notebooks are right, wrong or hostile.

Run `python3 tests/grading/build_submissions.py` after a change here and commit what it writes. Each folder holds what
one learner hands in, and `expected.json`: the score, what the exercises' statuses are, and words the row has to contain.
"""

import json
import shutil
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "submissions"
LESSON = "01_formula"
SETUP = "import numpy as np\n\nfrom ffnlib import check, hint, layer"
RELU = "def relu(x):\n    return np.maximum(0, x)"
FORWARD = "def feed_forward(x, W1, b1, W2, b2):\n    return np.maximum(0, x @ W1 + b1) @ W2 + b2"
COLUMNS = "def feed_forward_columns(x, W1, b1, W2, b2):\n    return np.maximum(0, x @ W1.T + b1) @ W2.T + b2"
COLLAPSE = "def linear_collapse(W1, b1, W2, b2):\n    return W1 @ W2, b1 @ W2 + b2"
ANSWERS = {
    "relu": RELU,
    "feed_forward": FORWARD,
    "feed_forward_columns": COLUMNS,
    "linear_collapse": COLLAPSE,
}
STUBS = {
    name: code.split("\n")[0] + "\n    # your code here\n    raise NotImplementedError"
    for name, code in ANSWERS.items()
}
IDS = tuple(ANSWERS)
KINDS = {}


def cell(source, role="", exercise="", kind="code", **more):
    """Return a cell as Jupyter writes it."""
    ffn = {key: value for key, value in (("role", role), ("exercise", exercise)) if value}
    made = {"cell_type": kind, "metadata": {"ffn": ffn} if ffn else {}, "source": source.splitlines(keepends=True)}
    return made | ({"execution_count": None, "outputs": []} if kind == "code" else {}) | more


def cells(before=(), after=(), **answers):
    """Return the cells of a notebook: setup, `before`, an answer and a check for every exercise, `after`."""
    made = [cell(SETUP, "setup"), *[cell(source) for source in before]]
    for name in IDS:
        made.append(cell(answers.get(name, ANSWERS[name]), "answer", name))
        made.append(cell(f'check("{name}", {name})', "check", name))
    return [*made, *[cell(source) for source in after]]


def notebook(made, **more):
    """Return the bytes of a notebook."""
    data = {"cells": made, "metadata": {"ffn": {"lesson": LESSON}}, "nbformat": 4, "nbformat_minor": 5} | more
    return json.dumps(data, indent=1).encode()


def kind(name, data, score=4.0, file=f"{LESSON}.ipynb", status="graded", says=(), **statuses):
    """Register a kind: what is handed in and what the row must be."""
    says = [says] if isinstance(says, str) else list(says)
    expected = {"score": None if status == "needs-human" else score, "status": status, "says": says}
    expected["statuses"] = statuses
    KINDS[name] = (file, data if isinstance(data, bytes) else notebook(data), expected)


def hostile_answer(name, source, score=3.0, status="not-yet", says=(), before=(), row="graded"):
    """Register a kind whose answer to relu is the hostile one; the other three are right."""
    kind(name, cells(before=before, relu=source), score, status=row, says=says, relu=status)


# ---------------------------------------------------------------- honest

kind("right", cells())
kind("untouched", cells(**STUBS), 0.0, relu="untouched", linear_collapse="untouched")
kind(
    "wrong",
    cells(
        relu="def relu(x):\n    return np.abs(x)",
        feed_forward="def feed_forward(x, W1, b1, W2, b2):\n    return np.maximum(0, (x @ W1 + b1) @ W2 + b2)",
        feed_forward_columns="def feed_forward_columns(x, W1, b1, W2, b2):\n    return np.maximum(0, x @ W1 + b1) @ W2 + b2",
        linear_collapse="def linear_collapse(W1, b1, W2, b2):\n    return W1 @ W2, b2",
    ),
    0.0,
    says=["absolute value", "ReLU after W2", "row convention", "b1 forgotten"],
    relu="not-yet",
)
kind(
    "half",
    cells(relu=STUBS["relu"], feed_forward="def feed_forward(x, W1, b1, W2, b2):\n    return x"),
    2.0,
    relu="untouched",
    feed_forward="not-yet",
)
kind(
    "unusual_but_right",
    cells(
        relu="relu = lambda x: (np.asarray(x) > 0) * x",
        feed_forward="import functools\n\ndef layer_of(c2, x, W1, b1, W2, b2):\n    h = np.einsum('...i,ij->...j', x, W1) + b1\n    return np.einsum('...j,jk->...k', h * (h > 0), W2) + b2\n\nfeed_forward = functools.partial(layer_of, 0)",
        feed_forward_columns="class Columns:\n    def __call__(self, x, W1, b1, W2, b2):\n        h = np.clip(np.tensordot(x, W1, axes=(-1, 1)) + b1, 0, None)\n        return np.tensordot(h, W2, axes=(-1, 1)) + b2\n\nfeed_forward_columns = Columns()",
        linear_collapse="def linear_collapse(W1, b1, W2, b2):\n    W = np.dot(W1, W2)\n    return [W.tolist(), (b1 @ W2 + b2).tolist()]",
    ),
)
kind(
    "torch_answer",
    cells(
        relu="import torch\n\ndef relu(x):\n    return torch.relu(torch.as_tensor(np.asarray(x), dtype=torch.float64))"
    ),
)
kind(
    "helper_in_a_cell_of_its_own",
    cells(before=["def positive(h):\n    return np.maximum(0, h)"], relu="def relu(x):\n    return positive(x)"),
)
kind(
    "defined_later",
    cells(relu="def relu(x):\n    return later(x)", after=["def later(h):\n    return np.maximum(0, h)"]),
)
kind(
    "helper_defined_twice",
    cells(
        relu="def clip(h):\n    return np.maximum(0, h)\n\ndef relu(x):\n    return clip(x)",
        linear_collapse="clip = 3\n\n" + COLLAPSE,
    ),
    says="later cells change names",
)
kind(
    "variable_used_twice",
    cells(relu="low = 0\nrelu = lambda x: np.maximum(low, x)", after=["low = 5"]),
    says="later cells change names",
)
kind(
    "helper_defined_twice_and_wrong",
    cells(relu="def clip(h):\n    return h\n\ndef relu(x):\n    return clip(x)", after=["clip = 3"]),
    3.0,
    relu="not-yet",
    says="later cells change names",
)
kind("library_call", cells(relu="def relu(x):\n    return layer.relu(x)"), 3.0, relu="not-yet", says="library call")
kind("library_object", cells(relu="from ffnlib.layer import relu"), 3.0, relu="not-yet", says="library call")
kind(
    "earlier_exercise_used",
    cells(feed_forward="def feed_forward(x, W1, b1, W2, b2):\n    return relu(x @ W1 + b1) @ W2 + b2"),
)
kind("warns", cells(relu="import warnings\n\ndef relu(x):\n    warnings.warn('careful')\n    return np.maximum(0, x)"))
kind("prints", cells(relu="def relu(x):\n    print('x is', x)\n    return np.maximum(0, x)"))
kind(
    "changes_its_input",
    cells(relu="def relu(x):\n    x = np.asarray(x)\n    x[x < 0] = 0\n    return x"),
    3.0,
    relu="not-yet",
    says="modifies its input",
)
kind("strict_warnings", cells(before=["import warnings\nwarnings.simplefilter('error')\nnp.seterr(all='raise')"]))
kind(
    "needs_a_demo_cell",
    [cell(SETUP, "setup"), cell("zero = 0.0", "demo"), *cells(relu="def relu(x):\n    return np.maximum(zero, x)")[1:]],
)

# ---------------------------------------------------------------- the file

kind("empty_file", b"", 0.0, status="needs-human", says="empty")
kind("blank_file", b"\n \n\0\0", 0.0, status="needs-human", says="empty")
kind("not_json", b"# my answers\nrelu = max\n", 0.0, status="needs-human", says="not JSON")
kind("cut_off", notebook(cells())[:700], 0.0, status="needs-human", says="not JSON")
kind("web_page", b"<!DOCTYPE html><html><body>login</body></html>", 0.0, status="needs-human", says="web page")
kind("json_list", b"[1, 2, 3]", 0.0, status="needs-human", says="no list of cells")
kind("json_number", b"42", 0.0, status="needs-human", says="no list of cells")
kind("deep_json", b"[" * 200_000, 0.0, status="needs-human", says="not JSON")
kind("no_cells", notebook([]), 0.0, status="needs-human", says="nothing in it belongs")
kind(
    "other_course",
    notebook([cell("import pandas as pd"), cell("def mean(x):\n    return sum(x) / len(x)")], metadata={}),
    0.0,
    status="needs-human",
    says="nothing in it belongs",
)
kind("bom", b"\xef\xbb\xbf" + notebook(cells()))
kind("utf16", notebook(cells()).decode().encode("utf-16"), says="UTF-16")
kind("utf16_without_mark", notebook(cells()).decode().encode("utf-16-le"), says="UTF-16")
kind(
    "latin1",
    json.dumps(
        {"cells": cells(before=["# Übung"]), "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, ensure_ascii=False
    ).encode("latin-1"),
    says="Latin-1",
)
kind(
    "windows_line_ends",
    json.dumps({"cells": cells(before=["a = 1\r\nb = 2\r\n"]), "metadata": {}, "nbformat": 4})
    .encode()
    .replace(b"\\n", b"\\r\\n"),
)
kind(
    "format_3",
    json.dumps(
        {
            "worksheets": [
                {
                    "cells": [
                        {
                            "cell_type": "code",
                            "input": "".join(c["source"]),
                            "language": "python",
                            "metadata": {},
                            "outputs": [],
                            "prompt_number": 1,
                        }
                        for c in cells()
                    ]
                }
            ],
            "metadata": {"name": ""},
            "nbformat": 3,
            "nbformat_minor": 0,
        }
    ).encode(),
    says="format 3",
)
kind("format_5", notebook(cells(), nbformat=5, nbformat_minor=0), says="format 5")
kind("no_format", json.dumps({"cells": cells()}).encode())
kind("renamed", notebook(cells()), file="WMS q3 (1).ipynb")
kind("named_after_another_lesson", notebook(cells()), file="05_activations.ipynb")
kind("wrong_ending", notebook(cells()), file=f"{LESSON}.ipynb.txt")
kind(
    "unknown_kernel",
    notebook(cells(), metadata={"kernelspec": {"name": "conda-env-x", "display_name": "Python [root]"}}),
)
kind("colab", notebook(cells(), metadata={"colab": {"provenance": []}, "kernelspec": {"name": "python3"}}))

# ---------------------------------------------------------------- the cells

kind("no_metadata", [c | {"metadata": {}} for c in cells()])
kind(
    "metadata_of_odd_types",
    [
        c | {"metadata": odd}
        for c, odd in zip(
            cells(),
            [
                None,
                [],
                7,
                "x",
                {"ffn": 3},
                {"ffn": {"role": ["answer"], "exercise": {}}},
                {},
                {"ffn": None},
                {"nbgrader": {"points": 1000}},
            ],
        )
    ],
    says=(),
)
kind(
    "cells_of_odd_types",
    [
        None,
        7,
        "x",
        [],
        {},
        {"cell_type": "code"},
        {"source": 5, "cell_type": "code"},
        {"cell_type": 3, "source": "a = 1"},
        *cells(),
    ],
)
kind("duplicate_ids", [c | {"id": "same"} for c in cells()])
kind(
    "copied_cell",
    [*cells(relu="def relu(x):\n    return x"), cell(RELU, "answer", "relu")],
    says="is defined in the ",
)
kind(
    "copied_cell_wrong_last",
    [*cells(), cell("def relu(x):\n    return x", "answer", "relu")],
    3.0,
    says="is defined in the ",
    relu="not-yet",
)
kind("answered_in_another_cell", cells(relu=STUBS["relu"], after=[RELU]))
kind("scratch_cell_rebinds", cells(after=["relu = lambda x: x"]), says="is defined in the ")
kind("checks_deleted", [c for c in cells() if c["metadata"]["ffn"]["role"] != "check"])
kind(
    "answer_deleted",
    [c for c in cells() if c["metadata"]["ffn"].get("exercise") != "relu"],
    3.0,
    relu="untouched",
    says="no cell of this notebook defines relu",
)
kind(
    "answers_deleted",
    [c for c in cells() if c["metadata"]["ffn"]["role"] != "answer"],
    0.0,
    status="needs-human",
    says="nothing could be asked",
)
kind(
    "answer_as_markdown",
    [c | {"cell_type": "markdown"} if c["metadata"]["ffn"].get("role") == "answer" else c for c in cells()],
)
kind(
    "answer_as_raw", [c | {"cell_type": "raw"} if c["metadata"]["ffn"].get("role") == "answer" else c for c in cells()]
)
kind("extra_cells", cells(before=["a = 1", "", "a + 1", "'''text'''"], after=["print(a)", "del a"]))
kind("one_cell", [cell("\n\n".join([SETUP, *ANSWERS.values()]))])
kind(
    "checks_edited",
    [
        c | {"source": ["assert True"]} if c["metadata"]["ffn"]["role"] == "check" else c
        for c in cells(relu="def relu(x):\n    return x")
    ],
    3.0,
    relu="not-yet",
)
kind(
    "passed_in_outputs",
    [c | {"outputs": [{"output_type": "stream", "name": "stdout", "text": "relu - passed"}]} for c in cells(**STUBS)],
    0.0,
    relu="untouched",
)
kind("cell_raises_before", cells(relu="missing_helper(3)\n\n" + RELU), says="NameError")
kind("cell_raises_after", cells(relu=RELU + "\n\nprint(1 / 0)"), says="ZeroDivisionError")
hostile_answer("syntax_error", "def relu(x)\n    return x", says=["SyntaxError: expected ':' (line 1)", "does not run"])
hostile_answer("endless_loop_before_the_answer", "while True:\n    pass\n\n" + RELU, says="did not end in")
kind(
    "helper_with_a_syntax_error",
    cells(before=["def helper(x)\n    return x"], relu="def relu(x):\n    return helper(x)"),
    3.0,
    relu="not-yet",
    says="note: the cell that begins with",
)
kind("scratch_syntax_error", cells(before=["this is certainly not python"]), says="SyntaxError")
kind("indented_with_tabs", cells(relu="def relu(x):\n\treturn np.maximum(0, x)"))
kind("asks_for_input", cells(relu="name = input('who are you?')\n\n" + RELU), says="EOFError")
kind(
    "magics",
    cells(
        before=["%matplotlib inline\n%load_ext autoreload", "!pip install numpy", "%%bash\nrm -rf /", "np.maximum?"],
        relu="%%time\n" + RELU,
    ),
    says="commands",
)
kind(
    "timed_line",
    cells(before=["%time offset = 0"], relu="def relu(x):\n    return np.maximum(offset, x)"),
    says="commands",
)
kind("shell_result", cells(before=["files = !ls"], relu="files = !ls\n" + RELU), says="commands")
kind(
    "pictures", cells(before=["import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nax.plot([1, 2])\nplt.show()"])
)
kind(
    "widgets",
    cells(
        before=[
            "import ipywidgets as w\nfrom IPython.display import display, HTML, clear_output\nslider = w.IntSlider(3)\ndisplay(slider)\n@w.interact(k=(0, 3))\ndef show(k):\n    print(k)\nclear_output()"
        ]
    ),
)
kind(
    "help_functions",
    cells(
        before=[
            "from ffnlib import check, hint, predict, progress, reveal\nhint('relu')\nreveal('relu')\npredict('a', 'TRUE')\nprogress()\nif check('relu', abs).passed:\n    raise SystemExit"
        ]
    ),
)

# ---------------------------------------------------------------- ends badly

kind("endless_cell", cells(before=["while True:\n    pass"]), says="is left out: it did not end")
kind("sleeping_cell", cells(after=["import time\ntime.sleep(1000)"]), says="is left out: it did not end")
hostile_answer("endless_answer", "def relu(x):\n    while True:\n        pass", status="stopped", says="its share of")
hostile_answer(
    "uninterruptible_answer",
    "import signal, time\nfor s in range(1, 65):\n    try:\n        signal.signal(s, signal.SIG_IGN)\n    except Exception:\n        pass\n\ndef relu(x):\n    while True:\n        try:\n            time.sleep(1000)\n        except BaseException:\n            pass",
    status="stopped",
)
kind("exits_in_a_cell", cells(before=["import os\nos._exit(0)"]), says="ended itself with exit status 0")
hostile_answer(
    "exits_in_an_answer", "import os\n\ndef relu(x):\n    os._exit(0)", status="stopped", says="exit status 0"
)
kind(
    "sys_exit",
    cells(before=["import sys\nsys.exit()"], relu="def relu(x):\n    raise SystemExit(0)"),
    3.0,
    relu="not-yet",
)
kind(
    "keyboard_interrupt",
    cells(before=["raise KeyboardInterrupt"], relu="def relu(x):\n    raise KeyboardInterrupt"),
    3.0,
    relu="not-yet",
)
kind(
    "kills_itself",
    cells(before=["import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", "import os\nos.abort()"]),
    says="SIGABRT",
)
hostile_answer(
    "segmentation_fault",
    "import ctypes\n\ndef relu(x):\n    return ctypes.string_at(0)",
    status="stopped",
    says="SIGSEGV",
)
kind(
    "memory_in_a_cell",
    cells(before=["big = []\nwhile True:\n    big.append(bytearray(50_000_000))"]),
    says="big = []",
)
kind(
    "memory_at_once_in_a_cell",
    cells(before=["big = np.ones((400_000, 400_000))"]),
    says=["Unable to allocate", "memory limit of 1024 MB"],
)
hostile_answer(
    "memory_in_an_answer", "def relu(x):\n    return np.ones((400_000, 400_000))", says="memory limit of 1024 MB"
)
hostile_answer("endless_recursion", "def relu(x):\n    return relu(x)", says="RecursionError")
hostile_answer(
    "recursion_without_limit",
    "import sys\nsys.setrecursionlimit(10**9)\n\ndef relu(x):\n    return relu(x) + 1",
    status="*",
)
hostile_answer("generator", "def relu(x):\n    yield from iter(int, 1)")
hostile_answer(
    "threads",
    "import threading\n\ndef spin():\n    while True:\n        pass\n\nfor _ in range(3):\n    threading.Thread(target=spin, daemon=True).start()\n\ndef relu(x):\n    return np.maximum(0, x)",
    status="*",
    score="*",
)
kind(
    "exit_handlers",
    cells(
        before=[
            "import atexit, os\natexit.register(os.abort)\nclass D:\n    def __del__(self):\n        os.abort()\nd = D()"
        ]
    ),
)

# ---------------------------------------------------------------- out of the box

kind("fork_bomb", cells(before=["import os\nwhile True:\n    os.fork()"]), says="PermissionError")
kind(
    "other_programs",
    cells(
        before=[
            "import subprocess\nsubprocess.run(['/bin/sh', '-c', 'id'])",
            "import os\nos.system('touch /tmp/grading-was-here')",
            "import os\nos.execv('/bin/true', ['true'])",
        ]
    ),
    says="PermissionError",
)
kind(
    "network",
    cells(
        before=[
            "import socket\nsocket.create_connection(('127.0.0.1', 80))",
            "import urllib.request\nurllib.request.urlopen('http://127.0.0.1/')",
        ]
    ),
    says="Error",
)
kind(
    "signals",
    cells(
        before=[
            "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)",
            "import os, signal\nos.killpg(0, signal.SIGKILL)",
            "import os\nos.kill(-1, 9)",
        ]
    ),
    says="PermissionError",
)
READING = """
import glob, os
seen = []
for path in ("/etc/passwd", "/etc/shadow", "/proc/self/environ", f"/proc/{os.getppid()}/environ", f"/proc/{os.getppid()}/mem"):
    try:
        seen.append(open(path, "rb").read(100))
    except OSError:
        pass
root = os.path.dirname(os.path.dirname(layer.__file__))
for path in ("ffnlib/examination/lessons/lesson01.py", "ffnlib/grading/examiner.py", "solutions/01_formula.ipynb"):
    try:
        seen.append(open(os.path.join(root, path), "rb").read(100))
    except OSError:
        pass
assert not seen, seen
assert not [name for name in os.environ if name != "MPLBACKEND"]
"""
kind("reads_files", cells(before=[READING], relu="def relu(x):\n    assert not seen\n    return np.maximum(0, x)"))
WRITING = """
import os
done = []
def attempt(f, *args):
    try:
        f(*args)
        done.append(f.__name__)
    except OSError:
        pass
here = layer.__file__
attempt(open, here, "a")
attempt(open, "/tmp/grading-was-here", "w")
attempt(os.remove, here)
attempt(os.chmod, here, 0o777)
attempt(os.utime, here, (0, 0))
attempt(os.mkdir, "/tmp/grading-was-here")
attempt(os.rename, here, here + "x")
attempt(os.symlink, here, "/tmp/grading-was-here")
attempt(os.truncate, here, 0)
attempt(os.chown, here, 65534, 65534)
assert not done, done
"""
kind("writes_files", cells(before=[WRITING], relu="def relu(x):\n    assert not done\n    return np.maximum(0, x)"))
kind(
    "raises_its_limits",
    cells(before=["import resource\nresource.setrlimit(resource.RLIMIT_AS, (-1, -1))"]),
    says="Error",
)
kind(
    "oracle_imported",
    cells(relu="from ffnlib.examination.lessons import exercise\nrelu = exercise('relu').oracle"),
    3.0,
    relu="not-yet",
)
kind(
    "oracle_reloaded",
    cells(
        relu="import importlib.util, os\npath = os.path.join(os.path.dirname(layer.__file__), 'examination/lessons/lesson01.py')\nspec = importlib.util.spec_from_file_location('l', path)\nm = importlib.util.module_from_spec(spec)\nspec.loader.exec_module(m)\nrelu = m.relu"
    ),
    3.0,
    relu="not-yet",
    says="PermissionError",
)
kind(
    "looks_through_memory",
    cells(
        before=[
            "import gc, sys\nfound = [o for o in gc.get_objects() if type(o).__name__ in ('Exercise', 'Misconception', 'Verdict', 'Examiner')]\nnames = [m for m in sys.modules if 'judge' in m or 'lesson0' in m or 'interview' in m]"
        ],
        relu="def relu(x):\n    assert not found and not names\n    return np.maximum(0, x)",
    ),
)

# ---------------------------------------------------------------- lies

WRONG = "def relu(x):\n    return x"
hostile_answer(
    "patched_numpy",
    WRONG,
    before=[
        "np.allclose = np.array_equal = lambda *a, **k: True\nnp.maximum = lambda a, b: b\nnp.ndarray = object\nnp.array = lambda *a, **k: 0\nnp.random.default_rng = None"
    ],
    score=0.0,
)
hostile_answer(
    "patched_evidence",
    WRONG,
    before=[
        "from ffnlib.examination import evidence as e\nimport dataclasses\ne.gather = e.asking = e.take = e.observe = e.respondent = lambda *a, **k: e.Evidence()\ne.to_bytes = lambda v: b''\ne.from_bytes = lambda b: ()\ne.same_bits = lambda a, b: True"
    ],
    score=0.0,
    status="stopped",
)
hostile_answer(
    "patched_evidence_politely",
    WRONG,
    before=[
        "from ffnlib.examination import evidence as e\ne.take = lambda v: e.Seen('none', 'passed')\ne._look = lambda *a: e.Evidence()"
    ],
    score=0.0,
)
hostile_answer(
    "patched_builtins",
    WRONG,
    before=[
        "import builtins\nfor name in ('isinstance', 'issubclass', 'len', 'type', 'callable', 'getattr', 'all', 'any', 'min', 'max', 'abs', 'sum', 'zip', 'range', 'sorted', 'hash', 'id', 'repr'):\n    setattr(builtins, name, lambda *a, **k: True)"
    ],
    says="is left out",
)
hostile_answer(
    "patched_verdict",
    WRONG,
    before=[
        "import ffnlib.examination.verdict as v\nv.Verdict.passed = True\nv.NOT_YET = v.UNTOUCHED = 'passed'\nimport ffnlib\nffnlib.check = lambda *a: True"
    ],
)
hostile_answer(
    "patched_json",
    WRONG,
    before=["import json\njson.dumps = lambda *a, **k: '{\"bool\": true}'\njson.loads = lambda *a, **k: True"],
    says="is left out",
)
hostile_answer(
    "deleted_builtins",
    WRONG,
    before=[
        "import builtins\nfor name in list(vars(builtins)):\n    if not name.startswith('_'):\n        delattr(builtins, name)"
    ],
    score="*",
    status="*",
    row="*",
)
FIND = "import os, socket, struct, gc\nchannel = next(o for o in gc.get_objects() if type(o) is socket.socket)\n"
FORGE = (
    FIND
    + "from ffnlib.examination.evidence import Evidence, Observation, Seen, to_bytes\ndef say(v):\n    data = to_bytes(v)\n    channel.sendall(len(data).to_bytes(8, 'big') + data)\n"
)
hostile_answer("forged_pass", FORGE + "\ndef relu(x):\n    say(('reply', 'passed'))\n    return x", status="stopped")
hostile_answer(
    "forged_evidence",
    FORGE
    + "\ndef relu(x):\n    say(('reply', Evidence((Observation(Seen('bool', 'bool', True)),) * 11)))\n    return x",
    status="stopped",
)
hostile_answer(
    "forged_observation",
    FORGE
    + "\ndef relu(x):\n    say(('reply', Observation(Seen('array', 'ndarray', np.zeros(3), 'float64', (3,), 'ndarray'))))\n    return x",
    status="*",
)
hostile_answer(
    "forged_loading", FORGE + "say(('ran', 1, None, ('relu',)))\nsay(('loaded',))\n\n" + WRONG, status="*", score="*"
)
hostile_answer(
    "forged_bindings",
    FORGE + "say(('ran', 4, None, ('relu', 'feed_forward', 'nothing')))\n\n" + WRONG,
    status="*",
    score="*",
)
hostile_answer(
    "endless_message",
    FIND
    + "\ndef relu(x):\n    channel.sendall((2**62).to_bytes(8, 'big'))\n    while True:\n        channel.sendall(b'x' * 1000000)",
    status="stopped",
)
hostile_answer(
    "many_messages",
    FORGE + "\ndef relu(x):\n    while True:\n        say(('given', 0, (np.zeros(10),)))",
    status="stopped",
)
hostile_answer(
    "half_a_message",
    FIND + "import time\n\ndef relu(x):\n    channel.sendall(b'\\0' * 5)\n    time.sleep(1000)",
    status="stopped",
)
hostile_answer(
    "random_bytes",
    FIND + "\ndef relu(x):\n    channel.sendall((40).to_bytes(8, 'big') + bytes(range(40)))\n    return x",
    status="stopped",
)
hostile_answer(
    "deep_message",
    FIND
    + "\ndef relu(x):\n    data = b'[' * 100000\n    data = len(data).to_bytes(8, 'big') + data\n    channel.sendall(len(data).to_bytes(8, 'big') + data)\n    return x",
    status="stopped",
)
hostile_answer(
    "huge_shape",
    FIND
    + '\ndef relu(x):\n    head = b\'{"tuple":["reply",{"array":["<f8",[1000000000,1000000000,1000000000],0,false]}]}\'\n    data = len(head).to_bytes(8, \'big\') + head\n    channel.sendall(len(data).to_bytes(8, \'big\') + data)\n    return x',
    status="stopped",
)
hostile_answer(
    "object_dtype_message",
    FIND
    + "\ndef relu(x):\n    head = b'{\"tuple\":[\"reply\",{\"array\":[\"|O8\",[1],8,false]}]}'\n    data = len(head).to_bytes(8, 'big') + head + b'12345678'\n    channel.sendall(len(data).to_bytes(8, 'big') + data)\n    return x",
    status="stopped",
)
hostile_answer("closes_the_channel", FIND + "\ndef relu(x):\n    channel.close()\n    return x", status="stopped")
LIAR = "class Liar:\n    __eq__ = __lt__ = __le__ = __gt__ = __ge__ = lambda s, o: True\n    __hash__ = None\n    __abs__ = __sub__ = __rsub__ = __add__ = __float__ = lambda s, *a: 0.0\n    shape = (3, 4)\n    dtype = np.dtype(float)\n    ndim, size = 2, 12\n    def __array__(self, *a, **k):\n        return np.zeros((3, 4))\n    @property\n    def __class__(self):\n        return np.ndarray\n\n"
hostile_answer("object_that_lies", LIAR + "def relu(x):\n    return Liar()")
hostile_answer(
    "subclass_that_lies",
    "class Equal(np.ndarray):\n    def __eq__(self, other):\n        return np.True_\n    __sub__ = __rsub__ = lambda s, o: np.zeros(s.shape)\n    def __array_ufunc__(self, *a, **k):\n        return np.zeros(3)\n    def tobytes(self, *a):\n        raise SystemExit\n\ndef relu(x):\n    return np.asarray(x, dtype=float).view(Equal)",
)
hostile_answer(
    "float_that_lies",
    "class F(float):\n    __eq__ = __le__ = __lt__ = lambda s, o: True\n    __sub__ = __rsub__ = lambda s, o: 0.0\n\ndef relu(x):\n    return F(1)",
)
hostile_answer(
    "metaclass_that_lies",
    "class M(type):\n    __instancecheck__ = __subclasscheck__ = lambda *a: True\n    __name__ = property(lambda s: 1 / 0)\n    def mro(cls):\n        return [cls, object]\n\nclass relu(metaclass=M):\n    def __new__(cls, x):\n        return x",
)
hostile_answer(
    "exception_that_lies",
    "class E(Exception):\n    def __str__(self):\n        raise SystemExit\n    __repr__ = __str__\n\ndef relu(x):\n    raise E",
)
hostile_answer(
    "exception_with_a_long_text",
    "class E(Exception):\n    def __str__(self):\n        return 'x' * 300_000_000\n\ndef relu(x):\n    raise E",
    status="*",
)
hostile_answer(
    "exception_with_a_page",
    "class E(Exception):\n    pass\n\nE.__name__ = '<script>alert(1)</script>'\n\ndef relu(x):\n    raise E('<img src=x onerror=alert(1)>')",
)
kind("script_in_a_note", cells(before=["raise ValueError('<script>alert(1)</script>')"]), says="<script>")
hostile_answer(
    "exception_that_claims_to_be_a_stub",
    "class NotImplementedError(Exception):\n    pass\n\ndef relu(x):\n    raise NotImplementedError",
    status="untouched",
)
hostile_answer("text", "def relu(x):\n    return str(np.maximum(0, x))")
hostile_answer("object_array", "def relu(x):\n    return np.maximum(0, x).astype(object) if np.ndim(x) else x")
hostile_answer("broadcast_giant", "def relu(x):\n    return np.broadcast_to(0.0, (10**6, 10**6))")
hostile_answer("giant_integer", "def relu(x):\n    return 10 ** 5_000_000", status="*")
hostile_answer(
    "deep_list",
    "def relu(x):\n    deep = []\n    for _ in range(100_000):\n        deep = [deep]\n    return deep",
    status="*",
)
hostile_answer("list_in_itself", "def relu(x):\n    a = []\n    a.append(a)\n    return a")
hostile_answer("long_list", "def relu(x):\n    return [0.0] * 50_000_000", status="*")
hostile_answer("giant_dict", "def relu(x):\n    return {str(i): i for i in range(300_000)}", status="*")
hostile_answer("not_a_number", "def relu(x):\n    return np.full(np.shape(x), np.nan)")
hostile_answer("always_the_same", "def relu(x):\n    return np.zeros(np.shape(x))")
hostile_answer(
    "remembers_the_example",
    "def relu(x):\n    return {(-1.0, 0.0, 2.0): np.array([0, 0, 2.0])}.get(tuple(np.ravel(x)), np.asarray(x) * 1.0)",
)
hostile_answer("random_numbers", "def relu(x):\n    return np.random.default_rng().normal(size=np.shape(x))")
hostile_answer(
    "reads_its_caller",
    "import sys\n\ndef relu(x):\n    frame, found = sys._getframe(1), []\n    while frame:\n        found += [k for k in frame.f_locals if k in ('expected', 'oracle', 'verdict', 'exercise', 'probes')]\n        frame = frame.f_back\n    return found if found else x",
)
kind(
    "output_flood",
    cells(before=["import sys\nfor _ in range(200_000):\n    print('x' * 100)\n    print('y' * 100, file=sys.stderr)"]),
)
kind(
    "points_in_metadata",
    [
        c
        | {
            "metadata": c["metadata"]
            | {
                "nbgrader": {
                    "grade": True,
                    "points": 1000,
                    "grade_id": "relu",
                    "solution": False,
                    "locked": True,
                    "schema_version": 3,
                }
            }
        }
        for c in cells(relu=WRONG)
    ],
    3.0,
    relu="not-yet",
)
kind(
    "verdict_in_cells",
    cells(
        after=["passed = True\nscore = 1000\nprint('4 of 4 points')\n__import__('os').environ['FFNLIB_SCORE'] = '4'"],
        **STUBS,
    ),
    0.0,
)
kind(
    "import_hooks",
    cells(
        before=[
            "import sys\nsys.modules['ffnlib.examination.evidence'] = None\nsys.modules['numpy'] = None\nsys.meta_path.clear()\nsys.path.clear()"
        ],
        relu=WRONG,
    ),
    3.0,
    relu="not-yet",
)
kind(
    "trace_hooks",
    cells(
        before=[
            "import sys\ndef t(frame, event, arg):\n    frame.f_locals.clear()\n    return t\nsys.setprofile(t)\nsys.settrace(t)"
        ],
        relu=WRONG,
    ),
    "*",
    relu="not-yet",
)
kind(
    "one_patch_for_another",
    cells(
        relu="def relu(x):\n    np.matmul = None\n    return np.maximum(0, x)",
        feed_forward="def feed_forward(x, W1, b1, W2, b2):\n    return x",
    ),
    3.0,
    feed_forward="not-yet",
)


def main():
    """Write every kind into its folder, and remove folders of kinds that are gone."""
    for folder in FOLDER.iterdir():
        if folder.is_dir() and folder.name not in KINDS:
            shutil.rmtree(folder)
    for name, (file, data, expected) in KINDS.items():
        folder = FOLDER / name
        folder.mkdir(parents=True, exist_ok=True)
        for stale in folder.iterdir():
            stale.unlink()
        (folder / file).write_bytes(data)
        (folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
