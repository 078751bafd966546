"""The launcher, tried on a small copy of the course whose packages are fakes: nothing leaves this machine."""

import base64
import contextlib
import hashlib
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
import urllib.request
import zipfile
from pathlib import Path

import pytest

import ffnlib.__main__ as command_line
from ffnlib import environment, installing, launcher

ROOT = Path(__file__).resolve().parents[1]
COPIED = ("__init__.py", "__main__.py", "launcher.py", "environment.py", "installing.py")
JUPYTERLAB = {
    "jupyterlab/__init__.py": "",
    "jupyterlab/__main__.py": "import json, os, sys; print(json.dumps([sys.argv[1:], dict(os.environ)]))",
}
BACKEND = """
import os, zipfile
def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    name = "ffnlib-0-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w") as wheel:
        wheel.writestr("ffnlib.pth", os.getcwd())
        wheel.writestr("ffnlib-0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: ffnlib\\nVersion: 0\\n" + REQUIRES)
        wheel.writestr("ffnlib-0.dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr("ffnlib-0.dist-info/RECORD", "")
    return name
REQUIRES = "Requires-Dist: jupyterlab\\nRequires-Dist: torch\\n"
"""


# ---- a course of fakes -------------------------------------------------------------------------


def write_wheel(folder, name, version, files):
    """Write the smallest wheel that pip installs."""
    folder.mkdir(parents=True, exist_ok=True)
    info = f"{name}-{version}.dist-info"
    files = files | {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    rows = [f"{path},sha256={digest(text)},{len(text.encode())}" for path, text in files.items()]
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        for path, text in files.items():
            wheel.writestr(path, text)
        wheel.writestr(f"{info}/RECORD", "\n".join([*rows, f"{info}/RECORD,,"]))


def digest(text):
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


def write_index(folder, **wheels):
    """Write a package index as a folder: name=(version, files)."""
    for name, (version, files) in wheels.items():
        write_wheel(folder / name, name, version, files)
        links = "".join(f'<a href="{file.name.replace("+", "%2B")}">x</a>' for file in (folder / name).glob("*.whl"))
        (folder / name / "index.html").write_text(f"<!DOCTYPE html><html><body>{links}</body></html>")
    return folder.as_uri()


class Course:
    """A copy of the launcher in a folder of its own, with an ordinary index and one of CPU builds."""

    def __init__(self, root):
        self.root = root / "a course"
        (self.root / "ffnlib").mkdir(parents=True)
        for name in COPIED:
            shutil.copy(ROOT / "ffnlib" / name, self.root / "ffnlib" / name)
        (self.root / "notebooks").mkdir()
        for name in ("setup.py", "README.md", "LICENSE"):
            (self.root / name).touch()
        (self.root / "requirements.txt").write_text("jupyterlab>=4  # a comment\ntorch>=2.4,<3\n")
        (self.root / "constraints.txt").write_text("torch==2.13.0\n")
        (self.root / "pyproject.toml").write_text(
            "[build-system]\nrequires = []\nbuild-backend = 'backend'\nbackend-path = ['.']\n"
        )
        (self.root / "backend.py").write_text(BACKEND)
        self.ordinary = write_index(
            root / "ordinary",
            jupyterlab=("4.1.0", JUPYTERLAB),
            torch=("2.13.0", {"torch/__init__.py": "BUILD = 'cuda'"}),
        )
        self.cpu = write_index(root / "cpu", torch=("2.13.0+cpu", {"torch/__init__.py": "BUILD = 'cpu'"}))
        self.use_cpu_index(self.cpu)
        self.home = root / "home"

    @property
    def environment(self):
        return self.root / ".venv"

    def use_cpu_index(self, address):
        """Put another address into the launcher's one constant, and shorten its patience."""
        source = (ROOT / "ffnlib" / "environment.py").read_text()
        for old, new in {
            environment.TORCH_CPU_INDEX: address,
            "SOCKET_SECONDS = 15": "SOCKET_SECONDS = 2",
            "ANSWER_SECONDS = 30": "ANSWER_SECONDS = 4",
        }.items():
            assert source.count(old) == 1
            source = source.replace(old, new)
        (self.root / "ffnlib" / "environment.py").write_text(source)

    def command(self, *words, python=sys.executable, **more):
        """Describe how to start the course as a newcomer does: from its folder, with pip set to the ordinary index."""
        unwanted = ("PIP_", "PYTHON", "FFNLIB_", "VIRTUAL_ENV", "DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "WSL_")
        clean = {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}
        pip = {
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_INDEX_URL": self.ordinary,
            "PIP_NO_CACHE_DIR": "1",
            "PIP_RETRIES": "1",
        }
        env = clean | pip | {"HOME": str(self.home)} | more
        return {
            "args": [python, "-m", "ffnlib", *words],
            "cwd": self.root,
            "env": env,
            "text": True,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.STDOUT,
        }

    def start(self, *words, **more):
        """Start it and wait for its end."""
        return subprocess.run(**self.command(*words, **more), timeout=300)

    def forget_torch(self):
        """Take torch out of the environment, as if it had never been installed."""
        for place in self.environment.glob("lib/python*/site-packages/torch*"):
            shutil.rmtree(place)
        self.forget_stamps()

    def forget_stamps(self):
        for file in self.environment.glob("*.stamp"):
            file.unlink()

    def torch_build(self):
        """Ask the environment which torch it has."""
        python = environment.python_of(self.environment)
        return subprocess.run(
            [python, "-c", "import torch; print(torch.BUILD)"], capture_output=True, text=True
        ).stdout.strip()


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A course that was started once."""
    course = Course(tmp_path_factory.mktemp("launcher"))
    course.first = course.start("lab", "--install-only")
    assert course.first.returncode == 0, course.first.stdout
    return course


@pytest.fixture
def new_course(tmp_path):
    """A course that was never started."""
    return Course(tmp_path)


# ---- starting ----------------------------------------------------------------------------------


def test_the_first_start_says_what_it_does_and_makes_the_environment(course):
    assert "Making an environment" in course.first.stdout
    assert "The environment is ready" in course.first.stdout
    assert course.torch_build() == "cpu"


def test_the_second_start_installs_nothing(course):
    before = (course.environment / "ffnlib-install.log").read_text()
    second = course.start("lab", "--install-only", PIP_INDEX_URL="http://127.0.0.1:9/")
    assert second.stdout.splitlines() == [f"The environment is ready: {course.environment}"]
    assert (course.environment / "ffnlib-install.log").read_text() == before


def test_lab_opens_the_first_lesson_and_passes_other_options_on(course):
    lines = course.start("lab", "--port=9999").stdout.splitlines()
    options, env = json.loads(lines[-1])
    assert f"--ServerApp.root_dir={course.root / 'notebooks'}" in options
    assert "--LabApp.default_url=/lab/tree/00_start_here.ipynb" in options
    assert options[-1] == "--port=9999"
    assert env["JUPYTER_PREFER_ENV_PATH"] == "1"


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="a screen is always there")
def test_without_a_screen_the_address_is_for_copying(course):
    assert "--no-browser" in course.start("lab").stdout
    assert "--no-browser" not in course.start("lab", DISPLAY=":0").stdout


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no root on this system")
def test_root_may_start_it(course):
    assert ("--allow-root" in course.start("lab").stdout) == (os.geteuid() == 0)


def test_jupyter_is_told_not_to_ask_for_news(course):
    settings = json.loads((course.environment / "share/jupyter/lab/settings/overrides.json").read_text())
    assert settings["@jupyterlab/apputils-extension:notification"] == {"fetchNews": "false", "checkForUpdates": False}
    assert "NeverCheckForUpdate" in course.start("lab").stdout


@pytest.mark.slow
def test_the_real_jupyterlab_answers_and_starts_a_kernel_without_a_warning(tmp_path):
    if not environment.is_current(None):
        pytest.skip("this checkout's environment was not made by the launcher: start `python3 -m ffnlib lab` once")
    env = os.environ | {"JUPYTER_RUNTIME_DIR": str(tmp_path), "JUPYTER_TOKEN": "t"}
    words = [sys.executable, "-m", "ffnlib", "lab", "--no-browser"]
    with (tmp_path / "terminal").open("w+") as terminal:
        with subprocess.Popen(words, cwd=ROOT, env=env, stdout=terminal, stderr=subprocess.STDOUT) as lab:
            try:
                server, answer = wait_for("api/contents/00_start_here.ipynb?content=0&token=t", tmp_path, lab)
                asked = urllib.request.Request(f"{server}api/kernels", b"{}", {"Authorization": "token t"})
                assert json.loads(urllib.request.urlopen(asked, timeout=60).read())["name"] == "python3"
                time.sleep(5)  # what a kernel has to say, it says when it opens its sockets
            finally:
                lab.terminate()
        terminal.seek(0)
        assert "WARNING" not in terminal.read()
    assert json.loads(answer)["type"] == "notebook"


def wait_for(page, runtime, process):
    """Return the address of a server, which it writes into a file, and a page of it, as soon as it answers."""
    for _ in range(240):
        assert process.poll() is None, "it ended before it answered"
        with contextlib.suppress(OSError, ValueError):
            for file in runtime.glob("jpserver-*.json"):
                address = json.loads(file.read_text())["url"]
                with urllib.request.urlopen(address + page, timeout=5) as answer:
                    return address, answer.read()
        time.sleep(0.5)
    raise AssertionError("no answer in two minutes")


# ---- choosing PyTorch's build ------------------------------------------------------------------


class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Silent(Handler):
    def do_GET(self):
        self.server.released.wait()


class Dripping(Handler):
    """Sends a page a few letters a second, so that no read ever times out."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        with contextlib.suppress(OSError):
            while not self.server.released.wait(0.5):
                self.wfile.write(b"<!-- -->")
                self.wfile.flush()


@contextlib.contextmanager
def serving(handler, folder=None):
    """Serve a folder on this machine's loopback."""
    make = (lambda *args: handler(*args, directory=folder)) if folder else handler
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), make)
    server.released = threading.Event()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.released.set()
        server.shutdown()
        server.server_close()


