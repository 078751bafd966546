"""What a lesson imports: `check` an answer, ask for a `hint`, `reveal` a model answer, `predict`, see your `progress`.

`check` judges in the learner's own kernel. It is advice: whoever owns the kernel can fool it, and gains nothing by it,
since points are given elsewhere.
"""

from __future__ import annotations

import dataclasses
import dis
import functools
import inspect
import json
import os
import sys
import textwrap
import time
from dataclasses import dataclass
from html import escape
from pathlib import Path

import numpy as np

from ffnlib import course
from ffnlib.examination import lessons
from ffnlib.examination.evidence import gather
from ffnlib.examination.judge import judge
from ffnlib.examination.probing import draw
from ffnlib.examination.verdict import BROKEN, NOT_YET, PASSED, UNTOUCHED, Verdict, note_on_calling
from ffnlib.scrolling import framed

VERDICTS = ("TRUE", "FALSE", "DEPENDS")
_MISSING = object()


class NotPassed(AssertionError):
    """Raised by `check` in strict mode, so that an automatic run sees a failing answer."""


# ---------------------------------------------------------------- check


def check(exercise_id, answer=_MISSING, seed: int | None = None) -> Verdict:
    """Try an answer to an exercise, show what it is told, and return the verdict.

    `check(feed_forward)` finds the exercise by the answer's own name. With FFNLIB_STRICT=1 in the environment, or under
    nbgrader, anything but a pass is raised.

    **Raises** NotPassed in strict mode only
    """
    verdict = verdict_on(exercise_id, answer, seed)
    _remember("check", exercise=verdict.exercise, status=verdict.status)
    if is_strict():
        verdict = verdict.without_values()
        if not verdict.passed:
            raise NotPassed(verdict.message)
    return _show(verdict)


def is_strict() -> bool:
    """Return whether a failing check must raise: asked for, or running under nbgrader."""
    return os.environ.get("FFNLIB_STRICT") == "1" or bool(os.environ.get("NBGRADER_EXECUTION"))


def verdict_on(exercise_id, answer=_MISSING, seed: int | None = None) -> Verdict:
    """Return what `check` would say, without showing or recording it."""
    if answer is _MISSING and not isinstance(exercise_id, str):
        exercise_id, answer = _name(exercise_id), exercise_id
    elif isinstance(answer, str) and callable(exercise_id):
        exercise_id, answer = answer, exercise_id
    if not isinstance(exercise_id, str):
        text = f"the first argument is a {type(exercise_id).__name__}, and the exercise's name as text is asked for"
        return Verdict("check", NOT_YET, "no such exercise", (("because", text), ("next", 'call check("relu", relu)')))
    try:
        exercise = lessons.exercise(exercise_id)
    except KeyError as error:
        lines = (("because", str(error.args[0])), ("next", "the name stands above the exercise and in its check cell"))
        return Verdict(exercise_id, NOT_YET, "no such exercise", lines, private=())
    if answer is _MISSING:
        text = f"give your answer as well: check({exercise_id!r}, {exercise_id})"
        return Verdict(exercise_id, UNTOUCHED, None, (("next", text),))
    return examine(exercise, answer, exercise.seed if seed is None else seed)


def _name(answer):
    """Return the name an answer was defined under, or the answer itself when it has none."""
    try:
        return answer.__name__
    except Exception:
        return answer


def examine(exercise, answer, seed: int) -> Verdict:
    """Return the verdict on an answer; our own faults and interruptions become verdicts too."""
    started = time.perf_counter()
    try:
        probes = _probes(exercise.id, seed)
        verdict = judge(exercise, probes, gather(probes, answer, exercise.wanted, exercise.library))
        return _with_notes_on_code(exercise, verdict, answer, seed) if verdict.status == NOT_YET else verdict
    except KeyboardInterrupt:
        seconds = time.perf_counter() - started
        because = f"you stopped it after {seconds:.0f} s, while your answer was being called"
        lines = (("because", because), ("next", "look for a loop that never ends, in the answer or in what it calls"))
        return Verdict(exercise.id, NOT_YET, "interrupted", lines)
    except (Exception, SystemExit) as error:
        text = f"this is our mistake, your work is safe ({type(error).__name__}: {error})"
        step = "please tell whoever gave you this course, with this line"
        return Verdict(exercise.id, BROKEN, None, (("because", text), ("next", step)))


