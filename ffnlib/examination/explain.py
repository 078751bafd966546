"""Why an answer is wrong: each explanation returns name, cause and next step, or None. The judge asks, cheapest first.

A cause is told only when a wrong program gives the answer's results on every call, or when what was seen says it.
"""

from __future__ import annotations

import itertools
import time
from dataclasses import replace

import numpy as np

from ffnlib.examination import known_errors, slips
from ffnlib.examination.compare import difference
from ffnlib.examination.evidence import Evidence
from ffnlib.examination.exercise import Array, Exercise, Indices, Parts, Record, Truth
from ffnlib.examination.forms import NOTHING, Complaint, Reading
from ffnlib.examination.trials import LOW_PRECISION, Trial, both_empty, outcome, put_to_trial, said, tolerance_for

LOOSE = 2e-3  # relative: numbers that agree so far are the right ones in a low precision
SHAPE_ERRORS = ("ValueError", "RuntimeError", "IndexError", "TypeError", "AxisError")  # what a wrong layout raises
MODIFIES_INPUT = "modifies its input"
SEARCH_SECONDS = 0.4  # of work at most, however busy the machine, for explanations that nobody listed


def complained(trials: list[Trial]) -> Complaint | None:
    """Return the first complaint about a form; None that comes back from some calls only is told as such."""
    complaints = [trial.reading.complaint for trial in trials if trial.reading]
    first = next((complaint for complaint in complaints if complaint), None)
    if first is not NOTHING or all(complaint is NOTHING for complaint in complaints):
        return first
    because = f"{complaints.count(NOTHING)} of {len(trials)} calls end without a result: None comes back"
    return Complaint(NOTHING.name, because, "which way through the answer has no return at its end?")


def right_in_a_wrong_form(exercise: Exercise, trials: list[Trial], complaint: Complaint | None):
    """Name a wrong form when the numbers are the right ones as far as that form can carry them."""
    if complaint is None:
        return None
    for trial in trials:
        if trial.expected is None and trial.difference is None:
            continue  # an error was asked for, and raised
        if trial.reading is None or trial.expected is None or trial.reading.value is None:
            return None
        if difference(trial.reading.value, trial.expected.value, LOOSE):
            return None
    return complaint.name, complaint.because, complaint.next


def kept_between_calls(exercise: Exercise, trials: list[Trial]):
    """Name an answer that remembers its arguments, or changes from call to call."""
    if len(trials) < 3 or exercise.wanted != "function" or trials[2].args is not trials[0].args:
        return None
    first, second, third = [trial.reading.value if trial.reading else None for trial in trials[:3]]
    if first is None or second is None:
        return None
    if third is None or _differ(exercise, first, third):
        because = "two calls with the same arguments gave different results: something is kept, or drawn, between calls"
        return "changes between calls", because, "look for a global, a counter, or random numbers in the answer"
    if trials[1].difference and not trials[0].difference and not _differ(exercise, first, second):
        because = "the same array object came back with other numbers in it, and the answer returned the old result"
        return "remembers old results", because, "compute from the arguments every time; look for a cache or a global"
    return None


def one_of_several(exercise: Exercise, trials: list[Trial]):
    """Name a tuple or list of several results where one is asked for, and the one among them that is right."""
    answered = [trial for trial in trials if trial.observation.returned]
    seen = [trial.observation.returned for trial in answered]
    if isinstance(exercise.returns, (Parts, Record)) or not seen or any(s.kind not in ("tuple", "list") for s in seen):
        return None
    parts = {len(s.value) for s in seen}
    if len(parts) > 1 or not 1 < min(parts) < 5:
        return None
    for place in range(min(parts)):
        if all(_right_part(exercise, trial, place) for trial in answered):
            because = f"{min(parts)} results come back together, and [{place}] of them is right in every call"
            return "several for one", because, "return that one alone"
    if isinstance(exercise.returns, Array) and all(_tuple_of_arrays(trial) for trial in answered):
        because = f"a tuple of {min(parts)} arrays comes back, and one array is asked for"
        return "several for one", because, "which of them is asked for? return that one alone"
    return None


