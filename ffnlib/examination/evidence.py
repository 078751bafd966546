"""What came back: an answer is called with the probes, and what it returns is taken down as plain data.

This module gathers and never judges. It runs learners' code, so it trusts nothing it gets back: values are read by
exact type through a closed list, measured before they are copied, and never compared or converted by methods of their
own. The names of the builtins are bound here, before any answer runs.
"""

from __future__ import annotations

import builtins
import contextlib
import json
import os
import sys
import types
import warnings
from builtins import (
    BaseException,
    Exception,
    abs,
    bool,
    callable,
    complex,
    dict,
    float,
    getattr,
    int,
    isinstance,
    issubclass,
    len,
    list,
    range,
    str,
    tuple,
    type,
    zip,
)
from collections import OrderedDict, defaultdict
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np

from ffnlib.examination.exercise import Probe, Remote

LARGEST_ARRAY = 4_000_000  # numbers
LARGEST_INTEGER = 8_192  # bits
LARGEST_TEXT = 300  # characters
LONGEST_LIST = 20_000  # items, all levels together
DEEPEST_LIST = 6
_HERE = __file__.rpartition("evidence")[0]  # the examination's own files
_COURSE = os.path.dirname(os.path.dirname(_HERE))  # ffnlib's own files


@dataclass(frozen=True)
class Seen:
    """A value as it was seen: its kind, the name of its type, and its content where that is plain data.

    `kind` is "array", "int", "float", "bool", "complex", "fraction", "text", "list", "tuple", "dict", "none",
    "ellipsis", "large" or "other". Arrays keep `dtype`, `shape` and, in `note`, where they came from: "ndarray",
    "matrix", "masked", "tensor", "scalar".
    """

    kind: str
    type: str
    value: object = None
    dtype: str = ""
    shape: tuple[int, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Raised:
    """An exception: the names of its type and of its base types, its text, and where in the answer it came from."""

    types: tuple[str, ...]
    text: str = ""
    line: int = 0
    source: str = ""
    depth: int = 0


@dataclass(frozen=True)
class Observation:
    """One call of an answer: what it returned or raised, which arguments it changed, what it warned of."""

    returned: Seen | None = None
    raised: Raised | None = None
    changed: tuple[int, ...] = ()
    warned: tuple[str, ...] = ()


@dataclass(frozen=True)
class Evidence:
    """Everything that was seen of one answer.

    `observations` has one entry a call, in the order of the probes; `answer` is the answer itself as seen; `problem`
    says why nothing could be asked ("" when everything was). `parameters` are the names in the answer's definition,
    `library` says that the answer called the function the exercise asks for.
    """

    observations: tuple[Observation, ...] = ()
    answer: Seen | None = None
    problem: str = ""
    parameters: tuple[str, ...] = ()
    library: bool = False


@dataclass(frozen=True)
class Question:
    """One thing asked of an answer, as plain data: the only form in which a probe leaves the judge.

    `action` is "look" (what is it? `name` says what is wanted), "call" it with `args`, "build" it with `args`, load
    `weights` and run it on `inputs`, or "watch" whether that call reaches the function called `name`. `again` says
    that `args` go into the array objects of the call before.
    """

    action: str
    name: str = ""
    args: tuple = ()
    again: bool = False
    weights: tuple = ()
    inputs: tuple = ()


@dataclass(frozen=True)
class Handle:
    """A Remote as it travels: its number at the judge's end, and how often it may be called."""

    number: int
    calls: int


# ---------------------------------------------------------------- values


def take(value) -> Seen:
    """Return a value as plain data, by its exact type."""
    return _take(value, 0, [LONGEST_LIST])


def _take(value, depth: int, budget: list) -> Seen:
    kind = type(value)
    name = _name_of(kind)
    if value is None:
        return Seen("none", name)
    if value is Ellipsis:
        return Seen("ellipsis", name)
    if kind is bool or kind is float or kind is complex:
        return Seen(name, name, value)
    if kind is int:
        return Seen("int", name, value) if int.bit_length(value) <= LARGEST_INTEGER else Seen("large", name)
    if kind is Fraction:
        size = int.bit_length(value.numerator) + int.bit_length(value.denominator)
        return Seen("fraction", name, value) if size <= LARGEST_INTEGER else Seen("large", name)
    if kind is Decimal:
        return _take_decimal(value, name)
    if kind is str:
        return Seen("text", name, value[:LARGEST_TEXT])
    if kind is list:
        return _take_list(value, name, depth, budget)
    if issubclass(kind, tuple) and kind.__module__ != "torch.return_types":  # read by the methods of tuple itself
        return _take_list(tuple(tuple.__iter__(value)), "tuple", depth, budget)
    if kind is range:
        return _take_list(list(value[: LONGEST_LIST + 1]), "list", depth, budget)
    if kind is dict or kind is OrderedDict or kind is defaultdict:
        return _take_dict(value, name, depth, budget)
    return _take_array(value, kind, name)


def _take_decimal(value: Decimal, name: str) -> Seen:
    """Return a decimal number as the fraction it is."""
    _, digits, exponent = Decimal.as_tuple(value)
    if type(exponent) is not int:  # not a number, or infinite
        return Seen("float", name, float(value))
    large = 4 * (len(digits) + abs(exponent)) > LARGEST_INTEGER
    return Seen("large", name) if large else Seen("fraction", name, Fraction(value))


def _take_list(value, name: str, depth: int, budget: list) -> Seen:
    budget[0] -= len(value)
    if depth >= DEEPEST_LIST or budget[0] < 0:
        return Seen("large", name)
    return Seen(name, name, tuple([_take(item, depth + 1, budget) for item in value]))


def _take_dict(value, name: str, depth: int, budget: list) -> Seen:
    budget[0] -= len(value)
    if depth >= DEEPEST_LIST or budget[0] < 0:
        return Seen("large", name)
    keys = list(dict.keys(value))
    if not all_exact(keys, str):
        return Seen("other", "dict with keys that are not text")
    items = tuple([(key[:LARGEST_TEXT], _take(dict.__getitem__(value, key), depth + 1, budget)) for key in keys])
    return Seen("dict", name, items)


def all_exact(values, kind: type) -> bool:
    """Return whether every value is exactly of this type, subclasses excluded."""
    return not [value for value in values if type(value) is not kind]


def _take_array(value, kind: type, name: str) -> Seen:
    if kind is np.ndarray:
        return _copy(value, name, "ndarray")
    if kind is np.matrix:
        return _copy(np.ndarray.view(value, np.ndarray), name, "matrix")
    if kind is np.ma.MaskedArray:
        masked = bool(np.any(np.array(np.ma.getmaskarray(value), dtype=bool)))
        return _copy(np.ndarray.view(value, np.ndarray), name, "masked values" if masked else "masked")
    if kind.__module__ == "numpy" and kind in np.sctypeDict.values():
        return _copy(np.array(value), name, "scalar")
    torch = sys.modules.get("torch")
    if torch is not None and (kind is torch.Tensor or kind is torch.nn.Parameter):
        return _take_tensor(value, torch, name)
    if kind is types.GeneratorType or kind is types.CoroutineType:
        value.close()
    return Seen("other", name)


def _take_tensor(value, torch, name: str) -> Seen:
    Tensor = torch.Tensor
    shape, dtype = tuple(Tensor.size(value)), str(Tensor.detach(value).dtype).replace("torch.", "")
    if Tensor.numel(value) > LARGEST_ARRAY:
        return Seen("large", name, dtype=dtype, shape=shape)
    try:
        array = Tensor.numpy(Tensor.resolve_neg(Tensor.resolve_conj(Tensor.cpu(Tensor.detach(value)))))
    except (TypeError, RuntimeError):  # sparse, quantised and half-width types that NumPy does not know
        return Seen("array", name, dtype=dtype, shape=shape, note="tensor")
    return _copy(array, name, "tensor")


def _copy(array, name: str, note: str) -> Seen:
    """Return an exact ndarray as seen: measured first, then copied in native byte order."""
    dtype, shape = array.dtype, tuple(array.shape)
    if array.size > LARGEST_ARRAY:
        return Seen("large", name, dtype=_dtype_name(dtype), shape=shape, note=note)
    if dtype.kind not in "biufc":
        return Seen("array", name, dtype=_dtype_name(dtype), shape=shape, note=note)
    if dtype.kind == "f" and dtype.itemsize > 8:
        return Seen("array", name, np.array(array, dtype=np.float64, order="C"), "longdouble", shape, note)
    if dtype.kind == "c" and dtype.itemsize > 16:
        return Seen("array", name, np.array(array, dtype=np.complex128, order="C"), "complex", shape, note)
    return Seen(
        "array", name, np.array(array, dtype=dtype.newbyteorder("="), order="C"), _dtype_name(dtype), shape, note
    )


KINDS = {"b": "bool", "i": "int", "u": "uint", "f": "float", "c": "complex", "O": "object", "U": "text", "S": "text"}


def _dtype_name(dtype) -> str:
    """Return the name of a dtype; NumPy's own is computed in Python, with builtins an answer may have replaced."""
    name = KINDS.get(dtype.kind, "void")
    return f"{name}{8 * dtype.itemsize}" if dtype.kind in "iufc" else name


def _name_of(kind: type) -> str:
    """Return the name a type was given, whatever its metaclass says."""
    return str(type.__dict__["__name__"].__get__(kind))[:LARGEST_TEXT]


# ---------------------------------------------------------------- calls


class Silence:
    """A stream that swallows what an answer prints."""

    encoding = "utf-8"

    def write(self, text) -> int:
        """Drop the text."""
        return len(text) if type(text) is str else 0

    def flush(self) -> None:
        """Do nothing: there is nothing to flush."""

    def isatty(self) -> bool:
        """Return False: nobody reads this."""
        return False


class TooManyCalls(Exception):
    """An answer called a given function more often than any answer needs to."""


def local_proxy(remote: Remote):
    """Return a proxy that calls the judge's function here: the learner's own door."""
    left = [remote.calls]

    def given_function(*args):
        left[0] -= 1
        if left[0] < 0:
            raise TooManyCalls(f"the given function was called more than {remote.calls} times")
        return remote.function(*[argument_for_judge(argument) for argument in args])

    return given_function


def argument_for_judge(value):
    """Return what an answer hands to a judge's function, as the array, number or list of these that it is.

    **Raises** TypeError for anything else
    """
    if type(value) is list or type(value) is tuple:
        return type(value)([argument_for_judge(item) for item in value])
    seen = take(value)
    if seen.value is None or seen.kind not in ("array", "int", "float", "bool"):
        raise TypeError(f"the given function takes arrays and numbers, not a {seen.type}")
    return seen.value


def copy_plain(value):
    """Return a copy of plain data: arrays and the tuples, lists and dicts that hold them."""
    kind = type(value)
    if kind is np.ndarray:
        return np.array(value, order="K", copy=True)
    if kind is tuple or kind is list:
        return kind([copy_plain(item) for item in value])
    if kind is dict:
        return {key: copy_plain(item) for key, item in value.items()}
    return value


def same_bits(a, b) -> bool:
    """Return whether two pieces of plain data hold the same types, shapes and bits."""
    if type(a) is not type(b):
        return False
    if type(a) is np.ndarray:
        return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()
    if type(a) is tuple or type(a) is list:
        return len(a) == len(b) and not [0 for x, y in zip(a, b) if not same_bits(x, y)]
    return a is b or a == b or (a != a and b != b)


def refill(objects: tuple, values: tuple) -> tuple:
    """Return arguments holding `values`, in the array objects of `objects` wherever shape and type allow."""
    filled = []
    for position, value in enumerate(values):
        old = objects[position] if position < len(objects) else None
        if (
            type(old) is np.ndarray
            and type(value) is np.ndarray
            and old.shape == value.shape
            and old.dtype == value.dtype
        ):
            if not old.flags.writeable:
                old.flags.writeable = True
            old[...] = value
            filled.append(old)
        else:
            filled.append(copy_plain(value))
    return tuple(filled)


def observe(answer, args: tuple, proxy) -> tuple[Observation, tuple]:
    """Call the answer once and return what was seen, with the argument objects it received."""
    given = tuple([proxy(argument) if type(argument) is Remote else argument for argument in args])
    before = copy_plain(given)
    returned = raised = None
    with warnings.catch_warnings(record=True) as caught, silenced():
        warnings.simplefilter("always")
        try:
            with left_as_found():
                returned = answer(*given)
            returned = take(returned)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # SystemExit and worse included: whatever an answer raises is evidence
            raised, returned = describe(error), None
        warned = tuple([_warning_text(entry) for entry in list(caught)[:3]])
    changed = tuple([i for i in range(len(given)) if not same_bits(given[i], before[i])])
    return Observation(returned, raised, changed, warned), given


@contextlib.contextmanager
def left_as_found():
    """Undo what an answer does to the builtins and to the hooks that watch calls, so that it meets nobody else."""
    names, tracer, profiler = dict(vars(builtins)), sys.gettrace(), sys.getprofile()
    try:
        yield
    finally:
        sys.settrace(tracer)
        sys.setprofile(profiler)
        vars(builtins).update(names)


def _warning_text(entry) -> str:
    try:
        return f"{_name_of(type(entry.message))}: {str(entry.message)[:LARGEST_TEXT]}"
    except BaseException:
        return "a warning whose text could not be read"


@contextlib.contextmanager
def silenced():
    """Swallow what is printed inside."""
    with contextlib.redirect_stdout(Silence()), contextlib.redirect_stderr(Silence()):
        yield


def describe(error) -> Raised:
    """Return an exception as plain data; its own methods are called at most inside a guard."""
    kind = type(error)
    names = tuple([_name_of(base) for base in type.mro(kind)][:8])
    try:
        text = str(error)[:LARGEST_TEXT]
        text = text if type(text) is str else ""
    except BaseException:
        text = ""
    line, source, depth = _origin(error)
    return Raised(names, text, line, source, depth)


def _origin(error) -> tuple[int, str, int]:
    """Return the line and file of the innermost frame that is the answer's own, and how many frames it has."""
    entry, line, source, depth = error.__traceback__, 0, "", 0
    while entry is not None:
        filename = entry.tb_frame.f_code.co_filename
        if filename.startswith(_HERE):
            if depth:
                break  # what follows is a function of the judge's that the answer called
        else:
            depth += 1
            if "site-packages" not in filename and not filename.startswith((sys.base_prefix, _COURSE)):
                line, source = entry.tb_lineno, filename
        entry = entry.tb_next
    return line, str(source)[-LARGEST_TEXT:], depth


def gather(probes: tuple[Probe, ...], answer, wanted: str = "function", library: str | None = None, proxy=local_proxy):
    """Try an answer with the probes and return the Evidence.

    `wanted` is "function", "class" or "value"; `proxy` turns a Remote into what the answer may call.
    """
    respond, conversation = respondent(answer, proxy), asking(probes, wanted, library)
    question = next(conversation)
    while True:
        reply = respond(question)
        try:
            question = conversation.send(reply)
        except StopIteration as finished:
            return finished.value


def asking(probes: tuple[Probe, ...], wanted: str = "function", library: str | None = None):
    """Put the questions one at a time: a generator that yields each, is sent the reply, and returns the Evidence."""
    seen = yield Question("look", wanted)
    if wanted == "value" or seen.problem:
        return seen
    observations = []
    for probe in probes:
        for position, args in enumerate(probe.calls):
            question = Question(probe.action, "", args, position > 0, probe.weights, probe.inputs)
            observations.append((yield question))
            if is_stub(observations[0]):
                return Evidence(tuple(observations), None, "", seen.parameters)
    used = bool(library) and (yield Question("watch", library, probes[0].calls[0]))
    return Evidence(tuple(observations), None, "", seen.parameters, used)


def respondent(answer, proxy=local_proxy):
    """Return the function that replies to questions about an answer; it keeps the argument objects between calls."""
    objects: tuple = ()

    def respond(question: Question):
        nonlocal objects
        if question.action == "look":
            return _look(answer, question.name)
        if question.action == "watch":
            return calls_library(answer, question.args, question.name, proxy)
        if question.action == "build":
            from ffnlib.examination.modules import observe_module

            return observe_module(answer, Probe((question.args,), "build", question.weights, question.inputs))
        observation, objects = observe(answer, refill(objects if question.again else (), question.args), proxy)
        return observation

    return respond


def _look(answer, wanted: str) -> Evidence:
    """Return what an answer is, before it is called."""
    if wanted == "value" or not callable(answer):
        return Evidence(answer=take(answer), problem="" if wanted == "value" else "not callable")
    if wanted == "class" and not isinstance(answer, type):
        return Evidence(answer=Seen("other", _name_of(type(answer))), problem="not a class")
    return Evidence(parameters=_parameters(answer))


def is_stub(observation: Observation) -> bool:
    """Return whether the answer itself, not a function it calls, raised NotImplementedError, as a starter does."""
    raised = observation.raised
    return raised is not None and raised.types[0] == "NotImplementedError" and raised.depth <= 1


def _parameters(answer) -> tuple[str, ...]:
    if type(answer) is not types.FunctionType:
        return ()
    code = answer.__code__
    return tuple(code.co_varnames[: code.co_argcount])


def calls_library(answer, args: tuple, library: str, proxy) -> bool:
    """Return whether the answer, called with `args`, is or calls the function of that dotted name.

    The call is watched with a profile hook. An answer that wants to hide can: this is for honest mistakes.
    """
    module, _, name = library.rpartition(".")
    function = getattr(sys.modules.get(module), name, None)
    if function is None:
        return False
    code, found = getattr(function, "__code__", None), []

    def watch(frame, event, _argument):  # pragma: no cover - no tracer sees what a profile hook does
        if event == "call" and frame.f_code is code:
            found.append(True)

    previous = sys.getprofile()
    sys.setprofile(watch)
    try:
        observe(answer, copy_plain(args), proxy)
    finally:
        sys.setprofile(previous)
    return bool(found)


# ---------------------------------------------------------------- evidence as bytes

MALFORMED = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError, MemoryError)
_CLASSES = {cls.__name__: cls for cls in (Seen, Raised, Observation, Evidence, Question, Handle)}
_DTYPES = {np.dtype(code).str for code in "?bhilqBHILQefdFD"}  # what numbers travel as


