"""One JupyterLab server, one Chromium, and a page object for each notebook that a test opens."""

import contextlib
import importlib.util
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import pytest

from .lesson_page import LessonPage

ROOT = Path(__file__).resolve().parents[2]
START = 90  # seconds a server may take on a busy machine
CHROMIUM_FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # even a request nobody intercepts stays here
]
LAB_SETTINGS = {
    "@jupyterlab/apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyterlab/notebook-extension/tracker": {"windowingMode": "none"},  # cells out of sight must exist, too
}


def pytest_collection_modifyitems(items):
    """Everything in this folder needs the browser."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


def missing(reason):
    """Skip with a reason, or fail where everything must be there."""
    if os.environ.get("CI") == "true" or os.environ.get("FFNLIB_REQUIRE_ALL") == "1":
        pytest.fail(f"{reason}, and CI=true or FFNLIB_REQUIRE_ALL=1 asks for every test")
    pytest.skip(reason)


@dataclass(frozen=True)
class Server:
    """A running JupyterLab: where it answers, and the folder it shows."""

    address: str
    token: str
    folder: Path

    def sessions(self):
        """What its kernels are doing."""
        return json.loads(self.ask("sessions"))

    def ask(self, what, method="GET"):
        """Use the server's own interface."""
        question = urllib.request.Request(f"{self.address}/api/{what}?token={self.token}", method=method)
        with urllib.request.urlopen(question, timeout=30) as answer:
            return answer.read()


# The fixtures end with this folder: Playwright's event loop would disturb tests after it that start one of their own.
@pytest.fixture(scope="package")
def server(tmp_path_factory):
    """JupyterLab on a folder of its own, its settings and its readers' progress apart from those of this machine."""
    if importlib.util.find_spec("jupyterlab") is None:
        missing("JupyterLab is not installed: pip install jupyterlab")
    home, folder = tmp_path_factory.mktemp("jupyter"), tmp_path_factory.mktemp("lessons")
    for name, settings in LAB_SETTINGS.items():
        file = home / "settings" / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(settings))
    places = (
        "JUPYTER_CONFIG_DIR",
        "JUPYTER_DATA_DIR",
        "JUPYTER_RUNTIME_DIR",
        "JUPYTERLAB_WORKSPACES_DIR",
        "IPYTHONDIR",
    )
    environment = {
        **os.environ,
        **{name: str(home / name.lower()) for name in places},
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        "FFNLIB_PROGRESS": str(home / "progress.jsonl"),
        "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
    }
    token = secrets.token_hex(16)
    options = [
        *("--no-browser", "--allow-root", "--ip=127.0.0.1"),  # it takes a free port, and says which in a file
        *(f"--ServerApp.root_dir={folder}", f"--IdentityProvider.token={token}", "--LabApp.expose_app_in_browser=True"),
        "--JupyterNotebookApp.expose_app_in_browser=True",
    ]
    with (home / "server.log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "jupyter", "lab", *options],
            env=environment, cwd=folder, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
    try:
        address = _address(Path(environment["JUPYTER_RUNTIME_DIR"]), process, home / "server.log")
        yield Server(address, token, folder)
    finally:
        _stop(process)


def _address(runtime, process, log):
    """Return where the server answers, as soon as it does."""
    until = time.monotonic() + START
    while time.monotonic() < until and process.poll() is None:
        with contextlib.suppress(OSError, ValueError):  # not written yet, written by half, or not answering yet
            for file in runtime.glob("jpserver-*.json"):
                address = f"http://127.0.0.1:{json.loads(file.read_text())['port']}"
                with urllib.request.urlopen(f"{address}/api", timeout=30):
                    return address
        time.sleep(0.3)
    pytest.fail(f"JupyterLab did not answer:\n{log.read_text()[-3000:]}")


def _stop(process):
    for gentle in (signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)):
        if process.poll() is not None:
            return
        os.killpg(process.pid, gentle) if hasattr(os, "killpg") else process.terminate()
        try:
            process.wait(timeout=10 if gentle != signal.SIGINT else 3)
        except subprocess.TimeoutExpired:
            continue


def _chromium(playwright):
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    found = [os.environ.get("FFNLIB_CHROMIUM"), *map(shutil.which, names), playwright.chromium.executable_path]
    return next((path for path in found if path and Path(path).exists()), None)


@pytest.fixture(scope="package")
def browser():
    """The one Chromium; FFNLIB_CHROMIUM names it where it is not on the path."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("playwright is not installed: pip install playwright")
    with sync_playwright() as playwright:
        path = _chromium(playwright)
        if path is None:
            missing("no Chromium: install it from your system, or run `playwright install chromium`")
        chromium = playwright.chromium.launch(executable_path=path, args=CHROMIUM_FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="package")
def axe():
    """The accessibility checker's script."""
    try:
        import axe_playwright_python
    except ImportError:
        missing("axe is not installed: pip install axe-playwright-python")
    return (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")


@pytest.fixture(scope="package")
def pictures(tmp_path_factory):
    """Where screenshots go; FFNLIB_SCREENSHOTS keeps them."""
    kept = os.environ.get("FFNLIB_SCREENSHOTS")
    folder = Path(kept) if kept else tmp_path_factory.mktemp("screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextlib.contextmanager
def opening_lessons(browser, axe, server, pictures):
    """Give a function that copies a notebook to the server and opens it; what went wrong unseen fails at the end."""
    opened = []

    def open_notebook(source, name=None, front_end="lab"):
        copy = server.folder / (name or Path(source).name)
        shutil.copyfile(source, copy)
        opened.append(LessonPage.open(browser, server, copy, axe, pictures, front_end))
        return opened[-1]

    yield open_notebook
    for lesson in opened:
        lesson.close()
    assert {lesson.name: lesson.complaints for lesson in opened if lesson.complaints} == {}


@pytest.fixture(scope="module")
def open_lesson(browser, axe, server, pictures):
    """Open lessons that the tests of one file share."""
    with opening_lessons(browser, axe, server, pictures) as opened:
        yield opened


@pytest.fixture
def open_lesson_alone(browser, axe, server, pictures):
    """Open a lesson for one test: an open page costs work even when nobody looks at it."""
    with opening_lessons(browser, axe, server, pictures) as opened:
        yield opened