def _right_part(exercise: Exercise, trial: Trial, place: int) -> bool:
    seen = replace(trial.observation, returned=trial.observation.returned.value[place])
    alone = put_to_trial(exercise, trial.args, seen)
    return alone.difference is None and not alone.reading.complaint


def _tuple_of_arrays(trial: Trial) -> bool:
    """Return whether a tuple of arrays came back that cannot be meant as the rows of the result."""
    seen, right = trial.observation.returned, trial.expected
    arrays = seen.kind == "tuple" and all(part.kind == "array" and part.shape for part in seen.value)
    rows = right is not None and right.value.shape == (len(seen.value), *seen.value[0].shape)
    return arrays and not rows


def nothing_computed(exercise: Exercise, trials: list[Trial]):
    """Name an answer that returns nothing but zeros, or one of its arguments as it came."""
    values = [trial.reading.value if trial.reading else None for trial in trials]
    if not all(isinstance(value, np.ndarray) for value in values) or not any(value.size for value in values):
        return None
    if not any(value.any() for value in values):
        because = "every number of the result is 0, on every call"
        return "only zeros", because, "is the result filled after it is made, and is the filled one returned?"
    for position, name in enumerate(exercise.parameters()):
        given = [trial.args[position] for trial in trials]
        if all(_same_array(value, argument) for value, argument in zip(values, given)):
            return f"{name} unchanged", f"{name} comes back as it was given", "which line computes the result?"
    return None


def _same_array(value: np.ndarray, argument) -> bool:
    plain = isinstance(argument, (np.ndarray, int, float)) and not isinstance(argument, bool)
    return plain and np.array_equal(value, np.asarray(argument, dtype=np.float64), equal_nan=True)


def refused(wrong: list[Trial]):
    """Name what an exercise with several right values refuses in the first wrong one."""
    complaint = wrong[0].difference.complaint
    return (complaint.name, complaint.because, complaint.next) if complaint else None


def constant(trials: list[Trial]):
    """Name an answer that returns the same numbers whatever it is asked, where the right ones change."""
    values = [trial.reading.value if trial.reading else None for trial in trials]
    right = [trial.expected.value if trial.expected else None for trial in trials]
    return _the_same_always(values, right, "")


def constant_part(exercise: Exercise, trials: list[Trial]):
    """Name the one of several results that is the same on every call, where the right ones change."""
    answered = [trial for trial in trials if trial.reading and trial.expected]
    if not isinstance(exercise.returns, Parts):
        return None
    for place, name in enumerate(exercise.returns.names):
        values = [trial.reading.value[place] for trial in answered]
        right = [trial.expected.value[place] for trial in answered]
        named = _the_same_always(values, right, f"in {name}: ")
        if named:
            return named
    return None


def _the_same_always(values: list, right: list, where: str):
    if len(values) < 3 or not all(_same_numbers(value, values[0]) for value in values):
        return None
    if all(_same_numbers(value, right[0]) for value in right):
        return None
    numbers = "numbers come" if np.ndim(values[0]) else "number comes"
    because = f"{where}the same {numbers} back for every call, whatever the arguments are"
    return "same numbers always", because, "compute the result from the arguments"


def _same_numbers(left, right) -> bool:
    numbers = (np.ndarray, int, float)
    plain = all(isinstance(value, numbers) and not isinstance(value, bool) for value in (left, right))
    if plain and np.ndim(left) == np.ndim(right) == 0:
        return bool(left == right or (left != left and right != right))  # an integer may be larger than NumPy's
    return plain and np.size(left) > 0 and np.array_equal(left, right, equal_nan=True)


def missing_error(wrong: list[Trial]):
    """Name an answer that is right wherever there is a result, and does not raise the error that is asked for."""
    asked, raised = wrong[0].expected_error.types[0], wrong[0].observation.raised
    if raised:
        because = f"{raised.types[0]} is raised where {asked} is asked for, and every other call is right"
        return "another error raised", because, f"raise {asked} there"
    because = f"{wrong[0].difference.words}, and every other call is right"
    return "no error raised", because, "which argument makes the question meaningless? raise the error there"


