"""Right or wrong, and why: the only place that decides.

`judge` is pure. It computes what the oracle and the wrong programs give for the same arguments, compares that with the
evidence and returns a Verdict. It never sees the answer itself.
"""

from __future__ import annotations

import itertools
import time
import warnings
from dataclasses import dataclass, replace

import numpy as np

from ffnlib.examination import evidence as gathering
from ffnlib.examination import known_errors, slips
from ffnlib.examination.compare import Difference, count_text, difference, number_text
from ffnlib.examination.evidence import Evidence, Observation, Raised
from ffnlib.examination.exercise import Exercise, Indices, Parts, Probe, Remote, Truth
from ffnlib.examination.forms import Complaint, Reading, read
from ffnlib.examination.verdict import BROKEN, NOT_YET, PASSED, UNTOUCHED, Verdict

LOOSE = 2e-3  # relative: numbers that agree so far are the right ones in a low precision
LOW_PRECISION = 2e-5  # relative: what float32 carries through a few sums
SHAPE_ERRORS = ("ValueError", "RuntimeError", "IndexError", "TypeError", "AxisError")  # what a wrong layout raises
MODIFIES_INPUT = "modifies its input"
NUMBERS_SHOWN = 8  # a call with at most so many numbers in all is shown with them, to be done by hand
SEARCH_SECONDS = 0.4  # of work at most, however busy the machine, for explanations that nobody listed


@dataclass(frozen=True)
class Trial:
    """One call: the arguments, what the oracle gives, what the answer gave, and how they differ (None: not at all)."""

    args: tuple
    expected: Reading | None
    expected_error: Raised | None
    observation: Observation
    reading: Reading | None
    difference: Difference | None


def draw(exercise: Exercise, seed: int) -> tuple[Probe, ...]:
    """Return the probes of an exercise for a seed, with the first one repeated in ways that find memory and state.

    The first probe is called three times: with its arguments, with new numbers in the same array objects, and with
    the first arguments again.
    """
    probes = tuple(exercise.probes(np.random.default_rng(seed)))
    first, others = probes[0], probes[1:]
    if first.action == "call" and len(first.calls) == 1:
        fresh = exercise.probes(np.random.default_rng(seed + 1))[0].calls[0]
        first = Probe(calls=(first.calls[0], fresh, first.calls[0]))
    return (first, *others)


def flatten(probes: tuple[Probe, ...]) -> list[tuple]:
    """Return the argument tuples of all calls, in the order of the observations."""
    return [
        args if probe.action == "call" else (*args, probe.weights, probe.inputs)
        for probe in probes
        for args in probe.calls
    ]


def judge(exercise: Exercise, probes: tuple[Probe, ...], evidence: Evidence) -> Verdict:
    """Return the verdict on one answer; where weights fit a module in several ways, the best of the verdicts."""
    verdicts = [_judge(exercise, probes, version) for version in _versions(evidence)]
    passed = [verdict for verdict in verdicts if verdict.passed]
    named = [verdict for verdict in verdicts if verdict.misconception]
    return (passed + named + verdicts)[0]


def _versions(evidence: Evidence) -> list[Evidence]:
    """Return the evidence once for every way in which weights were placed in a module, in all observations alike."""
    labels = [attempt[0] for attempt in _attempts(evidence.observations[0])] if evidence.observations else []
    return [replace(evidence, observations=_placed(evidence, label)) for label in labels] or [evidence]


def _attempts(seen: Observation) -> tuple:
    module = seen.returned is not None and seen.returned.kind == "module"
    return seen.returned.value.get("attempts", ()) if module else ()


def _placed(evidence: Evidence, label: str) -> tuple[Observation, ...]:
    chosen = []
    for seen in evidence.observations:
        attempts = tuple(attempt for attempt in _attempts(seen) if attempt[0] == label)
        if attempts:
            seen = replace(seen, returned=replace(seen.returned, value={**seen.returned.value, "attempts": attempts}))
        chosen.append(seen)
    return tuple(chosen)


def _judge(exercise: Exercise, probes: tuple[Probe, ...], evidence: Evidence) -> Verdict:
    early = _not_asked(exercise, evidence)
    if early is not None:
        return early
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        calls = flatten(probes)
        read_only = exercise.wanted == "value"
        observations = (Observation(evidence.answer),) if read_only else evidence.observations
        if len(observations) != len(calls):
            return Verdict(
                exercise.id, BROKEN, None, (("got", f"{len(observations)} observations of {len(calls)} calls"),)
            )
        trials = [_trial(exercise, args, seen) for args, seen in zip(calls, observations)]
        return _verdict(exercise, evidence, trials)


