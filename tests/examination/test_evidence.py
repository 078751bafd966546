"""Gathering trusts nothing: exact types, sizes before copies, guarded text, and bytes that carry no code."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

from ffnlib.examination import evidence
from ffnlib.examination.evidence import Evidence, Observation, Raised, Seen, from_bytes, gather, take, to_bytes
from ffnlib.examination.exercise import Probe, Remote, call
from tests.examination.asking import verdict_on


class LyingInteger(int):
    """An integer that claims to equal everything."""

    def __eq__(self, other):
        return True

    __hash__ = int.__hash__


class LyingArray(np.ndarray):
    """An array whose every method would agree."""

    def __array_function__(self, *args, **kwargs):
        raise AssertionError("a learner's method was called")


@pytest.mark.parametrize(
    "value, kind",
    [
        (None, "none"), (..., "ellipsis"), (True, "bool"), (3, "int"), (2.5, "float"), (1j, "complex"),
        (Fraction(1, 3), "fraction"), ("a", "text"), ([1], "list"), ((1,), "tuple"), ({"a": 1}, "dict"),
        (np.zeros(2), "array"), (np.float64(1), "array"), ({1}, "other"), ({1: 2}, "other"), (object(), "other"),
        (LyingInteger(3), "other"), (np.zeros(2).view(LyingArray), "other"), (2**9000, "large"),
        (Fraction(1, 2**9000), "large"), ([[[[[[[1]]]]]]], "list"), (np.broadcast_to(0.0, (10**6, 10**6)), "large"),
    ],
)  # fmt: skip
def test_values_are_read_by_exact_type(value, kind):
    assert take(value).kind == kind


def test_deep_and_long_lists_are_not_followed():
    nested = [1]
    for _ in range(50):
        nested = [nested]
    seen = take(nested)
    while seen.kind == "list":
        seen = seen.value[0]
    assert seen.kind == "large"
    endless = []
    endless.append(endless)
    assert take(endless).kind == "list"
    assert take([0] * 300_000).kind == "large"
    assert take({"a": {"b": {"c": {"d": {"e": {"f": {"g": 1}}}}}}}).kind == "dict"
    assert take({str(i): 0 for i in range(300_000)}).kind == "large"


def test_sizes_are_looked_at_before_anything_is_copied():
    virtual = np.broadcast_to(np.float64(1), (2**20, 2**20))  # eight terabytes, were it copied
    assert take(virtual).shape == (2**20, 2**20) and take(virtual).value is None
    torch = pytest.importorskip("torch")
    assert take(torch.zeros(1).expand(10**7)).kind == "large"


def test_dtypes_that_hold_no_numbers_are_not_copied():
    assert take(np.array(["1", "2"])).dtype == "text"
    assert take(np.array([object()])).value is None
    assert take(np.zeros(2, dtype=[("a", "f8")])).value is None
    assert take(np.array([1, 2], dtype=">i4")).value.dtype.byteorder in "=<"
    assert take(np.zeros(2, dtype=np.clongdouble)).dtype == "complex"
    torch = pytest.importorskip("torch")
    assert take(torch.eye(2).to_sparse()).value is None


def test_the_name_of_a_type_is_read_without_its_metaclass():
    class Meta(type):
        @property
        def __name__(cls):
            raise AssertionError("a learner's property was called")

    class Thing(metaclass=Meta):
        pass

    assert take(Thing()).type == "Thing"


def test_an_exception_with_a_hostile_text_is_still_described():
    class Evil(ValueError):
        def __str__(self):
            raise SystemExit

    class Odd(ValueError):
        def __str__(self):
            class Text(str):
                pass

            return Text("odd")

    for kind in (Evil, Odd):

        def answer(x, kind=kind):
            raise kind

        observation = gather((call(np.ones(2)),), answer).observations[0]
        assert observation.raised.types[:2] == (kind.__name__, "ValueError") and observation.raised.text in ("", "odd")


def test_a_warning_with_a_hostile_text_is_only_noted():
    import warnings

    class Evil(UserWarning):
        read = 0

        def __str__(self):
            Evil.read += 1
            if Evil.read > 1:
                raise RuntimeError
            return "the text that the warning machinery sees"

    def answer(x):
        warnings.warn(Evil(), stacklevel=1)
        return 2 * x

    assert "could not be read" in verdict_on(answer).message


def test_builtins_replaced_by_an_answer_are_not_used():
    import builtins

    originals = {name: getattr(builtins, name) for name in ("len", "type", "isinstance", "tuple", "list", "str", "zip")}

    def answer(x):
        for name in originals:
            setattr(builtins, name, lambda *args, **kwargs: True)
        return 3 * x

    try:
        seen = gather((call(np.ones(2)),), answer)
    finally:
        for name, value in originals.items():
            setattr(builtins, name, value)
    assert seen.observations[0].returned.value.tolist() == [3.0, 3.0]


def test_generators_and_coroutines_are_closed():
    async def answer(x):
        return x

    assert gather((call(1),), answer).observations[0].returned.type == "coroutine"


def test_arguments_are_handed_over_in_the_same_objects_and_compared_bit_for_bit():
    seen = []

    def answer(x, extra):
        seen.append(id(x))
        x[0] = -0.0
        return x

    probe = Probe(calls=((np.zeros(2), {"a": [np.ones(1)]}), (np.zeros(2), {"a": [np.ones(1)]}), (np.zeros(3), None)))
    first, second, third = gather((probe,), answer).observations
    assert first.changed == (0,), "0.0 became -0.0"
    assert seen[0] == seen[1] and second.changed == (0,) and third.changed == (0,)


def test_a_read_only_argument_is_filled_again():
    def answer(x):
        x.flags.writeable = False
        return 2 * x

    assert verdict_on(answer).passed


def test_changes_of_kind_inside_an_argument_are_noticed():
    def answer(parts):
        parts[0] = "text"
        return 1

    assert gather((call([np.zeros(1), 2]),), answer).observations[0].changed == (0,)
    nan = float("nan")
    assert gather((call(nan, "a", None),), lambda *args: 1).observations[0].changed == ()


def test_a_function_given_by_the_judge_is_counted():
    remote = Remote(lambda x: 10 * x, calls=3)
    seen = gather((call(remote, np.ones(1)),), lambda f, x: f(x)).observations[0]
    assert seen.returned.value.tolist() == [10.0]

    def greedy(f, x):
        while True:
            f(x)

    raised = gather((call(remote, np.ones(1)),), greedy).observations[0].raised
    assert raised.types[0] == "TooManyCalls" and "more than 3 times" in raised.text


def test_a_class_is_asked_for_as_a_class():
    assert gather((), 3, "class").problem == "not callable"
    assert gather((), len, "class").problem == "not a class"


def test_parameters_are_read_from_functions_only():
    assert gather((call(1),), lambda a, b=2: a).parameters == ("a", "b")
    assert gather((call(1),), int).parameters == ()


def test_a_library_that_was_never_loaded_was_never_called():
    assert not gather((call(1.0),), lambda x: x, "function", "no.such.module.function").library


def test_the_stream_that_swallows_text_is_a_stream():
    silence = evidence.Silence()
    assert silence.write("abc") == 3 and silence.write(b"abc") == 0 and not silence.isatty()
    silence.flush()


# ---------------------------------------------------------------- evidence as bytes


def test_evidence_survives_as_bytes():
    values = [
        None, True, 3, -(10**40), 2.5, float("inf"), 1j, Fraction(-1, 3), "text", (1, "a"), [1.0], {"k": (2,)},
    ]  # fmt: skip
    for value in values:
        assert from_bytes(to_bytes(value)) == value
    for array in (np.arange(6).reshape(2, 3), np.zeros((0, 4)), np.array(1.5), np.array([True]), np.array([1 + 2j])):
        back = from_bytes(to_bytes(array))
        assert back.dtype == array.dtype and back.shape == array.shape and back.tobytes() == array.tobytes()
    scalar = from_bytes(to_bytes(np.float32(1.5)))
    assert type(scalar) is np.float32 and scalar == 1.5
    assert from_bytes(to_bytes(np.asfortranarray(np.arange(6.0).reshape(2, 3)))).flags.f_contiguous
    raised = Raised(("ValueError",), "no", 3, "cell", 1)
    whole = Evidence(
        (Observation(Seen("float", "float", 2.0)), Observation(None, raised, (1,), ("w",))), None, "", ("x",)
    )
    assert from_bytes(to_bytes(whole)) == whole


def test_only_plain_data_travels():
    for thing in (object(), {1, 2}, LyingInteger(3), lambda: 1):
        with pytest.raises(TypeError, match="does not travel"):
            to_bytes(thing)


@pytest.mark.parametrize(
    "head",
    [
        b"", b"{", b"[1]", b"1", b'{"unknown":1}', b'{"array":["O",[1],8]}', b'{"array":["<f8",[1],800]}',
        b'{"tuple":[1]}', b'{"array":["<f8",[1],800,false]}', b'{"array":["<f8",[-1],8,false]}',
        b'{"array":["<f8",[1,2],8,false]}', b'{"array":["<f8",[-1],-8]}', b'{"int":"x"}', b'{"tuple":1}',
        b'{"int":"1","a":2}',
        b'{"Seen":[1]}', b'{"fraction":["1","0"]}', b'{"array":["<f8",[1180591620717411303424],8]}',
        b'{"tuple":' * 5000 + b"1" + b"}" * 5000,
    ],
)  # fmt: skip
def test_foreign_bytes_are_refused(head):
    with pytest.raises(ValueError, match="are not evidence"):
        from_bytes(len(head).to_bytes(8, "big") + head + b"12345678")


def test_mutated_bytes_never_do_more_than_fail():
    rng = np.random.default_rng(0)
    good = to_bytes(Evidence((Observation(Seen("array", "ndarray", np.arange(4.0), "float64", (4,))),)))
    for _ in range(500):
        bad = bytearray(good)
        for position in rng.integers(0, len(bad), size=3):
            bad[position] = rng.integers(0, 256)
        try:
            from_bytes(bytes(bad))
        except ValueError:
            continue


def test_numbers_that_json_would_accept_by_accident_are_refused():
    head = json.dumps(float("nan")).encode()
    with pytest.raises(ValueError):
        from_bytes(len(head).to_bytes(8, "big") + head)