def refuses_too_much(trials: list[Trial]):
    """Name an answer that is right but for raising the error that is asked for where a result is asked for."""
    asked = {trial.expected_error.types[0] for trial in trials if trial.expected_error}
    raised = [trial.observation.raised for trial in trials if trial.difference and not trial.expected_error]
    right = [trial for trial in trials if not trial.difference and not trial.expected_error]
    accepted = [trial for trial in trials if trial.difference and trial.expected_error]
    if not asked or not raised or (accepted and right) or known_errors.explained(raised):
        return None
    if any(not error or error.types[0] not in asked or _about_shapes(error.text) for error in raised):
        return None
    besides = "and every other call is right" if right else "in every call"
    besides = "and not for those that have none" if accepted else besides
    because = f"{raised[0].types[0]} is raised for arguments that have an answer, {besides}"
    return "refuses too much", because, "which condition raises it? it should hold for the meaningless case only"


def _about_shapes(text: str) -> bool:
    return any(word in text for word in ("shape", "dimension", "broadcast", "mismatch", "size"))


def _differ(exercise: Exercise, left, right) -> bool:
    try:
        return difference(left, right, exercise.tolerance) is not None
    except (TypeError, ValueError):  # two results of different kinds
        return True


def listed(exercise: Exercise, trials: list[Trial]):
    """Name the listed misconception whose program gives these results on every call."""
    for misconception in exercise.misconceptions:
        if _matches(exercise, misconception.program, trials, same_error=True):
            return misconception.name, _exactly(misconception.because), misconception.next
    return None


def listed_where_nothing_is_raised(exercise: Exercise, trials: list[Trial]):
    """Name the listed misconception of an answer that besides raises on fewer than half of the calls, and the error."""
    calm = [trial for trial in trials if trial.expected_error or not trial.observation.raised]
    raised = [trial.observation.raised for trial in trials if trial.observation.raised and not trial.expected_error]
    if not raised or len(calm) <= len(raised) or not any(trial.difference for trial in calm):
        return None, None
    known = known_errors.explained(raised)
    besides = f"besides, another call raises {raised[0].types[0]}: {known[1] if known else raised[0].text}"
    return listed(exercise, calm), besides


def _exactly(because: str) -> str:
    return f"this is exactly what comes out when {because}"


def _matches(exercise: Exercise, program, trials: list[Trial], same_error: bool = False) -> bool:
    """Return whether a wrong program agrees with every call, and with at least one wrong number among them.

    With `same_error`, errors that all have the same type and text tell as much as a wrong number.
    """
    told, errors = False, []
    for trial in sorted(trials, key=lambda t: t.difference is None):
        reading, error = outcome(exercise, program, trial.args)
        raised = trial.observation.raised
        if error or raised:
            if bool(error) != bool(raised):
                return False
            if trial.difference is not None:
                errors.append(said(error) == said(raised))
            continue
        if reading.value is None or trial.reading.value is None:
            if not _same_complaint(reading, trial.reading):
                return False
            continue
        if both_empty(trial.observation.returned, trial.reading.value, reading.value):
            continue
        left, right = _untied(exercise, trial.args, trial.reading.value, reading.value)
        if difference(left, right, tolerance_for(exercise, trial.reading)):
            return False
        told = told or trial.difference is not None
    return told or (same_error and bool(errors) and all(errors))


def _untied(exercise: Exercise, args: tuple, left, right) -> tuple:
    """Return two results without their order where rows are tied: two sorts may break a tie in different ways."""
    ties = getattr(exercise.returns, "ties", None)
    if ties is None or len(np.unique(ties(*args))) == len(ties(*args)):
        return left, right
    return tuple(np.sort(rows) if rows.ndim else rows for rows in (left, right))


def _same_complaint(left: Reading, right: Reading) -> bool:
    """Return whether neither value could be read, for the same reason."""
    unread = left.value is None and right.value is None
    return unread and left.complaint is not None and left.complaint == right.complaint


