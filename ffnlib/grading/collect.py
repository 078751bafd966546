"""What was handed in: every file of a folder or archive, whose it is and when it came; names are never trusted."""

from __future__ import annotations

import calendar
import os
import re
import stat
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path, PurePosixPath

from ffnlib.examination import lessons

LARGEST_FILE = 32 * 2**20  # bytes
MOST_MEMBERS = 1_000
LONGEST_NAME = 255  # characters of a file or folder, as on every file system
DEEPEST_FOLDER = 20
LARGEST_ARCHIVE = 200_000_000  # bytes, unpacked
A_WHOLE_CLASS = ": if a whole class is in it, unpack it and give the folder"

MOODLE = re.compile(r"^(?P<student>.+?)_assignsubmission_[a-z]+_?(?P<name>.*)$", re.DOTALL)
CANVAS = re.compile(r"^(?P<student>[^_/]+)_(?P<late>LATE_)?(?P<id>\d+)_\d+_(?P<name>.+)$", re.DOTALL)
COPY = re.compile(r"(?:[ _-]*(?:\(\d+\)|copy\d*|Copy\d*|Kopie))+$")  # "ffn (1)", "ffn-Copy1"
LESSON = re.compile("|".join(lessons.CATALOGUE))
ACTING = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")  # on a terminal, a line or its direction
IGNORED = (".", "__MACOSX", "Thumbs.db", "desktop.ini")
TIMESTAMP = "timestamp.txt"  # nbgrader's, beside the notebook


@dataclass(frozen=True)
class Handed:
    """One file as it was handed in: `data` is None when it was not read, and `problem` then says why."""

    student: str
    file: str
    data: bytes | None
    time: float
    problem: str = ""
    notes: tuple[str, ...] = ()


def collect(submissions: Path, excluded: Path | None = None) -> Iterator[Handed]:
    """Yield everything handed in under a folder, or in an archive, in a fixed order."""
    if submissions.is_file():
        if is_archive(submissions.name):
            yield from unpack(submissions, clean(submissions.name), "")
        else:
            yield from read_file(submissions, clean(submissions.name), student_from_name(clean(submissions.stem)))
        return
    for entry in sorted(submissions.iterdir(), key=lambda path: path.name):
        if not is_ignored(entry.name) and not (excluded and is_same_place(entry, excluded)):
            yield from collect_entry(entry)


def is_same_place(one: Path, other: Path) -> bool:
    """Return whether two paths name the same place."""
    return one.resolve() == other.resolve()


def is_ignored(name: str) -> bool:
    """Return whether a name belongs to an editor or an operating system."""
    return name.startswith(IGNORED)


def is_archive(name: str) -> bool:
    """Return whether a name is an archive's."""
    return name.lower().endswith(".zip")


def is_notebook(name: str) -> bool:
    """Return whether a name is a notebook's; browsers like to add another ending."""
    return ".ipynb" in name.lower()


def collect_entry(entry: Path) -> Iterator[Handed]:
    """Yield what lies under one entry of the submissions' folder: a student's folder, a notebook or an archive."""
    name = clean(entry.name)
    if entry.is_symlink():
        yield Handed(student_from_name(name), name, None, 0.0, "it is a link, and links are not followed")
    elif entry.is_dir():
        yield from collect_student(entry, student_from_folder(name))
    elif is_archive(name):
        yield from unpack(entry, name, "", loose=True)
    elif is_notebook(name):
        yield from read_file(entry, name, student_from_name(name))
    elif name != TIMESTAMP:
        yield Handed(student_from_name(name), name, None, modified(entry), "it is not a notebook (.ipynb)")


def collect_student(folder: Path, student: str) -> Iterator[Handed]:
    """Yield a student's notebooks and archives; without any, one row that says what is there instead."""
    others, found = [], False
    for path in walk(folder):
        file = clean(f"{folder.name}/{path.relative_to(folder).as_posix()}")
        if path.is_symlink():
            found = True
            yield Handed(student, file, None, 0.0, "it is a link, and links are not followed")
        elif os.path.isdir(path):
            found = True
            yield Handed(student, file, None, 0.0, "it is a folder that cannot be read, or lies too deep in others")
        elif is_archive(path.name):
            found = True
            yield from unpack(path, file, student)
        elif is_notebook(path.name):
            found = True
            yield from read_file(path, file, student)
        elif path.name != TIMESTAMP:
            others.append(clean(path.name))
    if not found:
        problem = only_others(others) if others else "nothing was handed in"
        yield Handed(student, clean(folder.name), None, 0.0, problem)


def walk(folder: Path, depth: int = 0) -> Iterator[Path]:
    """Yield the files and links under a folder, in a fixed order, without following links.

    A folder that cannot be read, or that lies too deep, is yielded itself.
    """
    try:
        entries = sorted(folder.iterdir(), key=lambda path: path.name) if depth < DEEPEST_FOLDER else None
    except OSError:
        entries = None
    if entries is None:
        yield folder
        return
    for path in entries:
        if is_ignored(path.name):
            continue
        if os.path.isdir(path) and not os.path.islink(path):
            yield from walk(path, depth + 1)
        else:
            yield path