cpu_choice = pytest.mark.skipif(not environment.prefers_cpu_torch(), reason="the ordinary PyTorch suits this machine")


@cpu_choice
def test_an_index_that_answers_gives_the_cpu_build(course):
    with serving(Handler, course.root.parent / "cpu") as address:
        course.use_cpu_index(address)
        course.forget_torch()
        assert "gave nothing" not in course.start("lab", "--install-only").stdout
    assert course.torch_build() == "cpu"


@cpu_choice
@pytest.mark.parametrize("handler", [Silent, Dripping])
def test_an_index_that_hangs_is_left_and_the_ordinary_one_used(course, handler):
    with serving(handler) as address:
        course.use_cpu_index(address)
        course.forget_torch()
        assert "gave nothing" in course.start("lab", "--install-only").stdout
    assert course.torch_build() == "cuda"


@cpu_choice
def test_an_index_that_refuses_or_lacks_the_version_is_left_too(course, tmp_path):
    for address in (
        "http://127.0.0.1:9",
        write_index(tmp_path / "old", torch=("2.12.0+cpu", {"torch/__init__.py": ""})),
    ):
        course.use_cpu_index(address)
        course.forget_torch()
        assert "gave nothing" in course.start("lab", "--install-only").stdout
        assert course.torch_build() == "cuda"