def order_of_arguments(exercise: Exercise, evidence: Evidence):
    """Name arguments that stand in another order than the one asked for."""
    names, asked = evidence.parameters, exercise.parameters()
    if exercise.wanted == "function" and names != asked and sorted(names) == sorted(asked):
        because = f"the definition takes ({', '.join(names)}), and it is called with ({', '.join(asked)}) in this order"
        return "arguments in another order", because, f"define it as {exercise.call_text()}"
    return None


def form_of_arguments(exercise: Exercise, wrong: list[Trial]):
    """Name a call that the definition does not allow, and errors about the answer's own calls."""
    first = wrong[0].observation.raised
    if (
        first
        and first.types[0] == "TypeError"
        and not first.depth
        and ("positional argument" in first.text or "takes no arguments" in first.text)
    ):
        because = f"it is called as {exercise.call_text()}, and its definition does not allow that"
        return "wrong number of arguments", because, f"define it as {exercise.call_text()}"
    if first and first.types[0] == "NotImplementedError" and " not implemented for " in first.text:
        because = f"a function of PyTorch does not serve this type of numbers: {first.text}"
        step = "an argument may hold whole numbers: turn it into float64 first"
        return "a type PyTorch does not serve", because, step
    if first and first.types[0] == "NotImplementedError":
        because = "the answer calls a function whose own body is not written yet: it raises NotImplementedError"
        return "calls an unwritten function", because, "write that function and run its cell first, or do without it"
    if first and first.types[0] == "RecursionError":
        return "endless recursion", "the answer calls itself without an end", "which case should stop it?"
    return None


def order_of_rows(exercise: Exercise, wrong: list[Trial]):
    """Name a result that names the right rows in another order."""
    if not isinstance(exercise.returns, Indices) or not all(_same_rows(trial) for trial in wrong):
        return None
    because = "the right rows are named in every call, in another order than the one asked for"
    return "another order", because, "by what are the rows to be sorted, and in which direction?"


def _same_rows(trial: Trial) -> bool:
    got, expected = (reading.value if reading else None for reading in (trial.reading, trial.expected))
    return got is not None and got.shape == expected.shape and np.array_equal(np.sort(got), np.sort(expected))


LEFT_IN_A_LOOP = "is there a return inside the loop? it ends the loop at its first turn"
LOOPS = (
    ("the first is right, and all others are 0", LEFT_IN_A_LOOP),
    ("all are right but the last, which is 0", "does the range end too early? range(n) ends at n - 1 by itself"),
    ("all are right but the first, which is 0", "does the range begin too late? range(n) begins at 0"),
    ("the last is right, and all others are 0", "is the result made anew inside the loop? make it once, before it"),
    ("only the first comes back", LEFT_IN_A_LOOP),
    ("only the last comes back", "is each of them kept? append it, or fill an array made before the loop"),
)


def loop_left_early(wrong: list[Trial]):
    """Name a result of which one row is missing, or all but one, as when a loop ends too early or begins too late."""
    fits = {_filled(trial) for trial in wrong} - {None}
    if 2 * sum(_filled(trial) is not None for trial in wrong) <= len(wrong):
        return None
    for place, (because, step) in enumerate(LOOPS):
        if all(each[place] for each in fits):
            return "a part is missing", f"of several rows or numbers {because}, in every call that has several", step
    return None


def _filled(trial: Trial) -> tuple[bool, ...] | None:
    """Return which of the sentences about loops hold for a result; None where it does not have several rows."""
    got, right = (trial.reading or Reading()).value, (trial.expected or Reading()).value
    if not all(isinstance(value, np.ndarray) for value in (got, right)) or not right.ndim or len(right) < 2:
        return None
    if got.shape == right.shape:
        agree = [difference(a, b, LOW_PRECISION) is None for a, b in zip(got, right)]
        empty = [not np.any(row) for row in got]
        if all(agree):  # what goes wrong is smaller than a row that is missing
            return (False,) * len(LOOPS)
        first, last = agree[0] and all(empty[1:]), agree[-1] and all(empty[:-1])
        return first, all(agree[:-1]) and empty[-1], empty[0] and all(agree[1:]), last, False, False
    ends = (right[:1], right[-1:])
    alone = [
        any(difference(got, row, LOW_PRECISION) is None for row in (end, end.reshape(end.shape[1:]))) for end in ends
    ]
    return (False, False, False, False, *alone)