def read_file(path: Path, file: str, student: str) -> Iterator[Handed]:
    """Yield one file, unless it is too large or cannot be read."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            yield Handed(student, file, None, 0.0, "it is not a regular file")
        elif status.st_size > LARGEST_FILE:
            yield Handed(student, file, None, status.st_mtime, too_large(status.st_size))
        else:
            data = path.read_bytes()
            yield Handed(student, file, data, timestamp(path) or status.st_mtime, notes=late_note(path.name))
    except OSError as error:
        yield Handed(student, file, None, 0.0, f"it cannot be read ({error.strerror})")


def too_large(size: int) -> str:
    """Return why a file of that size is not read."""
    return f"it has {size / 2**20:.0f} MB and the limit is {LARGEST_FILE / 2**20:.0f}: clear its outputs"


def late_note(name: str) -> tuple[str, ...]:
    """Return Canvas's remark that a file came late."""
    canvas = CANVAS.match(name)
    return ("Canvas marks it as late",) if canvas and canvas["late"] else ()


def modified(path: Path) -> float:
    """Return when a file was changed last, 0 when nobody knows."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def timestamp(path: Path) -> float:
    """Return the time nbgrader wrote beside a notebook, 0 without one."""
    try:
        status = os.lstat(path.parent / TIMESTAMP)
        if not stat.S_ISREG(status.st_mode) or status.st_size > 1_000:
            return 0.0
        text = (path.parent / TIMESTAMP).read_text(encoding="utf-8").strip()[:40]
        found = datetime.fromisoformat(re.sub(r" ?(UTC|Z)$", "+00:00", text))
        return found.replace(tzinfo=found.tzinfo or timezone.utc).timestamp()
    except (OSError, ValueError):
        return 0.0


# ---------------------------------------------------------------- whose


def student_from_folder(name: str) -> str:
    """Return whose folder it is; Moodle adds its own words to the name."""
    moodle = MOODLE.match(name)
    return moodle["student"] if moodle else name


def student_from_name(name: str) -> str:
    """Return whose file it is, from its name alone: without endings, copy marks and the lesson's name."""
    moodle, canvas = MOODLE.match(name), CANVAS.match(name)
    if moodle:
        return moodle["student"]
    if canvas:
        return f"{canvas['student']}_{canvas['id']}"
    stem = COPY.sub("", re.sub(r"(\.ipynb.*|\.\w{1,5})$", "", name, flags=re.IGNORECASE))
    return LESSON.sub("", stem).strip(" _-.") or stem or name


def is_in_its_own_place(student: str, file: str) -> bool:
    """Return whether the folder, file or archive where something lies is named after its student.

    In an archive, whoever made it chose the names.
    """
    place = file.partition("/")[0]
    return student in (student_from_folder(place), student_from_name(place))


def clean(name: str) -> str:
    """Return a name that every encoding can write: bytes that are no text are spelt out, each its own way."""
    return visible(name.encode("utf-8", "backslashreplace").decode("utf-8"))


def visible(text: str) -> str:
    r"""Return a text in which nothing acts on what stands around it: such signs are spelt out.

    >>> print(visible("\x1b[2Jann\u202e"))
    \x1b[2Jann\u202e
    """
    return ACTING.sub(lambda sign: sign[0].encode("unicode_escape").decode(), text)


# ---------------------------------------------------------------- archives


def unpack(archive: Path, file: str, student: str, loose: bool = False) -> Iterator[Handed]:
    """Yield the notebooks in an archive, read in memory and never written to disk, and one row for who has none.

    `loose` says that it lies among others, so that the one folder in it may be called the same as theirs.
    """
    owner = student or student_from_name(file)
    if not archive.is_file():
        yield Handed(owner, file, None, 0.0, "it is not a regular file")
        return
    try:
        with zipfile.ZipFile(archive) as opened:
            members = opened.infolist()
            problem = archive_problem(members)
            if problem:
                yield Handed(owner, file, None, modified(archive), problem)
                return
            made = sorted((each for each in members if made_by_somebody(each)), key=lambda each: each.filename)
            chosen = [member for member in made if is_notebook(PurePosixPath(member.filename).name)]
            around = around_all([PurePosixPath(member.filename) for member in chosen]) if chosen else ""
            if around == "learner" and loose and not MOODLE.match(PurePosixPath(chosen[0].filename).parts[0]):
                student = student or owner
            found = set()
            for member in chosen:
                handed = read_member(opened, member, file, student, around == "class")
                found.add(handed.student)
                yield handed
            in_folders = all(len(path_within(each, around == "class").parts) > 1 for each in chosen)
            named = in_folders and (len(found) > 1 or not loose)
            without = {} if student else without_notebook(made, file, around == "class", found, named)
            for one, names in without.items():
                problem = only_others([PurePosixPath(name).name for name in names])
                yield Handed(one, f"{file}/{names[0]}", None, 0.0, problem)
            if not chosen and not without:
                yield Handed(owner, file, None, modified(archive), "no notebook is in this archive")
    except (OSError, zipfile.BadZipFile, NotImplementedError, ValueError, RuntimeError) as error:
        yield Handed(owner, file, None, modified(archive), f"it is not an archive that can be opened ({error})")