def test_other_machines_take_the_ordinary_build(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert not environment.prefers_cpu_torch()
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    assert not environment.prefers_cpu_torch()
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    monkeypatch.setattr(shutil, "which", lambda name: "nvidia-smi")
    assert not environment.prefers_cpu_torch()


# ---- broken, interrupted, at the same time, offline --------------------------------------------


def test_a_package_that_was_unpacked_by_half_is_found_and_the_environment_made_again(course):
    [package] = course.environment.glob("lib/python*/site-packages/jupyterlab")
    shutil.rmtree(package)
    course.forget_stamps()
    again = course.start("lab", "--install-only")
    assert again.returncode == 0
    assert "Making it again" in again.stdout


def test_an_environment_without_pip_is_noticed(tmp_path, monkeypatch):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path], check=True)
    monkeypatch.setattr(environment, "ENVIRONMENT", tmp_path)
    assert environment.version_inside() == f"{sys.version_info.major} {sys.version_info.minor}"
    assert not environment.has_pip()


def test_two_starts_at_once_install_once(new_course):
    both = [subprocess.Popen(**new_course.command("lab", "--install-only")) for _ in range(2)]
    told = [process.communicate(timeout=300)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0], told
    assert sorted("Installing what the course needs" in text for text in told) == [False, True]
    assert sum("Waiting for it" in text for text in told) == 1


