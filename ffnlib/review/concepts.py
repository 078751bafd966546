"""The concept map: which lesson takes which words from which earlier one, collected from the lessons themselves."""

from __future__ import annotations

from html import escape

from ffnlib.course import Course, load
from ffnlib.figures import PALETTE, Picture, panel, style
from ffnlib.review.pages import ON_WHITE, Page, link, opened

FEWEST = 2  # words that two lessons must share for a line; one word alone would tie everything to everything


def concept_map(course: Course | None = None) -> Page:
    """Return the map as a picture, and beneath it the words behind every line."""
    course = load() if course is None else course
    picture = concept_picture(course)
    lists = "\n".join(filter(None, (_words_of(lesson, course) for lesson in course.lessons)))
    return Page(picture.words, f"{picture.body}\n{lists}", "concepts")


def ties(course: Course) -> dict[tuple[str, str], int]:
    """Return {(earlier lesson, later lesson): number of words the later one takes from the earlier one}.

    The first lesson is about the course itself, and all later ones use its words, so it ties nothing.
    """
    first = course.lessons[0].name
    return {
        (earlier, lesson.name): len(words)
        for lesson in course.lessons
        for earlier, words in lesson.uses.items()
        if earlier != first
    }


def concept_picture(course: Course) -> Picture:
    """Return the picture: lessons from top to bottom, and an arc from each lesson to those that use its words."""
    strong = {pair: count for pair, count in ties(course).items() if count >= FEWEST}
    given = {
        each.name: sum(count for (earlier, _), count in ties(course).items() if earlier == each.name)
        for each in course.lessons
    }
    most = max(course.lessons, key=lambda lesson: given[lesson.name])
    figure, axes = panel(f"Most lessons stand on lesson {most.number}", size=(6.4, 0.36 * len(course.lessons) + 0.9))
    place = {lesson.name: number for number, lesson in enumerate(course.lessons)}
    with style():
        for lesson in course.lessons:
            words = [term.term for term in course.terms if term.lesson == lesson.name]
            axes.text(
                0, place[lesson.name], f"{lesson.number} {lesson.title}", va="center", fontweight="bold", fontsize=9
            )
            axes.text(5.0, place[lesson.name], _few(words), va="center", fontsize=7.5)
        for (earlier, later), count in strong.items():
            _arc(axes, place[earlier], place[later], count)
        axes.set_xlim(-4.6, 12.5)
        axes.set_ylim(len(place) - 0.4, -0.6)
        axes.axis("off")
    words = (
        f"{sum(ties(course).values())} times a lesson uses a word that an earlier one defines, "
        f"{given[most.name]} times one of lesson {most.number} ({most.title}). "
        f"An arrow leads to a lesson that uses {FEWEST} or more of another's."
    )
    return Picture(figure, words)


def _few(words: list[str], letters: int = 50) -> str:
    text = ", ".join(words)
    return text if len(text) <= letters else text[:letters].rpartition(",")[0] + ", ..."


def _arc(axes, start: int, end: int, count: int) -> None:
    from matplotlib.patches import FancyArrowPatch

    arrow = FancyArrowPatch(
        (-0.15, start), (-0.15, end), connectionstyle=f"arc3,rad={0.5:g}", arrowstyle="-|>", mutation_scale=8,
        color=PALETTE["key"], linewidth=0.4 + 0.25 * count, alpha=0.75, shrinkA=2, shrinkB=2,
    )  # fmt: skip
    axes.add_patch(arrow)


def _words_of(lesson, course: Course) -> str:
    if not lesson.uses:
        return ""
    lines = "".join(
        f'<li style="{ON_WHITE}">{escape(", ".join(words))} (from {link(earlier, _name(course, earlier))})</li>'
        for earlier, words in lesson.uses.items()
    )
    return opened(f"{lesson.number} {escape(lesson.title)} uses", f'<ul style="{ON_WHITE}">{lines}</ul>')


def _name(course: Course, lesson: str) -> str:
    return f"{lesson[:2]} {course.lesson(lesson).title}"
