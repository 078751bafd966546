"""What a run holds: its settings, its secret probes, and the verdicts it has given."""

from __future__ import annotations

import hashlib
import re
import threading
from dataclasses import dataclass, replace

from ffnlib.examination import evidence as gathering
from ffnlib.examination.evidence import Evidence, Raised
from ffnlib.examination.exercise import Exercise
from ffnlib.examination.judge import judge
from ffnlib.examination.probing import draw, separating
from ffnlib.examination.verdict import BROKEN, NOT_YET, Verdict
from ffnlib.grading.workshop import CAN_FORK

SEEDS = 40  # tried until the probes separate
LARGEST_RESULT = 20_000  # numbers in one result; the largest right one of the course has a few hundred


@dataclass(frozen=True)
class Settings:
    """How a run is graded: its secret seed, its limits, and whether inputs and expected values may be shown."""

    seed: int
    timeout: float = 30.0
    memory: int = 1024
    trusted: bool = False
    graded: bool = True
    can_fork: bool = CAN_FORK


class Examiner:
    """The probes of one run, drawn once, and the verdicts given so far: the same evidence, the same verdict."""

    def __init__(self, settings: Settings):
        self.settings = settings
        self.turn = threading.RLock()  # the judge silences warnings, which Python does for all threads at once
        self.drawn: dict[str, tuple] = {}
        self.given: dict[tuple, Verdict] = {}

    def probes(self, exercise: Exercise) -> tuple:
        """Return the secret probes of an exercise, redrawn until they tell all its programs apart."""
        with self.turn:
            if exercise.id not in self.drawn:
                self.drawn[exercise.id] = self._draw(exercise)
            return self.drawn[exercise.id]

    def _draw(self, exercise: Exercise) -> tuple:
        if not self.settings.graded:
            return draw(exercise, exercise.seed)
        word = f"{self.settings.seed}:{exercise.id}".encode()
        seed = int.from_bytes(hashlib.sha256(word).digest()[:8], "big")
        return separating(exercise, range(seed, seed + SEEDS))

    def verdict(self, exercise: Exercise, evidence: Evidence) -> Verdict:
        """Return the verdict on evidence, whatever the evidence is."""
        with self.turn:
            key = (exercise.id, hashlib.sha256(gathering.to_bytes(evidence)).digest())
            if key not in self.given:
                self.given[key] = self._judged(exercise, evidence)
            return self.given[key]

    def _judged(self, exercise: Exercise, evidence: Evidence) -> Verdict:
        try:
            verdict = judge(exercise, self.probes(exercise), without_giants(evidence))
        except Exception as error:
            text = f"this is our mistake, the work is safe ({type(error).__name__}); whoever grades will look at it"
            return Verdict(exercise.id, BROKEN, None, (("because", text),))
        return without_inputs(verdict, exercise) if self.settings.graded else verdict


def without_giants(evidence: Evidence) -> Evidence:
    """Return evidence in which a result that is far larger than any right one is only said to be large.

    What the judge does takes time with the size of a result, and nobody bounds the judge's time.
    """
    observations = []
    for seen in evidence.observations:
        if seen.returned is not None and seen.returned.kind != "module" and size_of(seen.returned) > LARGEST_RESULT:
            seen = replace(seen, returned=replace(seen.returned, kind="large", value=None))
        observations.append(seen)
    return replace(evidence, observations=tuple(observations))


def size_of(seen) -> int:
    """Return how many numbers a value holds, with the lists and tuples around them."""
    if seen.kind == "array":
        return 1 if seen.value is None else seen.value.size
    if seen.kind in ("list", "tuple"):
        return len(seen.value) + sum(size_of(item) for item in seen.value)
    return 1 if seen.kind != "dict" else sum(1 + size_of(item) for _, item in seen.value)


def without_inputs(verdict: Verdict, exercise: Exercise) -> Verdict:
    """Return a verdict for feedback: no input, no expected value, and no warning, whose text an answer chooses.

    Where an example is left out, a last line says how the learner sees one.
    """
    lines = tuple(line for line in verdict.without_values().lines if not line[1].startswith("on the way:"))
    if verdict.status == NOT_YET and any(label in verdict.private for label, _ in verdict.lines):
        lines += (("more", f"{exercise.check_text()} in your notebook shows a call with its numbers"),)
    return replace(verdict, lines=lines)


def with_failure(verdict: Verdict, evidence: Evidence, places: dict[int, str], memory: int) -> Verdict:
    """Add to a verdict where an answer raised: the type and the line, never the text, which may hold inputs."""
    raised = next((seen.raised for seen in evidence.observations if seen.raised is not None), None)
    if verdict.status != NOT_YET or raised is None:
        return verdict
    name = next((name for name in raised.types if re.fullmatch(r"[A-Z][A-Za-z]{2,40}", name)), "an exception")
    place = re.fullmatch(r"<cell (\d{1,5})>", raised.source)
    where = f" in line {raised.line} of {places[int(place[1])]}" if place and int(place[1]) in places else ""
    words = f"{name}{where}{memory_words(raised, memory)}"
    return Verdict(verdict.exercise, NOT_YET, verdict.misconception, (("raised", words), *verdict.lines), ())


def memory_words(raised: Raised, memory: int) -> str:
    """Return what is to be added about the memory limit to an error that comes from it, "" for other errors."""
    limited = "MemoryError" in raised.types or "can't allocate memory" in raised.text
    return f": the memory limit of {memory} MB was reached" if limited else ""