def _not_asked(exercise: Exercise, evidence: Evidence) -> Verdict | None:
    """Return the verdict on an answer that could not be tried, or None when it could."""
    answer, first = evidence.answer, evidence.observations[:1]
    if answer is not None and answer.kind == "ellipsis":
        return _untouched(exercise)
    if first and gathering.is_stub(first[0]):
        return _untouched(exercise)
    if evidence.problem:
        got = _answer_text(answer)
        class_name = exercise.call_text().split("(")[0]
        steps = {
            "function": f"pass the function itself, without calling it: check({exercise.id!r}, {exercise.id})",
            "class": f"pass the class itself, not an object made from it: check({exercise.id!r}, {class_name})",
        }
        because = f"a {exercise.wanted} is asked for, and this is not one"
        return _not_yet(
            exercise,
            f"not a {exercise.wanted}",
            (("got", got), ("because", because), ("next", steps[exercise.wanted])),
            (),
        )
    return None


def _answer_text(answer) -> str:
    if answer.kind == "array":
        return f"an array of shape {answer.shape}"
    if answer.kind in ("int", "float", "bool", "text"):
        return f"{answer.value!r} ({_a(answer.type)})"
    return "None" if answer.kind == "none" else _a(answer.type)


def _a(noun: str) -> str:
    return f"an {noun}" if noun[:1].lower() in "aeio" else f"a {noun}"


def _untouched(exercise: Exercise) -> Verdict:
    text = f"write your answer in the cell above, then run this check again; hint({exercise.id!r}) helps"
    return Verdict(exercise.id, UNTOUCHED, None, (("next", text),))


def _not_yet(exercise: Exercise, name: str | None, lines, private=("called", "got")) -> Verdict:
    return Verdict(exercise.id, NOT_YET, name, tuple(line for line in lines if line[1]), private)


# ---------------------------------------------------------------- one call


def outcome(exercise: Exercise, program, args: tuple) -> tuple[Reading | None, Raised | None]:
    """Return what a program of ours gives for the arguments: a reading, or what it raises."""
    given = tuple(arg.function if type(arg) is Remote else gathering.copy_plain(arg) for arg in args)
    try:
        return _normalised(exercise.returns, read(exercise.returns, gathering.take(program(*given))), args), None
    except Exception as error:
        return None, gathering.describe(error)


def _normalised(kind, reading: Reading, args: tuple) -> Reading:
    """Return the reading with negative row numbers counted from the start, and ties in the order of their rows."""
    if isinstance(kind, Indices) and reading.value is not None:
        rows = kind.length(*args)
        value = np.where(reading.value < 0, reading.value + rows, reading.value)
        value = in_row_order(value, kind.ties(*args)) if kind.ties else value
        return Reading(value, reading.notes, reading.complaint)
    if isinstance(kind, Parts) and isinstance(reading.value, tuple):
        parts = [_normalised(k, Reading(v), args).value for k, v in zip(kind.kinds, reading.value)]
        return Reading(tuple(parts), reading.notes, reading.complaint)
    return reading


def in_row_order(rows: np.ndarray, strengths: np.ndarray) -> np.ndarray:
    """Return row numbers with rows of equal strength exchanged so that the earlier row is named first.

    A row that is named twice stays named twice.

    >>> in_row_order(np.array([4.0, 0.0, 1.0]), np.array([7.0, 5.0, 7.0, 5.0, 9.0])).tolist()
    [4.0, 0.0, 1.0]
    >>> in_row_order(np.array([2.0, 3.0, 3.0]), np.array([7.0, 5.0, 7.0, 5.0, 9.0])).tolist()
    [0.0, 1.0, 1.0]
    """
    in_range = rows.ndim == 1 and bool(np.all((rows >= 0) & (rows < len(strengths))))
    if not in_range or len(np.unique(strengths)) == len(strengths):
        return rows
    names: dict[int, float] = {}
    for row in rows:
        equal = np.flatnonzero(strengths == strengths[int(row)])
        taken = sum(other in names for other in equal)
        if int(row) not in names:
            names[int(row)] = float(equal[taken])
    return np.array([names[int(row)] for row in rows], dtype=np.float64)


