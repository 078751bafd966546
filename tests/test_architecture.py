"""The import rules as data, checked on the source; and what may not stand anywhere in the repository."""

import ast
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ffnlib

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "ffnlib"

# Each room and what of ffnlib it may import; the longest name that fits a module is its room.
# A module may always import from its own room. A new module needs a room here.
TYPES = {"examination.exercise", "examination.verdict"}
MATHEMATICS = {"layer", "activations", "ledger", "sparsity", "experts", "memory", "editing", "specimen", "scaling"}
OBSERVING = {"examination.evidence", "examination.modules"}
READING = {"examination.forms", "examination.module_forms", "examination.compare", "examination.wording"}
NAMING = {"examination.slips", "examination.known_errors"}
TRYING = {"examination.trials", "examination.probing"}
MAY_IMPORT = {
    "": set(),
    "__main__": {""},
    "installing": set(),
    "environment": {"installing"},
    "launcher": {"environment"},
    "doctor": {"learner", "specimen"},
    "scrolling": set(),
    **dict.fromkeys(MATHEMATICS, MATHEMATICS),
    "ledger": MATHEMATICS | {"scrolling"},
    "figures": MATHEMATICS | {"scrolling"},
    "widgets": {"figures"} | MATHEMATICS,
    "examination": set(),
    **dict.fromkeys(TYPES, TYPES),
    **dict.fromkeys(OBSERVING, TYPES | OBSERVING),
    **dict.fromkeys(READING, TYPES | OBSERVING | READING),
    **dict.fromkeys(NAMING, TYPES | OBSERVING | READING | NAMING),
    **dict.fromkeys(TRYING, TYPES | OBSERVING | READING | TRYING),
    "examination.explain": TYPES | OBSERVING | READING | NAMING | TRYING,
    "examination.judge": TYPES | OBSERVING | READING | NAMING | TRYING | {"examination.explain"},
    "examination.lessons": TYPES | MATHEMATICS | READING | NAMING,
    "course": set(),
    "learner": {"examination", "course", "scrolling"},
    "review": {"learner", "figures", "course", "scrolling"},
    "grading": {"examination", "authoring.notebook", "scrolling"},
    "grading.worker": {"examination.evidence"},
    "authoring": {"examination", "figures", "review", "course"},
}
STANDARD_LIBRARY_ONLY = {"", "__main__", "launcher", "environment", "installing"}
MAY_TOUCH_IPYTHON = {"learner", "figures", "widgets"}
IPYTHON = {"IPython", "ipywidgets", "anywidget", "traitlets"}
WITH_KEYS = {"examination.judge", "examination.explain", "examination.lessons", "learner", "grading"}
DECIDING = WITH_KEYS | READING | NAMING | TRYING


# ---- reading the source ------------------------------------------------------------------------


def modules():
    """Give every module of ffnlib by its name without the leading `ffnlib.`."""
    found = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        parts = file.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(part for part in parts if part != "__init__")] = file
    return found


MODULES = modules()


def room(module):
    """Give the room of a module: the longest name of the table that fits; None when there is no room for it."""
    fitting = [name for name in MAY_IMPORT if name and (module == name or module.startswith(name + "."))]
    return max(fitting, key=len, default="" if module == "" else None)