def neighbouring_shape(wrong: list[Trial]):
    """Name a result, or a part of one, that has the right numbers in a neighbouring shape."""
    shapes = [_two_shapes(*_got_and_expected(trial)) for trial in wrong]
    if not all(shapes):
        return None
    got, expected = shapes[0]
    if len(got) == 2 and len(expected) == 1:
        return (
            "a column for a vector",
            f"the numbers are right, in shape {got} where {expected} is asked for",
            "look for keepdims=True, [:, None] or reshape",
        )
    return (
        "another shape",
        f"the numbers are right, in shape {got} where {expected} is asked for",
        "bring the result into the shape asked for",
    )


def _two_shapes(got, expected) -> tuple | None:
    """Return the shapes of two results, or of their first parts in different shapes, None when the numbers differ."""
    found = None
    for a, b in zip(got, expected) if isinstance(expected, tuple) and isinstance(got, tuple) else ((got, expected),):
        arrays = isinstance(a, np.ndarray) and isinstance(b, np.ndarray)
        if arrays and a.shape != b.shape and a.size == b.size:
            found = found or (a.shape, b.shape)
            a = a.reshape(b.shape)
        if a is None or b is None or difference(a, b, 1e-9):
            return None
    return found


def searched(exercise: Exercise, trials: list[Trial]):
    """Name a slip nobody listed: the fewest small edits that give these results.

    Edits that fit equally well and say different things are not guessed at (two explanations of a count are both told),
    and a yes or no says too little to be searched for. Where most calls raise, the few numbers allow one edit only.
    """
    if isinstance(exercise.returns, Truth):
        return None
    if any(trial.observation.raised and trial.observation.raised.types[0] not in SHAPE_ERRORS for trial in trials):
        return None
    deadline = time.thread_time() + SEARCH_SECONDS
    errors = [bool(trial.observation.raised) for trial in trials if trial.difference]
    tiers = itertools.islice(slips.tiers(exercise), 1 if 2 * sum(errors) > len(errors) else None)
    wrong = next((t for t in trials if t.difference and t.reading and t.reading.value is not None), None)
    for tier in tiers:
        found = []
        for candidate in tier:
            if time.thread_time() > deadline:
                break
            if exercise.grammar and wrong and not slips.plausible(candidate, wrong.args, wrong.reading.value):
                continue
            if _matches(exercise, candidate.program, trials):
                found.append(candidate)
                if not slips.explains_count(candidate):
                    break
        causes = list(dict.fromkeys(candidate.because for candidate in found))
        if len(causes) == 1:
            return found[0].name, _exactly(found[0].because), found[0].next
        if len(causes) == 2:
            either = f"{_exactly(causes[0])}; the same comes out when {causes[1]}"
            return f"{causes[0]}; or {causes[1]}", either, found[0].next
        if found or time.thread_time() > deadline:
            return None
    return None


def cut_off(wrong: list[Trial]):
    """Name results that are right but for the digits missing at their end, in every call that goes wrong."""
    pairs = [tuple(map(_flat, _got_and_expected(trial))) for trial in wrong]
    if any(got is None or expected is None or got.shape != expected.shape for got, expected in pairs):
        return None
    if not any(got.any() for got, _ in pairs):  # nothing but zeros: the numbers were small, or are missing
        return None
    if all(_same_digits(got, np.trunc(expected)) for got, expected in pairs):
        because = "in every call that goes wrong the fractions are cut off"
        step = "look for int(...), // and dtype=int; np.zeros_like(x) of whole numbers makes whole numbers"
        return "fractions cut off", because, step
    for digits in range(9):
        if all(_same_digits(got, np.round(expected, digits)) for got, expected in pairs):
            places = "whole numbers" if not digits else "1 digit" if digits == 1 else f"{digits} digits"
            because = _exactly(f"the result is rounded to {places}")
            return f"rounded to {places}", because, "return the unrounded numbers"
    return None


