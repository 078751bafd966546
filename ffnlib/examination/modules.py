"""What came back of a class: it is built, known weights are loaded into it, and it is run.

Like `evidence`, this gathers and never judges: it takes down which parameters a module has, and what it returns with
the weights in every place they fit.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np

from ffnlib.examination.evidence import Observation, Seen, describe, silenced, take
from ffnlib.examination.exercise import Probe

MOST_PARAMETERS = 40  # taken down; more are counted only


def observe_module(answer, probe: Probe) -> Observation:
    """Build a module with `calls[0]`, load the weights in every way that fits, run it, and return what was seen.

    The observation's value is of kind "module" and holds plain facts: "sizes", "base" (is it a Module), "forward"
    (does it define its own), "parameters" as (name, shape, type of the owner), "layers" (types of its submodules),
    "loose" (attributes whose layers or tensors are not registered), "changed" (did it write into its input),
    "without gradient" (names of the parameters that none reaches), and "attempts", each a label with the results in
    evaluation mode, again, and in training mode.
    """
    import torch

    facts: dict = {"sizes": tuple(probe.calls[0]), "base": issubclass(answer, torch.nn.Module)}
    raised = None
    with silenced(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        try:
            module = answer(*probe.calls[0])
            if facts["base"]:
                _take_down(torch, module, probe, facts)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # whatever a class raises is evidence
            raised = _described(error, answer)
    name = str(type.__dict__["__name__"].__get__(answer))
    return Observation(Seen("module", name, {**facts, "raised": raised}), raised)


def _described(error, answer):
    """Return an exception as plain data; one that comes straight out of the class's own method has no depth."""
    raised, entry = describe(error), error.__traceback__
    while entry.tb_next is not None:
        entry = entry.tb_next
    own = [getattr(vars(answer).get(name), "__code__", None) for name in ("__init__", "forward")]
    return replace(raised, depth=1) if entry.tb_frame.f_code in own else raised


def _take_down(torch, module, probe: Probe, facts: dict) -> None:
    """Add to `facts` what the module is made of, and what it returns."""
    Module = torch.nn.Module
    facts["forward"] = type(module).forward is not Module.forward
    Module.double(module)
    x = torch.from_numpy(probe.inputs[0].copy())
    if any(type(p).__name__ == "UninitializedParameter" for p in Module.parameters(module)):
        module(x)  # lazy layers learn their sizes from the first input
        Module.double(module)
    parameters = _parameters(torch, module)
    facts["parameters"] = tuple((name, tuple(p.shape), owner) for name, p, owner in parameters)[:MOST_PARAMETERS]
    facts["layers"] = tuple(type(layer).__name__ for layer in Module.modules(module))[1 : MOST_PARAMETERS + 1]
    facts["loose"] = _loose(torch, module)
    if facts["forward"]:
        _try_every_fit(torch, module, parameters, probe, facts)


def _parameters(torch, module) -> list[tuple]:
    """Return `(name, parameter, type of its owner)`; what is registered twice is named once."""
    owners = {}
    for layer in torch.nn.Module.modules(module):
        kind = "Linear" if isinstance(layer, torch.nn.Linear) else type(layer).__name__
        for parameter in layer._parameters.values():
            owners.setdefault(id(parameter), kind)
    found = torch.nn.Module.named_parameters(module)
    return [(str(name)[:60], parameter, owners.get(id(parameter), "")) for name, parameter in found]


def _loose(torch, module) -> tuple[str, ...]:
    """Return the attributes that hold layers or tensors in a way that registers nothing."""
    names = []
    for name, value in vars(module).items():
        items = value if type(value) in (list, tuple) else list(value.values()) if type(value) is dict else [value]
        if not name.startswith("_") and any(isinstance(v, (torch.nn.Module, torch.Tensor)) for v in items):
            names.append(str(name)[:60])
    return tuple(names[:5])


# ---------------------------------------------------------------- loading and running


def fits(parameters: tuple, d_model: int, d_ff: int) -> list[tuple]:
    """Return every way to place W1, b1, W2, b2 in parameters given as (name, shape, owner): (position, turned) each.

    `turned` says that the parameter holds the transposed matrix, as nn.Linear does. Axes of length 1 do not count.

    >>> fits((("a", (7, 3), "Linear"), ("b", (7,), "Linear"), ("c", (3, 7), "Linear"), ("d", (3,), "Linear")), 3, 7)
    [((0, True), (1, False), (2, True), (3, False))]
    """
    if len(parameters) != 4:
        return []
    found = []
    for order in itertools.permutations(range(4)):
        ways = [_ways(parameters[i], shape) for i, shape in zip(order, _shapes(d_model, d_ff))]
        found += [tuple(zip(order, turned)) for turned in itertools.product(*ways)]
    return found


def _shapes(d_model: int, d_ff: int) -> tuple[tuple[int, ...], ...]:
    return (d_model, d_ff), (d_ff,), (d_ff, d_model), (d_model,)


def _ways(parameter: tuple, shape: tuple[int, ...]) -> list[bool]:
    """Return in which ways (as it is, turned) a matrix or vector of that shape fits a parameter."""
    _, own, owner = parameter
    own = tuple(n for n in own if n != 1)
    keeps_rows = owner == "Linear" or owner.startswith("Conv")  # these hold (out, in)
    as_it_is = own == shape and not (keeps_rows and len(shape) == 2)
    return [False] * as_it_is + [True] * (len(shape) == 2 and own == shape[::-1])


def _try_every_fit(torch, module, parameters: list, probe: Probe, facts: dict) -> None:
    facts["attempts"], facts["changed"] = (), False
    errors = []
    for fit in fits(facts["parameters"], *probe.calls[0]):
        label = " ".join(facts["parameters"][i][0] + ("^T" if turned else "") for i, turned in fit)
        try:
            with torch.no_grad():
                for (i, turned), value in zip(fit, probe.weights):
                    value = np.ascontiguousarray(value.T if turned else value)
                    torch.Tensor.copy_(parameters[i][1], torch.from_numpy(value.reshape(facts["parameters"][i][1])))
            results = tuple(_run(torch, module, probe, facts, training) for training in (False, False, True))
            facts["attempts"] += ((label, *results),)
            facts["without gradient"] = _without_gradient(torch, module, parameters, probe)
        except Exception as error:
            errors.append(error)
    if errors and not facts["attempts"]:
        raise errors[0]


def _without_gradient(torch, module, parameters: list, probe: Probe) -> tuple[str, ...]:
    """Return the names of the parameters that ask for a gradient of the result, and get none."""
    trained = [(name, parameter) for name, parameter, _ in parameters if parameter.requires_grad]
    with torch.enable_grad():
        result = module(torch.from_numpy(probe.inputs[0].copy()))
        if not trained or type(result) is not torch.Tensor or result.grad_fn is None:
            return tuple(name for name, _ in trained)
        values = [parameter for _, parameter in trained]
        gradients = torch.autograd.grad(torch.Tensor.sum(result), values, allow_unused=True)
    return tuple(name for (name, _), gradient in zip(trained, gradients) if gradient is None)


def _run(torch, module, probe: Probe, facts: dict, training: bool) -> Seen:
    torch.nn.Module.train(module, training)
    x = torch.from_numpy(probe.inputs[0].copy())
    result = take(module(x))
    facts["changed"] = facts["changed"] or x.numpy().tobytes() != probe.inputs[0].tobytes()
    return result
