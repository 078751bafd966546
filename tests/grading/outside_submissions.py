# ruff: noqa: E501 - one notebook is one line of a table
"""Notebooks that somebody wrote who had not written the grader, each with the row it must get; made when asked for."""

from tests.grading.build_submissions import ANSWERS, IDS, cell, cells, notebook

MADE = {}  # name: (lesson, notebook, score)

SHIFTED = "def relu(x):\n    return np.maximum(ZERO, x)"  # right as long as its cell with ZERO = 0.0 counts

# the functions below travel as text, and run in the worker's cells
CHANNEL = """
import json, os, random

def say(value):
    head = json.dumps(value).encode()
    data = (len(head) + 8).to_bytes(8, "big") + len(head).to_bytes(8, "big") + head
    for descriptor in range(3, 64):
        try:
            rest = data
            while rest:
                rest = rest[os.write(descriptor, rest) :]
        except OSError:
            pass

EMPTY = {"tuple": []}

ARRAY = {"array": ["<f8", [0, 2], 0, False]}

def seen(kind, value):
    return {"Observation": [{"Seen": [kind, kind, value, "", EMPTY, ""]}, None, EMPTY, EMPTY]}
"""

READS = """
import glob, importlib.util, os, sys

def stolen():
    sys.meta_path[:] = [finder for finder in sys.meta_path if "Silent" not in type(finder).__name__]
    for name in [name for name in sys.modules if name.startswith("ffnlib")]:
        del sys.modules[name]
    root = os.path.dirname(os.getcwd())
    paths = glob.glob(root + "/ffnlib/examination/**/*.py*", recursive=True) + glob.glob(root + "/solutions/*")
    for path in ["../ffnlib/examination/lessons/lesson01.py", "../solutions/01_formula.ipynb", *paths]:
        try:
            text = open(path).read()
        except (OSError, UnicodeDecodeError):
            continue
        if "def feed_forward" in text:
            return "read " + path
    try:
        from ffnlib.examination.lessons import lesson01
        return "imported"
    except Exception:
        return ""
"""


def made(name, score, before=(), after=(), **answers):
    """Register a notebook of lesson 01."""
    MADE[name] = ("01_formula", notebook(cells(before=before, after=after, **answers)), float(score))


def all_four(body):
    """Return the same body as the answer to every exercise."""
    return {name: ANSWERS[name].split("\n")[0] + f"\n    {body}" for name in IDS}


# points without a right answer
made("the key is read", 0, [READS], **all_four("assert stolen(), 'nothing'\n    return 1"))
made("no number at all", 0, **all_four("return np.full(np.shape(locals().get('x', 0)), np.nan)"))
made(
    "every function of numpy is replaced",
    0,
    ["np.allclose = np.array_equal = lambda *a, **k: True"],
    **all_four("return 0"),
)

# an answer that speaks in the worker's place must not make its row look like a mistake of ours
SPEAKS = """
def relu(x):
    say({"tuple": [WORD, {"int": "1"}]})
    return x"""
made("a word that is an array", 3, [CHANNEL, "WORD = ARRAY"], relu=SPEAKS)
made("a word that is a number", 3, [CHANNEL, 'WORD = {"float": "0x1p0"}'], relu=SPEAKS)
ALWAYS_OUTDATED = """
import gc, socket
from ffnlib.examination.evidence import Evidence, Observation, take
from ffnlib.grading.worker import frames

channel = next(each for each in gc.get_objects() if type(each) is socket.socket)
bound = {3: "relu", 5: "feed_forward", 7: "feed_forward_columns", 9: "linear_collapse"}
frames.send(channel, ("ran", 2, None, ()))
for number, name in bound.items():
    frames.send(channel, ("ran", number, None, (name,)))
frames.send(channel, ("loaded", tuple([(name, number) for number, name in bound.items()])))
while True:
    question = frames.receive(channel)[2]
    replies = {"look": Evidence(), "watch": False}
    frames.send(channel, ("reply", replies.get(question.action, Observation(take(1)))))
"""
made("answers that are outdated again and again", 0, [ALWAYS_OUTDATED])