def _trial(exercise: Exercise, args: tuple, seen: Observation) -> Trial:
    expected, error = outcome(exercise, exercise.oracle, args)
    reading = _normalised(exercise.returns, read(exercise.returns, seen.returned), args) if seen.returned else None
    return Trial(args, expected, error, seen, reading, _difference(exercise, args, expected, error, seen, reading))


def _difference(exercise, args, expected, error: Raised | None, seen: Observation, reading) -> Difference | None:
    if seen.raised:
        if error and error.types[0] in seen.raised.types:
            return None
        return Difference(_raised_text(seen.raised), "raised")
    if error:
        return Difference(f"a result, where {error.types[0]} should be raised", "not raised")
    if reading.value is None or (isinstance(reading.value, tuple) and None in [_whole(v) for v in reading.value]):
        return Difference(reading.complaint.because if reading.complaint else "no number that can be read", "form")
    if _both_empty(seen.returned, reading.value, expected.value):
        return None
    if exercise.accepts is not None:
        refused = exercise.accepts(*args, value=reading.value)
        return Difference(refused.because, "refused", refused) if refused else None
    return difference(
        reading.value,
        expected.value,
        exercise.tolerance,
        getattr(exercise.returns, "names", getattr(exercise.returns, "keys", ())),
    )


def _both_empty(returned, got, expected) -> bool:
    """Return whether nested lists without any number stand for an array without any: lists cannot say its shape."""
    arrays = isinstance(got, np.ndarray) and isinstance(expected, np.ndarray)
    return arrays and returned.kind in ("list", "tuple") and got.size == expected.size == 0


def _whole(value):
    return None if value is None else True


def _raised_text(raised) -> str:
    where = f" (line {raised.line} of your code)" if raised.line else ""
    return f"{raised.types[0]}: {raised.text}{where}" if raised.text else f"{raised.types[0]}{where}"


# ---------------------------------------------------------------- the verdict


def _verdict(exercise: Exercise, evidence: Evidence, trials: list[Trial]) -> Verdict:
    wrong = [trial for trial in trials if trial.difference]
    complaint = next((t.reading.complaint for t in trials if t.reading and t.reading.complaint), None)
    changed = [trial for trial in trials if trial.observation.changed]
    notes = _notes(trials)
    if not wrong and not complaint and not changed and not evidence.library:
        return Verdict(exercise.id, PASSED, None, (*_passed_lines(exercise, trials), *notes))
    if not wrong:
        return _right_numbers(exercise, evidence, complaint, changed, trials, notes)
    answered = [trial for trial in trials if not trial.difference or not trial.expected_error]
    named = _loose(exercise, trials, complaint) or _state(exercise, trials)
    named = named or _order_of_arguments(exercise, evidence) or _named(exercise, trials)
    if named is None and len(answered) < len(trials):
        named = _named(exercise, answered)
        notes = (*notes, ("note", "besides, no error is raised where one is asked for")) if named else notes
    if named is None and not any(trial.difference for trial in answered):
        named = _no_error(wrong)
    named = named or _refused(wrong) or _constant(trials) or _refuses_too_much(trials)
    if named is not None and complaint and named[0] != complaint.name:
        notes = (*notes, ("note", f"and {complaint.because}"))
    if named is None and complaint and (complaint.name != "float32" or wrong[0].difference.kind == "form"):
        named = (complaint.name, complaint.because, complaint.next)
    if named is None:
        named = (
            _form_of_arguments(exercise, wrong)
            or known_errors.explained([trial.observation.raised for trial in wrong])
            or _order_of_rows(exercise, wrong)
            or _shape(wrong)
            or _searched(exercise, answered)
        )
    if named is None and changed:
        named = _changed_input(exercise, changed)
    if named is None and complaint:
        notes = (*notes, ("note", f"besides, {complaint.because}"))
    shown = _telling(wrong, changed if named and named[0] == MODIFIES_INPUT else [])
    if named is None:
        return _not_yet(
            exercise, None, (*_called_and_got(exercise, shown), *_unexplained(exercise, trials, shown), *notes)
        )
    name, because, step = named
    seen = [line for line in _called_and_got(exercise, shown) if line[1] != because]
    return _not_yet(exercise, name, (*seen, ("because", because), ("next", step), *notes))


