"""What is wrong with a module before its numbers are looked at: its parameters, its methods, its two modes."""

from __future__ import annotations

from ffnlib.examination.compare import difference
from ffnlib.examination.exercise import Array
from ffnlib.examination.forms import Complaint, Reading, read, unknown

LAYERS = "self.expand = torch.nn.Linear(d_model, d_ff) and self.contract = torch.nn.Linear(d_ff, d_model)"

NOT_A_MODULE = Complaint(
    "not a Module",
    "the class is not a torch.nn.Module, so nothing in it is registered as a parameter",
    "class FeedForward(torch.nn.Module):",
)
NO_FORWARD = Complaint(
    "no forward",
    "the class defines no method called forward, which is what a module runs when it is called",
    "def forward(self, x): is the name misspelt, or indented into __init__?",
)
WRITES = Complaint(
    "modifies its input",
    "x holds other values after the call: forward writes into its input",
    "look for inplace=True, relu_(), += or an index assignment on x",
)
RANDOM = Complaint(
    "random in evaluation mode",
    "two runs in evaluation mode gave different results: something is drawn in forward",
    "this layer has no dropout; F.dropout stays active unless training=self.training is passed",
)
DROPOUT = Complaint(
    "dropout",
    "the result is right in evaluation mode and another one in training mode: there is a dropout in the module",
    "the layer asked for has no dropout",
)
TWO_MODES = Complaint(
    "two modes",
    "training mode and evaluation mode give different results",
    "what in forward looks at self.training, or changes with it?",
)
NO_GRADIENT = Complaint(
    "no gradient",
    "no gradient of the result reaches all parameters, so they cannot be trained: forward leaves PyTorch on the way",
    "look for .detach(), .data, .numpy() and torch.no_grad() in forward; PyTorch's own functions do without them",
)
SEVERAL_RESULTS = Complaint(
    "several results", "forward returns more than one thing", "return the result of the second linear layer alone"
)
REVERSED = Complaint(
    "layers the wrong way round",
    "the layer that x meets first maps d_ff numbers to d_model",
    "expand first, torch.nn.Linear(d_model, d_ff), then contract",
)
NO_SUPER = Complaint(
    "no super().__init__()",
    "a layer is assigned before the Module itself is set up",
    "the first line of __init__ is super().__init__()",
)
NO_INIT = Complaint(
    "no __init__",
    "the class cannot be called with (d_model, d_ff), or passes them on to Module",
    "def __init__(self, d_model, d_ff): two underscores on each side, then super().__init__() without arguments",
)
OTHER_INIT = Complaint(
    "arguments of __init__",
    "the class cannot be called as FeedForward(d_model, d_ff)",
    "def __init__(self, d_model, d_ff):",
)
OTHER_FORWARD = Complaint("arguments of forward", "forward cannot be called with x alone", "def forward(self, x):")
FLOAT32_INSIDE = Complaint(
    "float32 on the way",
    "float32 numbers meet float64 numbers in forward",
    "leave the dtype of x alone: no .float(), no new tensors of a fixed dtype",
)
NO_ATTRIBUTE = Complaint(
    "no such attribute",
    "a method uses an attribute of self that __init__ does not set",
    "compare the names after self. in __init__ and in forward",
)
SHAPES = Complaint(
    "shapes in forward",
    "in forward, a layer receives another number of features than it was made for",
    "the first layer takes d_model numbers and gives d_ff, the second takes d_ff: in which order are they called?",
)
ERRORS = (
    ("before Module.__init__() call", NO_SUPER),
    ("takes no arguments", NO_INIT),
    ("__init__() takes 1 positional argument but 3", NO_INIT),
    ("__init__() ", OTHER_INIT),
    ("forward() ", OTHER_FORWARD),
    ("same dtype", FLOAT32_INSIDE),
    ("shapes cannot be multiplied", SHAPES),
)


def read_facts(seen) -> Reading:
    """Return the output of a module in evaluation mode, with the complaint its facts deserve."""
    try:
        return _read(seen.type, seen.value)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError):
        return Reading(complaint=unknown(seen.type))


def _read(name: str, facts: dict) -> Reading:
    if not facts["base"]:
        return Reading(complaint=NOT_A_MODULE)
    if facts["raised"] is not None:
        return Reading(complaint=_about_error(name, facts))
    if not facts["forward"]:
        return Reading(complaint=NO_FORWARD)
    complaint = about_parameters(facts)
    if complaint or not facts["attempts"]:
        return Reading(complaint=complaint or unknown(name))
    return _read_results(facts)