def made_by_somebody(member: zipfile.ZipInfo) -> bool:
    """Return whether a member is a file, and not an operating system's own."""
    return not member.is_dir() and not any(is_ignored(part) for part in PurePosixPath(member.filename).parts)


def without_notebook(members: list[zipfile.ZipInfo], file: str, wrapped: bool, students: set[str], in_folders: bool):
    """Return {student: names} of the files of students who are not among these.

    A platform put them down to somebody, or they lie `in_folders` that are named after students.
    """
    found: dict[str, list[str]] = {}
    for member in members:
        path = path_within(member, wrapped)
        if MOODLE.match(path.parts[0]) or CANVAS.match(path.name) or (in_folders and len(path.parts) > 1):
            student = student_of_member(path, file)
            if student not in students:
                found.setdefault(student, []).append(clean(member.filename))
    return found


def only_others(names: list[str]) -> str:
    """Return what is wrong when other files than notebooks are all that there is."""
    archive = "; unpack the archive around it, and archives in it are read" if any(map(is_archive, names)) else ""
    return f"no notebook was handed in, only {', '.join(names[:5])}{archive}"


def archive_problem(members: list[zipfile.ZipInfo]) -> str:
    """Return why an archive is not opened, "" for nothing."""
    if len(members) > MOST_MEMBERS:
        return f"it holds {len(members)} files and the limit is {MOST_MEMBERS}{A_WHOLE_CLASS}"
    size = sum(member.file_size for member in members)
    if size > LARGEST_ARCHIVE:
        return f"it unpacks to {size // 10**6} MB and the limit is {LARGEST_ARCHIVE // 10**6}{A_WHOLE_CLASS}"
    for member in members:
        path = PurePosixPath(member.filename.replace("\\", "/"))
        if path.is_absolute() or ".." in path.parts or re.match(r"^[A-Za-z]:", member.filename):
            return "it holds a path that leads outside"
        if len(path.parts) > DEEPEST_FOLDER or any(len(part) > LONGEST_NAME for part in path.parts):
            return "it holds a path that no file system has"
        if stat.S_ISLNK(member.external_attr >> 16):
            return "it holds a link"
    return ""


def read_member(opened: zipfile.ZipFile, member: zipfile.ZipInfo, file: str, student: str, wrapped: bool) -> Handed:
    """Return one notebook of an archive; the announced size is not believed."""
    path = path_within(member, wrapped)
    name = clean(f"{file}/{member.filename}")
    if not student:
        student = student_of_member(path, file)
    time = member_time(member)
    try:
        with opened.open(member) as stream:
            data = stream.read(LARGEST_FILE + 1)
    except (OSError, zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError, EOFError) as error:
        return Handed(student, name, None, time, f"it cannot be unpacked ({error})")
    except Exception as error:  # zlib.error and its kin of the other compressions share no base class
        return Handed(student, name, None, time, f"it cannot be unpacked ({type(error).__name__})")
    if len(data) > LARGEST_FILE:
        return Handed(student, name, None, time, too_large(len(data)))
    return Handed(student, name, data, time, notes=late_note(path.name))


def path_within(member: zipfile.ZipInfo, wrapped: bool) -> PurePosixPath:
    """Return where a member lies in its archive, without the folder around a whole class."""
    path = PurePosixPath(member.filename)
    return PurePosixPath(*path.parts[1:]) if wrapped and len(path.parts) > 1 else path


def member_time(member: zipfile.ZipInfo) -> float:
    """Return when a member was changed last, 0 when its archive does not know: a month may be 0 there."""
    try:
        return float(calendar.timegm((*member.date_time, 0, 0, 0)))
    except ValueError:
        return 0.0


def around_all(paths: list[PurePosixPath]) -> str:
    """Return what the one folder around everything is: of a "class", whose folders it holds, of a "learner", or ""."""
    if len({path.parts[0] for path in paths}) > 1 or any(len(path.parts) < 2 for path in paths):
        return ""
    if MOODLE.match(paths[0].parts[0]):
        return "learner"
    inner = {path.parts[1] for path in paths if len(path.parts) > 2 and not LESSON.search(path.parts[1])}
    return "class" if len(inner) > 1 and all(len(path.parts) > 2 for path in paths) else "learner"


def student_of_member(path: PurePosixPath, file: str) -> str:
    """Return whose a member is: its folder's, its own name's, or the archive's when it is named after its lesson."""
    if len(path.parts) > 1:
        return student_from_folder(clean(path.parts[0]))
    named = student_from_name(clean(path.name))
    return student_from_name(file) if LESSON.fullmatch(named) else named