def _telling(wrong: list[Trial], changed: list[Trial]) -> Trial:
    """Return the call to show: one that is about the cause, with the fewest numbers, so that it can be done by hand."""
    about = [trial for trial in wrong if any(trial is other for other in changed)] or changed or wrong
    kind = about[0].difference.kind if about[0].difference else ""
    alike = [trial for trial in about if trial.difference and trial.difference.kind == kind and _numbers(trial.args)]
    return min(alike, key=lambda trial: _numbers(trial.args)) if alike else about[0]


def _numbers(args: tuple) -> int:
    return sum(arg.size if isinstance(arg, np.ndarray) else 1 for arg in args if not isinstance(arg, Remote))


def _passed_lines(exercise: Exercise, trials: list[Trial]):
    calls = len(trials)
    return (
        (
            "called",
            f"{exercise.call_text()} {calls} times, each result as expected" if calls > 1 else exercise.call_text(),
        ),
    )


def _notes(trials: list[Trial]):
    """Return the friendly notes, each once: forms that were read on purpose, and warnings on the way."""
    notes = [note for trial in trials if trial.reading for note in trial.reading.notes]
    notes += [f"on the way: {text}" for trial in trials for text in trial.observation.warned]
    return tuple(("note", note) for note in list(dict.fromkeys(notes))[:3])


def _right_numbers(exercise, evidence, complaint, changed, trials, notes) -> Verdict:
    """Return the verdict when every number is right and something else is not."""
    if evidence.library:
        because = f"the answer calls {exercise.library}, which is the function asked for"
        return _not_yet(
            exercise,
            "library call",
            (("because", because), ("next", "write it yourself from smaller operations"), *notes),
        )
    if complaint:
        shown = next(t for t in trials if t.reading and t.reading.complaint)
        return _form_verdict(exercise, complaint, shown, notes)
    name, because, step = _changed_input(exercise, changed)
    lines = (("called", _call_words(exercise, changed[0].args)), ("because", because), ("next", step), *notes)
    return _not_yet(exercise, name, lines)


def _changed_input(exercise: Exercise, changed: list[Trial]):
    names, position = exercise.parameters(), changed[0].observation.changed[0]
    name = names[position] if position < len(names) else f"argument {position}"
    because = f"{name} holds other values after the call: the answer writes into its input"
    return (
        MODIFIES_INPUT,
        because,
        "look for +=, *=, out=, sort() or an index assignment on an input; work on a copy",
    )


def _form_verdict(exercise, complaint: Complaint, shown: Trial, notes) -> Verdict:
    lines = (
        ("called", _call_words(exercise, shown.args)),
        ("because", complaint.because),
        ("next", complaint.next),
        *notes,
    )
    return _not_yet(exercise, complaint.name, lines)


def _called_and_got(exercise: Exercise, trial: Trial):
    got = trial.difference.words if trial.difference else ""
    return ("called", _call_words(exercise, trial.args)), ("got", got)


def _call_words(exercise: Exercise, args: tuple) -> str:
    """Return the call in words: numbers and small arrays by their values, other arrays by their shape."""
    names = exercise.parameters() if not exercise.called_as else ()
    few = _numbers(args) <= NUMBERS_SHOWN
    detail = ", ".join(_argument_words(name, arg, few) for name, arg in zip(names, args))
    return f"{exercise.call_text()} with {detail}" if detail else exercise.call_text()


def _argument_words(name: str, arg, few: bool) -> str:
    if isinstance(arg, np.ndarray) and not (few and arg.size):
        return f"{name} of shape {arg.shape}"
    return f"{name} = {_argument_text(arg)}"


def _argument_text(arg) -> str:
    if isinstance(arg, np.ndarray):
        entries = [_argument_text(entry) for entry in arg] if arg.ndim else [number_text(arg)]
        return f"[{', '.join(entries)}]" if arg.ndim else entries[0]
    if isinstance(arg, np.generic):
        return number_text(arg)
    if isinstance(arg, Remote):
        return (arg.function.__doc__ or "a function").partition("\n")[0].rstrip(".")
    if isinstance(arg, bool) or arg is None:
        return str(arg)
    if isinstance(arg, int):
        return count_text(arg)
    return number_text(arg) if isinstance(arg, float) else f"a {type(arg).__name__}"


# ---------------------------------------------------------------- explanations, cheapest first


def _loose(exercise: Exercise, trials: list[Trial], complaint: Complaint | None):
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


def _state(exercise: Exercise, trials: list[Trial]):
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