def _read_results(facts: dict) -> Reading:
    _, first, again, training = facts["attempts"][0]
    if first.kind in ("tuple", "list"):
        return Reading(complaint=SEVERAL_RESULTS)
    readings = [read(Array(), seen) for seen in (first, again, training)]
    if any(reading.value is None for reading in readings):
        return readings[0]
    value, second, trained = (reading.value for reading in readings)
    if difference(second, value, 1e-9):
        return Reading(complaint=RANDOM)
    complaint = readings[0].complaint
    if facts["changed"]:
        complaint = complaint or WRITES
    elif difference(trained, value, 1e-9):
        complaint = complaint or (DROPOUT if any("Dropout" in layer for layer in facts["layers"]) else TWO_MODES)
    elif facts["without gradient"]:
        complaint = complaint or NO_GRADIENT
    return Reading(value, (), complaint)


# ---------------------------------------------------------------- parameters


def about_parameters(facts: dict) -> Complaint | None:
    """Return what is wrong with the number and the shapes of the parameters, None when W1, b1, W2, b2 fit."""
    (d_model, d_ff), parameters = facts["sizes"], facts["parameters"]
    if facts["attempts"]:
        return None
    if not parameters:
        return _nothing_registered(facts)
    cores = [tuple(n for n in shape if n != 1) for _, shape, _ in parameters]
    owners = [owner for _, _, owner in parameters]
    extra = next((o for o in owners if "Norm" in o or o in ("PReLU", "Bilinear", "Embedding")), None)
    if extra:
        because = f"a {extra} is part of the module and brings parameters of its own"
        return Complaint("extra parameters", because, "two linear layers and ReLU are all that is asked for")
    if any(len(core) > 2 for core in cores):
        return _about_shapes(parameters, d_model, d_ff)
    weights, biases = [c for c in cores if len(c) == 2], [c for c in cores if len(c) < 2]
    hidden = {n for core in weights for n in core} - {d_model}
    return (
        _about_counts(len(weights), len(biases), biases, d_model)
        or _about_width(hidden, d_model, d_ff)
        or _about_shapes(parameters, d_model, d_ff)
    )


def _nothing_registered(facts: dict) -> Complaint:
    if facts["loose"]:
        because = f"self.{facts['loose'][0]} is a plain attribute, so what it holds is not registered as a parameter"
        step = "assign the layers one by one, or use torch.nn.ModuleList or torch.nn.Parameter"
        return Complaint("nothing registered", because, step)
    because = "the module holds no parameters after __init__"
    return Complaint("no parameters", because, f"create the layers in __init__: {LAYERS}")


def _about_counts(weights: int, biases: int, shapes: list, d_model: int) -> Complaint | None:
    if weights == 2 and biases == 0:
        because, step = "the two linear layers have no biases", "leave bias=False out: the layer has b1 and b2"
        return Complaint("no biases", because, step)
    if weights == 2 and biases == 1:
        which = "second" if shapes[0] != (d_model,) else "first"
        return Complaint("one bias missing", f"the {which} linear layer has no bias", "both layers have one")
    if weights == 1:
        because = "the module holds one weight matrix: a layer is missing, or both share one"
        return Complaint("one weight matrix", because, "W1 and W2 are two matrices of their own")
    if weights == 3:
        because = "the module holds three weight matrices, as a gated layer does"
        return Complaint("three weight matrices", because, "this layer has two: W1 and W2")
    if weights != 2 or biases != 2:
        because = f"the module holds {weights} weight matrices and {biases} other parameters"
        return Complaint("extra parameters", because, f"two of each are asked for: {LAYERS}")
    return None


def _about_width(hidden: set, d_model: int, d_ff: int) -> Complaint | None:
    if len(hidden) > 1 or hidden == {d_ff}:
        return None
    width = next(iter(hidden), d_model)
    named = " (4 * d_model)" if width == 4 * d_model else " (d_model)" if width == d_model else ""
    because = f"with d_model = {d_model} and d_ff = {d_ff} the hidden layer has {width} units{named}"
    return Complaint("d_ff not used", because, "the width of the hidden layer is the argument d_ff")


def _about_shapes(parameters: tuple, d_model: int, d_ff: int) -> Complaint:
    shapes = ", ".join(f"{name} {shape}" for name, shape, _ in parameters[:6])
    if any(owner.startswith("Conv") for _, _, owner in parameters):
        return Complaint(
            "kernel size", f"the parameters are {shapes}", "a convolution does the same with kernel_size=1 only"
        )
    because = f"with d_model = {d_model} and d_ff = {d_ff} the parameters are {shapes}"
    return Complaint("shapes of the parameters", because, f"asked for are {LAYERS}")


def _about_error(name: str, facts: dict) -> Complaint | None:
    """Return the complaint that an error deserves, None when its own text says it best."""
    text = facts["raised"].text
    if f"'{name}' object has no attribute" in text:
        return NO_ATTRIBUTE
    parameters = facts.get("parameters", ())
    wrong_way = parameters and tuple(parameters[0][1]) == tuple(facts["sizes"]) and parameters[0][2] == "Linear"
    if "shapes cannot be multiplied" in text and wrong_way:
        return REVERSED
    return next((complaint for fragment, complaint in ERRORS if fragment in text), None)