def _with_notes_on_code(exercise, verdict: Verdict, answer, seed: int) -> Verdict:
    """Add what a wrong answer's own code shows: arrays of other cells, wrong answers it calls, ^ meant as a power."""
    if not inspect.isfunction(answer):
        return verdict
    steps = list(dis.get_instructions(answer))
    names = dict.fromkeys(step.argval for step in steps if step.opname == "LOAD_GLOBAL")
    taken = [name for name in names if isinstance(answer.__globals__.get(name), np.ndarray)]
    notes = []
    if taken:
        text = (
            f"this answer takes {' and '.join(taken)} from another cell: the same numbers in every call; "
            "compute from the arguments instead"
        )
        notes.append(("note", text))
    called = {name: answer.__globals__.get(name) for name in names if name in _beside(exercise)}
    for name, function in called.items():
        if inspect.isfunction(function) and _is_wrong(name, function, seed):
            notes.append(note_on_calling(name))
    if any(step.argrepr == "^" or step.opname == "BINARY_XOR" for step in steps):
        notes.append(("note", "^ is no power in Python but the exclusive or of bits; a power is written **"))
    return dataclasses.replace(verdict, lines=(*verdict.lines, *notes))


def _beside(exercise) -> list[str]:
    """Return the other exercises of the same lesson whose answer a learner may call."""
    others = lessons.exercises(lessons.lesson_of(exercise.id))
    return [other.id for other in others if other.id != exercise.id and other.wanted == "function"]


def _is_wrong(exercise_id: str, answer, seed: int) -> bool:
    exercise, probes = lessons.exercise(exercise_id), _probes(exercise_id, seed)
    return judge(exercise, probes, gather(probes, answer, exercise.wanted)).status == NOT_YET


@functools.lru_cache(maxsize=256)
def _probes(exercise_id: str, seed: int):
    return draw(lessons.exercise(exercise_id), seed)


# ---------------------------------------------------------------- showing


@dataclass(frozen=True, repr=False)
class ShownVerdict(Verdict):
    """A verdict that was displayed in the cell numbered `cell`, and is not displayed there a second time."""

    cell: int = 0

    def _ipython_display_(self) -> None:
        shell = _shell()
        if shell is None or shell.execution_count != self.cell:
            _display(self)


def _shell():
    """Return IPython's running shell, or None outside one; IPython is not imported for this."""
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython is not None else None


def _display(card) -> None:
    from IPython.display import display

    display({"text/plain": repr(card), "text/html": card._repr_html_()}, raw=True)


def _show(verdict: Verdict) -> Verdict:
    """Display a verdict where a notebook is running, and return it."""
    shell = _shell()
    if shell is None:
        return verdict
    _display(verdict)
    values = {field.name: getattr(verdict, field.name) for field in dataclasses.fields(Verdict)}
    return ShownVerdict(**values, cell=shell.execution_count)


@dataclass(frozen=True, repr=False)
class Card:
    """A piece of help: the same words as text and as HTML."""

    title: str
    body: str = ""
    code: str = ""

    def __repr__(self) -> str:
        return "\n".join(part for part in (self.title, self.body, self.code) if part)

    def _repr_html_(self) -> str:
        body = f"<div>{escape(self.body)}</div>" if self.body else ""
        code = (
            f'<pre style="background:#F6F6F6;color:#1B1B1B;padding:0.5em;overflow-x:auto" tabindex="0">'
            f"{escape(self.code)}</pre>"
            if self.code
            else ""
        )
        return (
            '<div class="ffn-card" style="background:#FFFFFF;color:#1B1B1B;border:1px solid #D0D0D0;'
            'padding:0.6em 0.9em;font-family:sans-serif;line-height:1.45;max-width:52em;overflow-wrap:anywhere">'
            f"<strong>{escape(self.title)}</strong>{body}{code}</div>"
        )


# ---------------------------------------------------------------- help


def hint(exercise_id: str, number: int = 1) -> Card:
    """Return one of the three hints to an exercise: where to look, which operation, the line with one blank."""
    try:
        exercise = lessons.exercise(exercise_id)
    except KeyError as error:
        return Card("hint", str(error.args[0]))
    if number not in (1, 2, 3):
        return Card("hint", f"number={number!r}: there are three hints, 1, 2 and 3")
    _remember("hint", exercise=exercise_id, number=number)
    more = (
        f"hint({exercise_id!r}, {number + 1}) says more" if number < 3 else f"reveal({exercise_id!r}) shows an answer"
    )
    return Card(f"hint {number} of 3 for {exercise_id}", f"{exercise.hints[number - 1]}   ({more})")


def reveal(exercise_id: str) -> Card:
    """Return a model answer with the reason why it is one."""
    try:
        exercise = lessons.exercise(exercise_id)
    except KeyError as error:
        return Card("reveal", str(error.args[0]))
    _remember("reveal", exercise=exercise_id)
    code = (exercise.solution or textwrap.dedent(inspect.getsource(exercise.oracle))).strip()
    return Card(f"one right answer to {exercise_id}", exercise.why, code)


def predict(claim: str, answer) -> Card:
    """Record what you expect of a claim before you measure it: "TRUE", "FALSE" or "DEPENDS"."""
    in_quotes = ", ".join(f'"{verdict}"' for verdict in VERDICTS)
    if answer is Ellipsis:
        return Card("prediction", f"replace the ... by one of {in_quotes}, before you go on")
    text = str(answer).strip().upper()
    if text not in VERDICTS:
        return Card("prediction", f"{answer!r} is no prediction: write one of {in_quotes}")
    _remember("predict", claim=claim, answer=text)
    return Card("prediction", f"noted: you expect {text}")