def test_without_a_network_the_first_start_says_so(course):
    course.forget_torch()
    course.use_cpu_index("http://127.0.0.1:9")
    failed = course.start("lab", "--install-only", PIP_INDEX_URL="http://127.0.0.1:9/")
    course.use_cpu_index(course.cpu)
    assert failed.returncode == 1
    assert "could not be reached. Is this machine connected" in failed.stdout
    assert "Traceback" not in failed.stdout
    assert course.start("lab", "--install-only").returncode == 0


def test_a_newer_course_without_a_network_starts_with_the_old_packages(course):
    assert course.start("lab", "--install-only").returncode == 0
    (course.root / "constraints.txt").write_text("torch==2.14.0\n")
    offline = course.start("lab", PIP_INDEX_URL="http://127.0.0.1:9/")
    assert offline.returncode == 0
    assert "Starting with those of the last time" in offline.stdout
    strict = course.start("test", PIP_INDEX_URL="http://127.0.0.1:9/")
    assert strict.returncode == 1, "tests of the wrong versions prove nothing"
    (course.root / "constraints.txt").write_text("torch==2.13.0\n")


def test_a_folder_that_cannot_be_written_is_refused_with_advice(monkeypatch):
    assert not environment.can_write(Path("/no/such/folder"))
    monkeypatch.setattr(environment, "can_write", lambda folder: False)
    monkeypatch.setattr(environment, "is_current", lambda extra: False)
    with pytest.raises(environment.CannotPrepare, match="Copy the folder to a place of your own"):
        environment.prepare()


def test_a_debian_python_without_venv_is_told_the_package(monkeypatch):
    assert environment.missing_from_python() is None
    monkeypatch.setitem(sys.modules, "ensurepip", None)
    with pytest.raises(environment.CannotPrepare, match=r"sudo apt install python3\.\d+-venv"):
        environment.make_anew()


# ---- what pip writes, told to a person ---------------------------------------------------------


def test_progress_counts_the_packages_that_this_step_made_complete(tmp_path):
    for name in ("numpy-2.4.6", "six-1.17.0", "torch-2.13.0"):
        (tmp_path / f"lib/python3.11/site-packages/{name}.dist-info").mkdir(parents=True)
    for name, written in {"six-1.17.0": 1_000, "torch-2.13.0": 2_000}.items():
        mark = tmp_path / f"lib/python3.11/site-packages/{name}.dist-info/INSTALLER"
        mark.touch()
        os.utime(mark, (written, written))
    assert installing.packages_installed(tmp_path, since=0) == 2
    assert installing.packages_installed(tmp_path, since=1_500) == 1


def test_how_far_an_installation_is_fits_a_terminal_of_80_columns():
    everything = [f"Installing collected packages: {', '.join(['six'] * 150)}"]
    doing = installing.activity(everything, lambda: 150)
    line = f"  step 2 of 2, the others: {3600:4d} s  {doing}"
    assert installing.fitting(line, 79) == line
    cut = installing.fitting(f"  step 2 of 2, the others:   14 s  116 found, fetching {'long' * 9}-1.0 (17.3 MB)", 79)
    assert len(cut) == 79 and "fetching longlong" in cut and cut.endswith("...")


