"""What is accepted with a friendly note, and what is rejected kindly, by name: one test each."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from ffnlib.examination.exercise import call
from tests.examination.asking import COUNT, INDICES, NUMBER, PAIR, RECORD, TRUTH, made_up, verdict_on


def integer_probes(rng):
    return (call(rng.integers(1, 9, size=4)), call(rng.integers(-9, -1, size=(2, 2))))


INTEGERS = made_up(probes=integer_probes)
COUNT_OF_ONE = made_up(oracle=lambda a, b: 1, returns=COUNT.returns, probes=COUNT.probes, misconceptions=())


def accepted(answer, exercise=None, note=None):
    verdict = verdict_on(answer, exercise)
    assert verdict.passed, verdict.message
    if note:
        assert note in verdict.message
    return verdict


def rejected(answer, name, exercise=None, says=""):
    verdict = verdict_on(answer, exercise)
    assert verdict.status == "not-yet"
    assert verdict.misconception == name, verdict.message
    assert says in verdict.message
    return verdict


# ---------------------------------------------------------------- accepted with a friendly note


def test_nested_lists_of_the_right_numbers_are_accepted():
    accepted(lambda x: (2 * x).tolist(), note="a list of numbers was read as an array")


def test_a_list_of_row_arrays_is_accepted():
    accepted(lambda x: list(2 * x))


def test_float64_tensors_are_accepted():
    torch = pytest.importorskip("torch")
    accepted(lambda x: torch.tensor(2 * x), note="a torch tensor was read as an array")


def test_tensors_that_require_grad_are_accepted():
    torch = pytest.importorskip("torch")
    accepted(lambda x: torch.tensor(2 * x, requires_grad=True) * 1)


def test_masked_arrays_with_nothing_masked_are_accepted():
    accepted(lambda x: np.ma.masked_array(2 * x), note="nothing was masked")


def test_longdouble_is_accepted():
    accepted(lambda x: (2 * x).astype(np.longdouble))


def test_integer_arrays_with_the_right_values_are_accepted():
    accepted(lambda x: 2 * x, INTEGERS)


def test_a_zero_dimensional_array_is_accepted_for_a_number():
    accepted(lambda x: np.array(x.sum()), NUMBER, note="was read as its one number")


def test_numpy_scalars_are_accepted_without_a_word():
    assert "note" not in accepted(lambda x: np.sum(x), NUMBER).message


def test_whole_floats_are_accepted_for_a_count():
    accepted(lambda a, b: float(a * b + 1), COUNT, note="a float with a whole value was read as an integer")


def test_whole_fractions_are_accepted_for_a_count():
    accepted(lambda a, b: Fraction(a * b + 1), COUNT, note="Fraction")


def test_arrays_with_one_element_are_accepted_for_a_count():
    accepted(lambda a, b: np.array([a * b + 1]), COUNT)


def test_lists_with_one_number_are_accepted_for_a_count():
    accepted(lambda a, b: [a * b + 1], COUNT)


@pytest.mark.parametrize("form", [bool, np.bool_, int, float, lambda t: np.array(t), lambda t: np.array([t])])
def test_every_form_of_a_truth_value_is_accepted(form):
    accepted(lambda a: form(a > 3), TRUTH)


def test_negative_row_numbers_that_name_the_right_rows_are_accepted():
    accepted(lambda h: np.flatnonzero(h > 0) - len(h), INDICES)


def test_row_numbers_as_a_list_or_as_whole_floats_are_accepted():
    accepted(lambda h: [int(i) for i in np.flatnonzero(h > 0)], INDICES)
    accepted(lambda h: np.flatnonzero(h > 0).astype(float), INDICES)


def test_warnings_are_shown_and_decide_nothing():
    import warnings

    def answer(x):
        warnings.warn("be careful", stacklevel=1)
        return 2 * x

    accepted(answer, note="on the way: UserWarning: be careful")


def test_a_view_of_a_buffer_that_is_used_again_is_accepted():
    buffers = {}

    def answer(x):
        buffer = buffers.setdefault(x.shape, np.empty(x.shape))
        np.multiply(x, 2, out=buffer)
        return buffer[:]

    accepted(answer)


def test_extra_optional_parameters_are_accepted():
    accepted(lambda x, factor=2, *rest, **options: factor * x)


def test_parts_in_a_list_are_accepted():
    accepted(lambda x: [2 * x, x.sum()], PAIR)


def test_a_fortran_ordered_or_read_only_result_is_accepted():
    def answer(x):
        result = np.asfortranarray(2 * x)
        result.flags.writeable = False
        return result

    accepted(answer)


def test_what_is_printed_is_swallowed(capsys):
    accepted(lambda x: print("noise") or 2 * x)
    assert capsys.readouterr().out == ""


# ---------------------------------------------------------------- rejected kindly, by name


def test_a_matrix_is_named():
    rejected(lambda x: np.matrix(2 * x), "matrix")


def test_numbers_as_text_are_named():
    rejected(lambda x: np.array([str(v) for v in np.ravel(2 * x)]), "text")
    rejected(lambda a, b: str(a * b + 1), "text", COUNT)
    rejected(lambda a: "True", "text", TRUTH)


def test_float32_is_named():
    rejected(lambda x: (2 * x).astype(np.float32), "float32", says="the numbers are float32")
    rejected(lambda x: np.float32(x.sum()), "float32", NUMBER)


def test_float32_is_named_for_integer_input_too():
    rejected(lambda x: (2 * x).astype(np.float32), "float32", INTEGERS)


def test_a_mistake_in_float32_is_named_with_a_note_on_the_precision():
    rejected(lambda x: (3 * x).astype(np.float32), "tripled", says="and the numbers are float32")


def test_half_precision_is_named_as_what_it_is():
    rejected(lambda x: (2 * x).astype(np.float16), "float32", says="float16")


def test_a_bfloat16_tensor_is_named():
    torch = pytest.importorskip("torch")
    rejected(lambda x: torch.tensor(2 * x).to(torch.bfloat16), "float32", says="bfloat16")


def test_a_tuple_around_the_array_is_named():
    rejected(lambda x: (2 * x,), "tuple around")
    rejected(lambda x: (x.sum(),), "tuple around", NUMBER)
    rejected(lambda h: np.nonzero(h > 0), "tuple around", INDICES)


def test_a_column_for_a_vector_is_named():
    exercise = made_up(probes=lambda rng: _vectors(rng))
    rejected(lambda x: (2 * x)[:, None], "a column for a vector", exercise)


def _vectors(rng):
    return (call(rng.normal(size=4) + 3), call(rng.normal(size=6) - 3))


def test_a_truth_value_for_a_count_is_named():
    exercise = made_up(oracle=lambda a, b: 1, returns=COUNT.returns, probes=COUNT.probes, misconceptions=())
    rejected(lambda a, b: True, "booleans", exercise)


def test_objects_are_named():
    rejected(lambda x: np.array(list(2 * x), dtype=object), "object dtype")


def test_complex_numbers_are_named():
    rejected(lambda x: 2 * x + 0j, "complex")
    rejected(lambda x: complex(x.sum()), "complex", NUMBER)
    rejected(lambda a, b: complex(a * b + 1), "complex", COUNT)


def test_masked_values_are_named():
    rejected(lambda x: np.ma.masked_greater(2 * x, -1e9), "masked")


def test_a_mask_for_row_numbers_is_named():
    rejected(lambda h: h > 0, "mask for indices", INDICES)
    rejected(lambda h: (h > 0).tolist(), "mask for indices", INDICES)


def test_values_for_row_numbers_are_named():
    rejected(lambda h: h[h > 0] + 0.5, "not row numbers", INDICES)


def test_arguments_in_another_order_are_named():
    exercise = made_up(
        oracle=lambda x, W: x @ W,
        probes=lambda rng: _products(rng),
        misconceptions=(),
    )
    rejected(lambda W, x: x @ W, "arguments in another order", exercise, says="(W, x)")


def _products(rng):
    return (
        call(rng.normal(size=(2, 3)), rng.normal(size=(3, 4))),
        call(rng.normal(size=(3, 3)), rng.normal(size=(3, 3))),
    )


def test_calling_the_function_that_is_asked_for_is_named():
    import ffnlib.layer

    exercise = made_up(oracle=lambda x: np.maximum(0, x), library="ffnlib.layer.relu", misconceptions=())
    rejected(ffnlib.layer.relu, "library call", exercise, says="ffnlib.layer.relu")
    rejected(lambda x: ffnlib.layer.relu(x) * 1.0, "library call", exercise)
    accepted(lambda x: np.maximum(0, x), exercise)


def test_writing_into_an_input_is_named_although_the_numbers_are_right():
    def answer(x):
        x *= 2
        return x

    rejected(answer, "modifies its input", says="x holds other values after the call")


def test_writing_into_an_input_is_named_when_the_numbers_are_wrong_as_well():
    def answer(x):
        x += 17
        return np.cos(x)

    rejected(answer, "modifies its input")


def test_remembering_objects_instead_of_numbers_is_named():
    memory = {}

    def answer(x):
        if id(x) not in memory:
            memory[id(x)] = (x, 2 * x)
        return memory[id(x)][1]

    rejected(answer, "remembers old results")


def test_state_between_calls_is_named():
    calls = []

    def answer(x):
        calls.append(1)
        return 2 * x if len(calls) < 3 else 2 * x + 1

    rejected(answer, "changes between calls")


def test_random_answers_are_named():
    generator = np.random.default_rng(0)
    rejected(lambda x: generator.normal(size=x.shape), "changes between calls")


def test_wrong_parts_are_named():
    rejected(lambda x: 2 * x, "parts", PAIR)
    rejected(lambda x: (2 * x, x.sum(), 0), "parts", PAIR)
    rejected(lambda x: {"double": 2 * x}, "parts", PAIR)


def test_wrong_keys_are_named():
    rejected(lambda x: {"low": 1.0}, "keys", RECORD)
    rejected(lambda x: [1.0, 2.0], "not a dict", RECORD)
    accepted(lambda x: {"high": x.max(), "low": np.float64(x.min())}, RECORD)


def test_nothing_and_the_placeholder_are_named():
    rejected(lambda x: None, "nothing returned")
    rejected(lambda x: ..., "ellipsis")


def test_ragged_lists_and_unknown_types_are_named():
    rejected(lambda x: [[1.0, 2.0], [3.0]], "ragged list")
    rejected(lambda x: {1, 2}, "type", says="set")
    rejected(lambda x: (v for v in x), "type", says="generator")


def test_truth_values_for_numbers_are_named():
    rejected(lambda x: x > 0, "booleans")
    rejected(lambda x: True, "booleans", NUMBER)
    rejected(lambda a: 7, "not a truth value", TRUTH)


def test_an_array_where_one_number_is_asked_for_is_named():
    rejected(lambda x: x, "an array for a number", NUMBER)


# ---------------------------------------------------------------- not an answer at all


@pytest.mark.parametrize("thing", [None, 3, 2.5, "relu", np.zeros(3), [1], {}])
def test_a_value_where_a_function_is_asked_for_is_told_so(thing):
    verdict = verdict_on(thing)
    assert verdict.misconception == "not a function"
    assert "pass the function itself" in verdict.message


def test_the_placeholder_is_an_untouched_answer():
    assert verdict_on(...).status == "untouched"


def test_a_definition_with_too_few_parameters_is_told_so():
    rejected(lambda: 1, "wrong number of arguments", says="made_up(x)")


def test_endless_recursion_is_told_so():
    def answer(x):
        return answer(x)

    rejected(answer, "endless recursion")


def test_an_exception_is_shown_with_its_line():
    def answer(x):
        return {}["no such thing"]

    verdict = verdict_on(answer)
    assert "KeyError" in verdict.message and "of your code" in verdict.message
    assert verdict.misconception is None


def test_leaving_the_program_is_only_an_exception():
    def answer(x):
        raise SystemExit(3)

    assert "SystemExit" in verdict_on(answer).message


def test_a_wrong_answer_that_nothing_explains_gets_no_reason():
    verdict = verdict_on(lambda x: np.cos(x) + 0.123)
    assert verdict.misconception is None and "because" not in verdict.message


def test_an_answer_right_in_most_calls_is_told_which_call_is_wrong():
    rows = made_up(probes=lambda rng: (call(rng.normal(size=(4, 3)) + 3), call(rng.normal(size=(2, 3)) - 4)))
    verdict = verdict_on(lambda x: 2 * x if len(x) == 4 else 2.37 * x, rows)
    assert "3 of 4 calls are right" in verdict.message and "-" in verdict.message


def test_numbers_too_large_for_a_float_are_named():
    rejected(lambda x: 10**400, "too large")
    rejected(lambda x: 10**400, "too large", NUMBER)
    rejected(lambda a, b: 2**9000, "too large", COUNT_OF_ONE)


def test_a_single_number_is_an_array_without_axes():
    scalar = made_up(probes=lambda rng: (call(2.5), call(-1)))
    accepted(lambda x: 2 * x, scalar)
    rejected(lambda x: x > 0, "booleans", scalar)
    rejected(lambda x: complex(2 * x), "complex", scalar)
    rejected(lambda x: str(2 * x), "text", scalar)


def test_wrong_forms_of_one_number_are_named():
    rejected(lambda x: np.matrix([[x.sum()]]), "matrix", NUMBER)
    rejected(lambda x: np.array([str(x.sum())]), "text", NUMBER)
    rejected(lambda x: np.array(object()), "object dtype", NUMBER)
    rejected(lambda x: True, "booleans", NUMBER)
    rejected(lambda x: [x.sum(), 0.0], "several for one", NUMBER)


def test_wrong_forms_inside_a_list_are_named():
    rejected(lambda x: [str(v) for v in np.ravel(2 * x)], "text")
    rejected(lambda x: [v > 0 for v in np.ravel(2 * x)], "booleans")


def test_a_count_that_is_not_whole_or_not_finite_is_wrong():
    for wrong in (
        lambda a, b: a * b + 1.5,
        lambda a, b: float("nan"),
        lambda a, b: float("inf"),
        lambda a, b: Fraction(1, 3),
        lambda a, b: Fraction(2 * 10**400 + 1, 2),  # larger than any float
        lambda a, b: -Fraction(2 * 10**400 + 1, 2),
    ):
        assert verdict_on(wrong, COUNT).status == "not-yet"


def test_an_answer_whose_helper_is_not_written_yet_is_not_called_untouched():
    def helper(x):
        raise NotImplementedError

    rejected(lambda x: helper(x) * 2, "calls an unwritten function")


def test_a_function_of_torch_without_whole_numbers_is_not_called_unwritten():
    def gelu(x):
        raise NotImplementedError("\"GeluKernelImpl\" not implemented for 'Long'")

    rejected(lambda x: gelu(x) * 2, "a type PyTorch does not serve")


def test_writing_into_whole_numbers_in_place_is_explained_as_such():
    def in_place(x):
        x -= x.mean()
        return x

    exercise = made_up(probes=lambda rng: (call(rng.integers(-5, 6, size=(4, 5))),))
    verdict = verdict_on(in_place, exercise)
    assert "writes into a itself" in verdict.message and "a = a + ..." in verdict.message


def test_results_of_changing_kind_count_as_changing():
    kinds = iter([np.zeros(3), 1.0, "text", [1.0], np.zeros(5)])
    assert verdict_on(lambda x: next(kinds)).status == "not-yet"


def test_the_smallest_telling_call_is_shown_with_its_numbers():
    exercise = made_up(probes=lambda rng: (call(rng.normal(size=(4, 5))), call(np.array([1.5, -2.0]))))
    verdict = verdict_on(lambda x: -2 * x, exercise)
    assert "made_up(x) with x = [1.5, -2]" in verdict.message
    assert "[0]: -3, expected 3" in verdict.message