def decide(claim: str, verdict, because: str) -> Card:
    """Return the verdict on a claim as a cell has measured it, beside what you expected.

    `verdict` is True, False or "DEPENDS"; `because` names the number or the condition that decides.

    **Raises** ValueError for any other verdict, since then the cell has decided nothing
    """
    word = str(bool(verdict)).upper() if isinstance(verdict, (bool, np.bool_)) else str(verdict)
    if word not in VERDICTS:
        raise ValueError(f"verdict={verdict!r} decides nothing; give True, False or 'DEPENDS'")
    expected = predictions().get(claim)
    beside = f"You expected {expected}." if expected else "You made no prediction."
    return Card(word, f"{because} {beside}")


# ---------------------------------------------------------------- progress


def progress_file() -> Path:
    """Return where progress is kept: one local file outside the course's folder; nothing is sent anywhere."""
    override = os.environ.get("FFNLIB_PROGRESS")
    if override:
        return Path(override)
    from platformdirs import user_data_path

    return user_data_path("ffnlib", appauthor=False) / "progress.jsonl"


def _remember(event: str, **fields) -> None:
    """Append one line to the progress file, in one write, so that two notebooks or a crash never damage it."""
    line = json.dumps({"event": event, "time": int(time.time()), **fields}) + "\n"
    try:
        path = progress_file()
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(descriptor, line.encode())
        finally:
            os.close(descriptor)
    except OSError:
        pass  # a read-only home must not stop a lesson; progress() says that nothing is kept


def recorded() -> list[dict]:
    """Return the recorded events, oldest first; damaged lines are skipped."""
    try:
        text = progress_file().read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    events = []
    for line in text.splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict):
            events.append(event)
    return events


def predictions() -> dict[str, str]:
    """Return the latest prediction for every claim."""
    return {
        e["claim"]: e["answer"] for e in recorded() if e.get("event") == "predict" and "claim" in e and "answer" in e
    }


ON_WHITE = "background:#FFFFFF;color:#1B1B1B;text-align:left"  # on every cell: a dark theme colours rows, not tables


@dataclass(frozen=True, repr=False)
class Progress:
    """The map of the course, and how far every lesson is: each exercise "done", "not yet" or "untouched"."""

    lessons: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    outline: dict[str, course.Lesson]  # of the lessons that are written

    def __repr__(self) -> str:
        return "\n".join(f"{name:<24}{self._words(states)}" for name, states in self.lessons)

    @staticmethod
    def _words(states) -> str:
        done = sum(state == "done" for _, state in states)
        begun = [exercise for exercise, state in states if state == "not yet"]
        return f"{done} of {len(states)} done" + (f"; not yet: {', '.join(begun)}" if begun else "")

    def _row(self, name: str, states) -> str:
        written = self.outline.get(name)
        shown = f"{written.number} {escape(written.title)}" if written else name
        link = f'<a href="{name}.ipynb" style="color:#0072B2">{shown}</a>' if written else shown
        about = (escape(written.question), str(written.minutes)) if written else ("", "")
        words, in_one_line = self._words(states), f"{ON_WHITE};white-space:nowrap"  # so that the map fits on a screen
        return (
            f'<tr style="{ON_WHITE}"><th scope="row" style="{in_one_line}">{link}</th>'
            + "".join(f'<td style="{ON_WHITE}">{cell}</td>' for cell in about)
            + f'<td style="{ON_WHITE if ";" in words else in_one_line}">{escape(words)}</td></tr>'
        )

    def _repr_html_(self) -> str:
        heads = ("lesson", "its question", "minutes", "exercises")
        head = "".join(f'<th scope="col" style="{ON_WHITE}">{text}</th>' for text in heads)
        rows = "".join(self._row(name, states) for name, states in self.lessons)
        heading = f'<thead><tr style="{ON_WHITE}">{head}</tr></thead>'
        return framed(f'<table style="{ON_WHITE}">{heading}<tbody>{rows}</tbody></table>', "the map of the course")


def progress() -> Progress:
    """Return the map of the course with how far you are in every lesson; a pass stays a pass."""
    states: dict[str, str] = {}
    for event in recorded():
        if event.get("event") != "check" or event.get("status") not in (PASSED, NOT_YET):
            continue
        name = event.get("exercise")
        states[name] = "done" if event["status"] == PASSED or states.get(name) == "done" else "not yet"
    table = tuple(
        (lesson, tuple((name, states.get(name, "untouched")) for name in ids))
        for lesson, ids in lessons.CATALOGUE.items()
    )
    return Progress(table, {lesson.name: lesson for lesson in course.load().lessons})