@cpu_choice
def test_each_step_of_the_installation_has_its_own_name_and_count(course):
    told = course.first.stdout
    steps = re.findall(r"^  (step \d of 2, [A-Za-z ]+): +\d+ s  ", told, re.MULTILINE)
    assert list(dict.fromkeys(steps)) == ["step 1 of 2, PyTorch", "step 2 of 2, the others"], told


def test_a_full_disk_is_told_apart_from_a_missing_network():
    disk = [
        "Collecting torch",
        "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device",
    ]
    assert "The disk is full" in installing.explain(disk)
    assert not installing.is_offline(disk)
    network = [
        "WARNING: Retrying after connection broken by NewConnectionError",
        "ERROR: No matching distribution",
    ]
    assert "HTTPS_PROXY" in installing.explain(network)
    assert installing.is_offline(network)


def test_an_unknown_failure_shows_pips_last_words():
    assert installing.explain(["Collecting x", "ERROR: it broke"]) == "pip says:\n    ERROR: it broke"


# ---- the test command --------------------------------------------------------------------------


def test_the_test_command_runs_tests_and_notebooks_apart():
    tests, notebooks = launcher.runs(["-x"])
    assert tests == [*launcher.TESTS, *launcher.IN_PARALLEL, "tests", "ffnlib", "-x"]
    assert notebooks == [*launcher.NOTEBOOKS, *launcher.IN_PARALLEL, "solutions", "notebooks", "-x"]


def test_a_named_test_or_notebook_is_run_alone():
    assert launcher.runs(["tests/test_launcher.py::test_x", "-q"]) == [
        [*launcher.TESTS, "tests/test_launcher.py::test_x", "-q"]
    ]
    assert launcher.runs(["solutions"]) == [[*launcher.NOTEBOOKS, "solutions"]]


def test_one_failing_run_fails_the_whole():
    assert launcher.worst([0, 1]) == 1
    assert launcher.worst([0, -9]) == -9
    assert launcher.worst([5, 0]) == 0
    assert launcher.worst([5, 5]) == 5


def test_the_summary_counts_over_all_runs_and_names_the_slowest(tmp_path):
    first, second = tmp_path / "1.xml", tmp_path / "2.xml"
    first.write_text(
        '<testsuites><testsuite><testcase classname="tests.a" name="quick" time="0.1"/>'
        '<testcase classname="tests.a" name="slow" time="9"><failure/></testcase></testsuite></testsuites>'
    )
    second.write_text(
        '<testsuites><testsuite><testcase name="c" time="1"><skipped/></testcase></testsuite></testsuites>'
    )
    told = launcher.summary([first, second])
    assert told.splitlines()[-1] == "total: 1 passed, 1 failed, 1 skipped"
    assert told.index("slow") < told.index("quick")


# ---- the command line --------------------------------------------------------------------------


def pythons():
    """Find the Pythons of this machine: on PATH, and beside the one that runs the tests."""
    names = ["python2", *(f"python3.{minor}" for minor in range(5, 15))]
    found = [Path(path) for path in map(shutil.which, names) if path]
    found += Path(sys.base_prefix).parent.glob("[23].*/bin/python")
    return {version: str(path) for path in found if (version := version_of(path))}


def version_of(python):
    """Ask a Python for its version; None when it does not start."""
    with contextlib.suppress(OSError):
        asked = subprocess.run(
            [python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], capture_output=True, text=True
        )
        return tuple(map(int, asked.stdout.split("."))) if asked.returncode == 0 else None


PYTHONS = pythons()
SUITABLE = [version for version in PYTHONS if (3, 10) <= version <= (3, 13)]
ENDS = {min(SUITABLE), max(SUITABLE)} - {sys.version_info[:2]}
OTHER = [version for version in PYTHONS if version not in SUITABLE]


def dotted(version):
    return ".".join(map(str, version))