def _refused(wrong: list[Trial]):
    """Name what an exercise with several right values refuses in the first wrong one."""
    complaint = wrong[0].difference.complaint
    return (complaint.name, complaint.because, complaint.next) if complaint else None


def _constant(trials: list[Trial]):
    """Name an answer that returns one number whatever it is asked, where the right number changes."""
    values = [trial.reading.value if trial.reading else None for trial in trials]
    right = [trial.expected.value if trial.expected else None for trial in trials]
    if not all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values):
        return None
    if len(values) < 3 or len(set(values)) > 1 or len(set(right)) == 1 or trials[0].reading.complaint:
        return None
    because = "the same number comes back for every call: the arguments are not used"
    return "same number always", because, "compute the number from the arguments"


def _no_error(wrong: list[Trial]):
    """Name an answer that is right wherever there is a result, and does not raise the error that is asked for."""
    asked, raised = wrong[0].expected_error.types[0], wrong[0].observation.raised
    if raised:
        because = f"{raised.types[0]} is raised where {asked} is asked for, and every other call is right"
        return "another error raised", because, f"raise {asked} there"
    because = f"{wrong[0].difference.words}, and every other call is right"
    return "no error raised", because, "which argument makes the question meaningless? raise the error there"


def _refuses_too_much(trials: list[Trial]):
    """Name an answer that is right but for raising the error that is asked for where a result is asked for."""
    asked = {trial.expected_error.types[0] for trial in trials if trial.expected_error}
    raised = [trial.observation.raised for trial in trials if trial.difference]
    right = [trial for trial in trials if not trial.difference and not trial.expected_error]
    if not right or any(not error or error.types[0] not in asked or _about_shapes(error.text) for error in raised):
        return None
    because = f"{raised[0].types[0]} is raised for arguments that have an answer, and every other call is right"
    return "refuses too much", because, "which condition raises it? it should hold for the meaningless case only"


def _about_shapes(text: str) -> bool:
    return any(word in text for word in ("shape", "dimension", "broadcast", "mismatch", "size"))


def _differ(exercise: Exercise, left, right) -> bool:
    try:
        return difference(left, right, exercise.tolerance) is not None
    except (TypeError, ValueError):  # two results of different kinds
        return True


def _named(exercise: Exercise, trials: list[Trial]):
    """Name the listed misconception whose program gives these results on every call."""
    for misconception in exercise.misconceptions:
        if _matches(exercise, misconception.program, trials, same_error=True):
            return misconception.name, _exactly(misconception.because), misconception.next
    return None


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
                errors.append(_said(error) == _said(raised))
            continue
        if reading.value is None or trial.reading.value is None:
            if not _same_complaint(reading, trial.reading):
                return False
            continue
        left, right = _untied(exercise, trial.args, trial.reading.value, reading.value)
        if difference(left, right, _tolerance(exercise, trial.reading)):
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


def _said(error: Raised) -> tuple[str, str]:
    return error.types[0], error.text


def _tolerance(exercise: Exercise, reading: Reading) -> float:
    """Return the tolerance that the precision of the numbers allows."""
    low = reading.complaint is not None and reading.complaint.name == "float32"
    return max(exercise.tolerance, LOW_PRECISION) if low else exercise.tolerance


def _order_of_arguments(exercise: Exercise, evidence: Evidence):
    """Name arguments that stand in another order than the one asked for."""
    names, asked = evidence.parameters, exercise.parameters()
    if exercise.wanted == "function" and names != asked and sorted(names) == sorted(asked):
        because = f"the definition takes ({', '.join(names)}), and it is called with ({', '.join(asked)}) in this order"
        return "arguments in another order", because, f"define it as {exercise.call_text()}"
    return None


def _form_of_arguments(exercise: Exercise, wrong: list[Trial]):
    """Name a call that the definition does not allow, and errors about the answer's own calls."""
    first = wrong[0].observation.raised
    if first and first.types[0] == "TypeError" and not first.depth and "positional argument" in first.text:
        because = f"it is called as {exercise.call_text()}, and its definition does not allow that"
        return "wrong number of arguments", because, f"define it as {exercise.call_text()}"
    if first and first.types[0] == "NotImplementedError":
        because = "the answer calls a function whose own body is not written yet: it raises NotImplementedError"
        return "calls an unwritten function", because, "write that function and run its cell first, or do without it"
    if first and first.types[0] == "RecursionError":
        return "endless recursion", "the answer calls itself without an end", "which case should stop it?"
    return None