def imports(module):
    """List what a module imports anywhere in its text, as full names; `from a import b` counts as a.b if a module."""
    for node in ast.walk(ast.parse(MODULES[module].read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: imports are absolute in ffnlib, line {node.lineno} is relative"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner.removeprefix("ffnlib.") in MODULES else node.module


def own_imports(module):
    """List the modules of ffnlib that a module imports."""
    return {
        name.removeprefix("ffnlib").removeprefix(".") for name in imports(module) if name.partition(".")[0] == "ffnlib"
    }


def foreign_imports(module):
    """List the top-level packages outside ffnlib and the standard library that a module imports."""
    return {name.partition(".")[0] for name in imports(module)} - sys.stdlib_module_names - {"ffnlib"}


def reached_from(start):
    """List every module of ffnlib that is imported by the modules of a room, by what those import, and so on."""
    seen, ahead = set(), {name for name in MODULES if room(name) == start}
    while ahead:
        seen |= ahead
        ahead = {name for known in ahead for name in own_imports(known) if name in MODULES} - seen
    return seen


# ---- the rules ---------------------------------------------------------------------------------


@pytest.mark.parametrize("module", MODULES, ids=lambda name: name or "ffnlib")
def test_a_module_imports_only_what_its_room_may(module):
    own = room(module)
    assert own is not None, f"{module} has no room in MAY_IMPORT: say there what it may import"
    allowed = MAY_IMPORT[own] | {own}
    for name in own_imports(module):
        assert any(name == other or (other and name.startswith(other + ".")) for other in allowed), (
            f"{module or 'ffnlib'} imports {name}, and its room {own!r} may import only {sorted(allowed)}"
        )


def test_the_first_commands_need_the_standard_library_only():
    for module in STANDARD_LIBRARY_ONLY:
        assert not foreign_imports(module), module


def test_only_learner_figures_and_widgets_touch_ipython():
    touching = {module for module in MODULES if foreign_imports(module) & IPYTHON}
    assert {room(module) for module in touching} <= MAY_TOUCH_IPYTHON


def test_the_worker_reaches_nothing_that_decides():
    assert not [name for name in reached_from("grading.worker") if room(name) in DECIDING]


def test_the_rules_notice_a_forbidden_import(tmp_path, monkeypatch):
    wrong = tmp_path / "worker.py"
    wrong.write_text("def f():\n    from ffnlib.examination import judge\n")
    monkeypatch.setitem(MODULES, "grading.worker", wrong)
    with pytest.raises(AssertionError, match=r"grading\.worker imports examination\.judge"):
        test_a_module_imports_only_what_its_room_may("grading.worker")
    with pytest.raises(AssertionError):
        test_the_worker_reaches_nothing_that_decides()


def test_no_module_is_a_drawer_for_everything():
    assert not {"utils", "util", "helpers", "common", "misc"} & {name.rpartition(".")[2] for name in MODULES}


def test_no_module_carries_the_name_of_a_public_function():
    assert not set(ffnlib.__all__) & {info.name for info in pkgutil.iter_modules(ffnlib.__path__)}


# ---- in a fresh process ------------------------------------------------------------------------


def fresh(code):
    """Run code in a new Python and give what it prints."""
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


def loaded_by(statement):
    """List the packages outside the standard library and ffnlib that a statement loads."""
    code = f"import sys; before = set(sys.modules); {statement}; print(*(set(sys.modules) - before))"
    return {name.partition(".")[0] for name in fresh(code).split()} - sys.stdlib_module_names - {"ffnlib"}


@pytest.mark.parametrize("module", ["ffnlib", "ffnlib.__main__", "ffnlib.launcher"])
def test_importing_it_loads_nothing_beyond_the_standard_library(module):
    assert loaded_by(f"import {module}") == set()


def test_a_check_loads_neither_torch_nor_the_notebook_interface():
    loaded = loaded_by("from ffnlib import check; check('relu', lambda x: x)")
    assert "numpy" in loaded
    assert not loaded & {"torch", "matplotlib", "IPython", "ipywidgets"}


@pytest.mark.parametrize("name", [name for name in ffnlib.__all__ if not name.startswith("__")])
def test_a_public_name_is_not_shadowed_whichever_import_comes_first(name):
    home = ffnlib._HOME[name]
    by_name = f"from ffnlib import {name}; import {home}; import ffnlib; print(ffnlib.{name} is {home}.{name})"
    by_home = f"import {home}; from ffnlib import {name}; import ffnlib; print(ffnlib.{name} is {home}.{name})"
    assert fresh(by_name) == fresh(by_home) == "True"


def test_a_name_that_is_not_there_is_answered_with_those_that_are():
    with pytest.raises(AttributeError, match="it offers Verdict, __version__, check, "):
        ffnlib.chekc  # noqa: B018
    assert set(ffnlib.__all__) <= set(dir(ffnlib))


# ---- the whole repository ----------------------------------------------------------------------


def repository_files():
    """List the files that are, or are about to be, under version control, and that are text."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, capture_output=True, text=True
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file() and b"\0" not in (data := (ROOT / name).read_bytes())[:8000]:
            yield name, data.decode("utf-8", "replace")


# written in pieces, so that this file does not find itself; "ada" is the person of made-up examples
SOMEBODYS_FOLDER = re.compile(
    "|".join(
        [
            r"(?<![\w.])/ro" + "ot/",
            r"(?<![\w.])/wo" + "rk/",
            "/ho" + r"me/(?!ada/)\w",
            "/Us" + r"ers/(?!ada/)\w",
            r"[A-Z]:\\Us" + "ers",
        ]
    )
)
PACKAGE_HOST = re.compile(
    r"py" + r"pi\.org|python" + r"hosted|download\.py" + r"torch|/si" + r"mple/?\b|re" + r"gistry\.npm|an" + "aconda",
    re.I,
)


def test_no_file_names_a_folder_of_somebodys_machine():
    found = {name: match[0] for name, text in repository_files() if (match := SOMEBODYS_FOLDER.search(text))}
    assert not found


def test_the_only_package_index_is_the_one_constant_of_the_environment():
    found = [(name, match[0]) for name, text in repository_files() for match in PACKAGE_HOST.finditer(text)]
    assert found == [("ffnlib/environment.py", "download.py" + "torch")]


def test_the_scan_would_notice():
    assert SOMEBODYS_FOLDER.search("see /ho" + "me/ann/x") and not SOMEBODYS_FOLDER.search("the notebooks/home folder")
    assert PACKAGE_HOST.search("https://py" + "pi.org/x")