@pytest.mark.parametrize("version", OTHER, ids=dotted)
def test_a_python_that_is_too_old_is_answered_with_a_sentence(new_course, version):
    refused = new_course.start("lab", python=PYTHONS[version])
    assert refused.returncode == 1
    assert f"ffnlib needs Python 3.10, 3.11, 3.12 or 3.13; this is Python {dotted(version)}" in refused.stdout
    assert "Traceback" not in refused.stdout and "SyntaxError" not in refused.stdout


def test_a_python_that_is_too_new_is_refused_and_the_ends_are_not():
    assert "this is Python 3.14" in command_line.refusal((3, 14, 0))
    assert command_line.refusal((3, 9, 99)) and not command_line.refusal((3, 10, 0))
    assert not command_line.refusal((3, 13, 99))


@pytest.mark.slow
@pytest.mark.parametrize("version", sorted(ENDS), ids=dotted)
def test_the_oldest_and_the_newest_python_make_the_environment(new_course, version):
    made = new_course.start("lab", "--install-only", python=PYTHONS[version])
    assert made.returncode == 0, made.stdout
    assert (new_course.environment / "lib" / f"python{dotted(version)}").exists()


@pytest.mark.parametrize("command", command_line.WORK)
def test_help_works_on_a_bare_python(command):
    code = (
        "import runpy, sys; sys.path = [p for p in sys.path if 'site-packages' not in p];"
        "sys.path.insert(0, '.'); sys.argv = ['ffnlib', *sys.argv[1:]]; runpy.run_module('ffnlib', run_name='__main__')"
    )
    shown = subprocess.run(
        [sys.executable, "-S", "-c", code, command, "--help"], cwd=ROOT, capture_output=True, text=True
    )
    if "is not part of this version" in shown.stderr:
        pytest.skip(shown.stderr.strip())
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.startswith(f"usage: python3 -m ffnlib {command} ")


def test_a_command_before_the_first_start_says_what_to_do(new_course):
    told = new_course.start("doctor", python=bare_python())
    assert told.returncode == 1
    assert "Make it first:  python3 -m ffnlib lab --install-only" in told.stdout


def bare_python():
    """Name a Python that has no package of the course."""
    return getattr(sys, "_base_executable", sys.executable)


@pytest.mark.parametrize("command", ["lab", "test", "doctor"])
def test_a_folder_that_was_copied_in_part_says_what_it_lacks(new_course, command):
    for name in ("requirements.txt", "pyproject.toml", "LICENSE"):
        (new_course.root / name).unlink()
    told = new_course.start(command, python=bare_python())
    assert told.returncode == 1
    assert "only a part of the course. It lacks: requirements.txt, pyproject.toml, LICENSE\n" in told.stdout
    assert "Copy the whole folder" in told.stdout
    assert not new_course.environment.exists()


def test_what_the_launcher_needs_is_what_the_installation_reads():
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    named = re.findall(r'^(?:readme|license-files) = \[?"(.+?)"', project, re.MULTILINE)
    assert len(named) == 2 and {"setup.py", *environment.DECIDING, *named} <= set(launcher.NEEDED)
    assert launcher.what_is_lacking() is None


def test_the_installed_package_says_that_it_is_no_course(new_course):
    (new_course.root / "ffnlib-0.1.dist-info").mkdir()
    told = new_course.start("lab", python=bare_python())
    assert told.returncode == 1
    assert "holds the package only" in told.stdout and "get that, and start there" in told.stdout


def test_a_command_started_outside_goes_on_inside_the_environment(course):
    (course.root / "ffnlib" / "doctor.py").write_text(
        "import sys\n\n\ndef main(args):\n    print(sys.prefix)\n    return 7\n"
    )
    told = course.start("doctor")
    assert told.stdout.strip() == str(course.environment)
    assert told.returncode == 7


def test_a_command_that_this_version_lacks_is_named(course):
    told = course.start("export", "html", "--out", "x")
    assert told.returncode == 1
    assert "'export' is not part of this version of the course: it has no ffnlib.authoring" in told.stdout


def test_an_unknown_option_is_refused(course):
    assert "unrecognized arguments: --fast" in course.start("doctor", "--fast").stdout