def _order_of_rows(exercise: Exercise, wrong: list[Trial]):
    """Name a result that names the right rows in another order."""
    if not isinstance(exercise.returns, Indices) or not all(_same_rows(trial) for trial in wrong):
        return None
    because = "the right rows are named in every call, in another order than the one asked for"
    return "another order", because, "by what are the rows to be sorted, and in which direction?"


def _same_rows(trial: Trial) -> bool:
    got, expected = (reading.value if reading else None for reading in (trial.reading, trial.expected))
    return got is not None and got.shape == expected.shape and np.array_equal(np.sort(got), np.sort(expected))


def _shape(wrong: list[Trial]):
    """Name a result that has the right numbers in a neighbouring shape."""
    for trial in wrong:
        got, expected = (trial.reading or Reading()).value, (trial.expected or Reading()).value
        if not isinstance(got, np.ndarray) or not isinstance(expected, np.ndarray) or got.shape == expected.shape:
            return None
        if got.size != expected.size or difference(got.reshape(expected.shape), expected, 1e-9):
            return None
    got, expected = wrong[0].reading.value.shape, wrong[0].expected.value.shape
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


def _searched(exercise: Exercise, trials: list[Trial]):
    """Name a slip nobody listed: the fewest small edits that give these results.

    Edits that fit equally well and say different things are not guessed at (two explanations of a count are both told),
    and a yes or no says too little to be searched for.
    """
    if isinstance(exercise.returns, Truth):
        return None
    if any(trial.observation.raised and trial.observation.raised.types[0] not in SHAPE_ERRORS for trial in trials):
        return None
    deadline = time.thread_time() + SEARCH_SECONDS
    wrong = next((t for t in trials if t.difference and t.reading and t.reading.value is not None), None)
    for tier in slips.tiers(exercise):
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


def _unexplained(exercise: Exercise, trials: list[Trial], shown: Trial):
    """Say what is known when no wrong program fits: never a guess."""
    right = [trial for trial in trials if trial.difference is None]
    kind = shown.difference.kind
    if kind == "raised":
        return (("next", "read the error: which line, and which shapes or types meet there?"),)
    if kind == "not raised":
        return (("next", "which argument makes the question meaningless? raise the error there"),)
    if kind == "shape":
        return (("next", "write the shape of every intermediate result beside its line"),)
    if len(right) > len(trials) // 3:
        known = f"{len(right)} of {len(trials)} calls are right"  # the first wrong one stands under "called"
        step = "what is special about the call that goes wrong, compared with those that are right?"
        return ("known", known), ("next", step)
    return (("next", f"compute the first number by hand and compare; hint({exercise.id!r}) says where to look"),)


# ---------------------------------------------------------------- are the probes good enough?


def collisions(exercise: Exercise, probes: tuple[Probe, ...]) -> list[tuple[str, str]]:
    """Return the pairs of programs (oracle, misconceptions) that the probes cannot tell apart by ten tolerances."""
    calls = flatten(probes)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        programs = [("oracle", exercise.oracle), *[(m.name, m.program) for m in exercise.misconceptions]]
        results = [(name, [outcome(exercise, program, args) for args in calls]) for name, program in programs]
        return [(a, b) for (a, x), (b, y) in itertools.combinations(results, 2) if _same_results(exercise, x, y)]


def _same_results(exercise: Exercise, left, right) -> bool:
    for (a, error_a), (b, error_b) in zip(left, right):
        if error_a or error_b:
            if bool(error_a) != bool(error_b) or _said(error_a) != _said(error_b):
                return False
            continue
        same_form = (a.complaint is None) == (b.complaint is None)
        if (a.value is None) != (b.value is None) or not same_form:
            return False
        if a.value is not None and difference(a.value, b.value, 10 * exercise.tolerance):
            return False
    return True


def separating(exercise: Exercise, seeds) -> tuple[Probe, ...]:
    """Return the probes of the first seed that tell all programs apart.

    **Raises** ValueError when none of the seeds does, with the pair that stays together.
    """
    for seed in seeds:
        probes = draw(exercise, seed)
        pairs = collisions(exercise, probes)
        if not pairs:
            return probes
    raise ValueError(
        f"exercise {exercise.id!r}: its probes never tell {pairs[0][0]!r} from {pairs[0][1]!r}; draw others"
    )