# what slows the judge down, or stops it
made(
    "keys that collide",
    3,
    [CHANNEL],
    relu="""
def relu(x):
    say({"tuple": ["reply", {"dict": [[{"int": f"{i * (2**61 - 1):x}"}, None] for i in range(60_000)]}]})""",
)
made(
    "a fraction that is never reduced",
    3,
    [CHANNEL],
    relu="""
def relu(x):
    parts = [random.Random(seed).randbytes(1_500_000).hex() for seed in (1, 2)]
    say({"tuple": ["reply", seen("fraction", {"fraction": parts})]})""",
)
made(
    "processors are pinned",
    4,
    ["import os\ntry:\n    os.sched_setaffinity(os.getppid(), {0})\nexcept OSError:\n    pass"],
)
MADE["as many ties as fit"] = (
    "11_key_value_memory",
    notebook(
        [cell("import numpy as np"), cell("def top_triggers(*args):\n    return np.zeros(3_900_000, np.int8)")],
        metadata={},
    ),
    0.0,
)
made("a word without an end", 3, relu="def relu(x):\n    return x\n    " + "a" * 1_000_000)
MADE["a long axis beside one without an entry"] = (
    "04_the_block",
    notebook(
        [
            cell("import numpy as np"),
            cell(
                "def pre_norm(x, sublayer, *more):\n    for d in range(1, 9):\n        for f in (sublayer, *more):\n"
                "            try:\n                f(np.zeros((0, 200_000, d)))\n            except Exception:\n"
                "                pass\n    return 0\n\npost_norm = transformer_block = pre_norm"
            ),
        ],
        metadata={},
    ),
    0.0,
)
made(
    "more threads than the machine has",
    3,
    relu="""
import threading, time
threading.stack_size(32_768)

def relu(x):
    while True:
        try:
            threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        except RuntimeError:
            pass""",
)

made(
    "a life after the grader's",
    4,
    [
        "import ctypes\nlibrary = ctypes.CDLL(None)\nrefused = library.prctl(1, 0), library.setresuid(65534, 65534, 65534)"
    ],
    relu="def relu(x):\n    assert refused == (-1, -1)\n    return np.maximum(0, x)",
)

# honest work
made(
    "an answer with a number that PyTorch's optimiser has found",
    4,
    [
        """
import torch
weight = torch.zeros(1, requires_grad=True)
optimiser = torch.optim.Adam([weight], 0.1)
for _ in range(100):
    optimiser.zero_grad()
    ((weight - 1) ** 2).sum().backward()
    optimiser.step()
ONE = round(weight.item())"""
    ],
    relu="def relu(x):\n    return np.maximum(0, x) * ONE",
)
made(
    "an answer computed by threads",
    4,
    relu="from concurrent.futures import ThreadPoolExecutor\n\ndef relu(x):\n    with ThreadPoolExecutor() as threads:\n"
    "        return np.reshape(list(threads.map(lambda number: max(0, number), np.ravel(x))), np.shape(x))",
)
made(
    "PyTorch is told to use four threads",
    4,
    relu="import torch\ntorch.set_num_threads(4)\ntotal = torch.tanh(torch.ones(900, 900) @ torch.ones(900, 900)).sum()\n"
    "def relu(x):\n    return np.maximum(0, x) * (total.item() / 810_000 > 0.99)",
)
made(
    "more parts of a figure than a stand-in has",
    4,
    ["import matplotlib.pyplot as plt\nn, bins, patches = plt.hist([1, 2])\nZERO = 0.0"],
    relu=SHIFTED,
)
made(
    "a file is written before a name is given",
    4,
    ["np.save('mine.npy', np.zeros(3))\nZERO, ONE = 0.0, 1.0"],
    relu=SHIFTED,
)
made("a library that is missing here", 4, relu=f"import pandas as pd\nZERO = 0.0\n{SHIFTED}")
made("await outside a function", 4, ["import asyncio\nZERO = await asyncio.sleep(0, 0.0)"], relu=SHIFTED)
made("a failing cell does not replace an answer", 4, after=["1 / 0\nrelu = None"])
made(
    "a partial, a class and lambdas",
    4,
    relu="from functools import partial\nrelu = partial(np.maximum, 0)",
    feed_forward="class Layer:\n    def __call__(self, x, W1, b1, W2, b2):\n        return relu(x @ W1 + b1) @ W2 + b2\n\nfeed_forward = Layer()",
    feed_forward_columns="feed_forward_columns = lambda x, W1, b1, W2, b2: feed_forward(x, W1.T, b1, W2.T, b2)",
)
made("star imports", 4, ["from math import *\nfrom numpy import *"], relu="def relu(x):\n    return maximum(0, x)")
made(
    "everything is deleted at the end", 4, after=["%reset -f", "for name in list(globals()):\n    del globals()[name]"]
)
MADE["a module of PyTorch"] = (
    "04_the_block",
    notebook(
        [
            cell("import torch\nfrom torch import nn"),
            cell("""class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.expand, self.contract = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.contract(torch.relu(self.expand(x)))"""),
            cell('check("feed_forward_module", FeedForward)'),
        ],
        metadata={"ffn": {"lesson": "04_the_block"}},
    ),
    1.0,
)