def to_bytes(value) -> bytes:
    """Return plain data (numbers, text, arrays, tuples, lists, dicts, evidence) as bytes."""
    buffers: list[bytes] = []
    head = json.dumps(_plain(value, buffers), separators=(",", ":")).encode()
    return b"".join([len(head).to_bytes(8, "big"), head, *buffers])


def from_bytes(data: bytes):
    """Return the plain data that `to_bytes` wrote; anything else raises ValueError, whatever the bytes are."""
    try:
        size = int.from_bytes(data[:8], "big")
        head = json.loads(data[8 : 8 + size])
        return _rebuild(head, memoryview(data)[8 + size :], [0])
    except MALFORMED as error:
        raise ValueError(f"these {len(data)} bytes are not evidence: {error}") from None


def _plain(value, buffers: list):
    kind = type(value)
    if value is None or kind is bool or kind is str:
        return value
    if kind is int:
        return {"int": f"{value:x}"}
    if kind is float:
        return {"float": value.hex()}
    if kind is complex:
        return {"complex": [value.real.hex(), value.imag.hex()]}
    if kind is Fraction:
        return {"fraction": [f"{value.numerator:x}", f"{value.denominator:x}"]}
    if kind is np.ndarray:
        by_columns = value.flags.fnc
        buffers.append(value.tobytes("F" if by_columns else "C"))
        return {"array": [value.dtype.str, list(value.shape), len(buffers[-1]), by_columns]}
    if isinstance(value, np.generic):
        return {"scalar": _plain(np.array(value), buffers)}
    if kind is tuple or kind is list:
        return {kind.__name__: [_plain(item, buffers) for item in value]}
    if kind is dict:
        return {"dict": [[_plain(key, buffers), _plain(item, buffers)] for key, item in value.items()]}
    if kind.__name__ in _CLASSES and kind is _CLASSES[kind.__name__]:
        return {kind.__name__: [_plain(getattr(value, name), buffers) for name in kind.__dataclass_fields__]}
    raise TypeError(f"a value of type {kind.__name__} does not travel")