def _nearly(trial: Trial) -> bool:
    got, expected = map(_flat, _got_and_expected(trial))
    alike = got is not None and expected is not None and got.shape == expected.shape
    return alike and np.allclose(got, expected, rtol=1e-5, atol=1e-5)


def _got_and_expected(trial: Trial) -> tuple:
    return tuple((reading or Reading()).value for reading in (trial.reading, trial.expected))


def _flat(value) -> np.ndarray | None:
    """Return all numbers of a result in one row, None when it has none."""
    parts = value if isinstance(value, tuple) else (value,)
    if not all(isinstance(part, (np.ndarray, float, int)) for part in parts):
        return None
    return np.concatenate([np.ravel(np.asarray(part, dtype=np.float64)) for part in parts])


def _same_digits(left: np.ndarray, right: np.ndarray) -> bool:
    return np.allclose(left, right, rtol=1e-12, atol=1e-12, equal_nan=True)


def overflowed(wrong: list[Trial]):
    """Name an exponential that overflows in every call that goes wrong, and leaves no number there."""
    if not all(any("overflow encountered in exp" in text for text in trial.observation.warned) for trial in wrong):
        return None
    if not all(_lost_numbers(trial) for trial in wrong):
        return None
    because = "exp overflows in every call that goes wrong: of a large number it is inf, and inf / inf is nan"
    step = "subtract the largest number before exp, or use a formula whose exponential cannot overflow"
    return "overflow", because, step


def _lost_numbers(trial: Trial) -> bool:
    got, expected = _got_and_expected(trial)
    numbers = (np.ndarray, float)
    finite = isinstance(expected, numbers) and bool(np.isfinite(expected).all())
    return finite and isinstance(got, numbers) and not np.isfinite(got).all()


def number_of_axes(exercise: Exercise, trials: list[Trial]):
    """Name an answer that is right exactly where an argument has a certain number of axes."""
    for position, name in enumerate(exercise.parameters()):
        if not all(isinstance(trial.args[position], np.ndarray) for trial in trials):
            continue
        right = {trial.args[position].ndim for trial in trials if not trial.difference}
        wrong = {trial.args[position].ndim for trial in trials if trial.difference}
        if len(right) == 1 and not right & wrong:
            axes = f"{min(right)} {'axis' if right == {1} else 'axes'}"
            because = f"every call in which {name} has {axes} is right, and no other call is"
            step = "axis=-1 is the last axis whatever comes before it, [..., None] adds one behind"
            return "a fixed number of axes", because, step
    return None


def changed_input(exercise: Exercise, changed: list[Trial]):
    """Name an answer that writes into an argument, by the first of the calls in which it does."""
    if not changed:
        return None
    names, position = exercise.parameters(), changed[0].observation.changed[0]
    name = names[position] if position < len(names) else f"argument {position}"
    because = f"{name} holds other values after the call: the answer writes into its input"
    step = "look for +=, *=, out=, sort() or an index assignment on an input; work on a copy"
    return MODIFIES_INPUT, because, step


def what_is_known(exercise: Exercise, trials: list[Trial], shown: Trial):
    """Say what is known when no wrong program fits: never a guess."""
    right = [trial for trial in trials if trial.difference is None]
    kind = shown.difference.kind
    if kind == "raised":
        known = f"{len(right)} of {len(trials)} calls are right" if right else ""
        return ("known", known), ("next", "read the error: which line, and which shapes or types meet there?")
    if kind == "not raised":
        return (("next", "which argument makes the question meaningless? raise the error there"),)
    if kind == "shape":
        return (("next", "write the shape of every intermediate result beside its line"),)
    if all(_nearly(trial) for trial in trials if trial.difference):
        known = "every number is right to 1 part in 100,000"
        step = "look for float32 on the way, for a constant that is rounded, and for a small number that is added"
        return ("known", known), ("next", step)
    if len(right) > len(trials) // 3:
        known = f"{len(right)} of {len(trials)} calls are right"  # the first wrong one stands under "called"
        step = "what is special about the call that goes wrong, compared with those that are right?"
        return ("known", known), ("next", step)
    return (("next", f"compute the first number by hand and compare; hint({exercise.id!r}) says where to look"),)