def _rebuild(head, buffer: memoryview, offset: list):
    if not isinstance(head, dict):
        if head is None or isinstance(head, (bool, str)):
            return head
        raise ValueError(f"unexpected {type(head).__name__} in the header")
    ((tag, content),) = head.items()
    if isinstance(content, dict) != (tag == "scalar"):
        raise ValueError(f"{tag} holds a {type(content).__name__}")
    if tag == "int":
        return int(content, 16)
    if tag == "float":
        return float.fromhex(content)
    if tag == "complex":
        return complex(*[float.fromhex(part) for part in content])
    if tag == "fraction":
        return Fraction(*[int(part, 16) for part in content])
    if tag == "array":
        return _rebuild_array(content, buffer, offset)
    if tag == "scalar":
        return _rebuild(content, buffer, offset)[()]
    if tag in ("tuple", "list"):
        items = [_rebuild(item, buffer, offset) for item in content]
        return tuple(items) if tag == "tuple" else items
    if tag == "dict":
        return {_rebuild(key, buffer, offset): _rebuild(item, buffer, offset) for key, item in content}
    return _CLASSES[tag](*[_rebuild(item, buffer, offset) for item in content])


def _rebuild_array(content, buffer: memoryview, offset: list):
    code, shape, size, by_columns = content
    if code not in _DTYPES or type(size) is not int or not 0 <= size <= len(buffer) - offset[0]:
        raise ValueError("an array of a size or type that does not travel")
    if [0 for length in shape if type(length) is not int or not 0 <= length < 2**40]:
        raise ValueError("an array of a shape that does not travel")
    part = buffer[offset[0] : offset[0] + size]
    offset[0] += size
    order = "F" if by_columns is True else "C"
    return np.frombuffer(part, dtype=np.dtype(code)).reshape(tuple(shape), order=order).copy(order)
