"""A notebook open in JupyterLab, with the few things a learner does to it."""

import json
import os
import re
import time
from urllib.parse import urlsplit

from . import looking

OUTPUTS = ".jp-OutputArea-output"
RUN = re.compile(r"^\[\d+\]:?$")
PATIENCE = 150_000  # milliseconds; a busy machine is no error
EXTERNAL = re.compile(r"^(https?|wss?)$")


class LessonPage:
    """One notebook in one page; `complaints` gathers console errors and requests that tried to leave the machine."""

    def __init__(self, page, server, file, axe, pictures):
        self.page, self.server, self.file, self.axe, self.pictures = page, server, file, axe, pictures
        self.name = file.name
        self.cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
        self.complaints = []

    @classmethod
    def open(cls, browser, server, file, axe, pictures, front_end="lab"):
        """Open the notebook in JupyterLab ("lab") or Notebook 7 ("notebooks"); wait until its kernel listens."""
        context = browser.new_context(viewport={"width": 1280, "height": 1000})
        context.set_default_timeout(PATIENCE)
        lesson = cls(context.new_page(), server, file, axe, pictures)
        lesson._listen(scripts=front_end == "lab")  # Notebook 7 writes errors of its own to the console
        place = f"lab/tree/{file.name}?reset&" if front_end == "lab" else f"notebooks/{file.name}?"
        lesson.page.goto(f"{server.address}/{place}token={server.token}")
        lesson.page.wait_for_function(
            "count => document.querySelectorAll('.jp-NotebookPanel .jp-Cell').length === count", arg=len(lesson.cells)
        )
        lesson.wait_for_kernel()
        return lesson

    def _listen(self, scripts):
        home = urlsplit(self.server.address).netloc

        def guard(route):
            address = urlsplit(route.request.url)
            if EXTERNAL.match(address.scheme) and address.netloc != home:
                self.complaints.append(f"a request left the machine: {route.request.url[:200]}")
                route.abort()
            else:
                route.continue_()

        self.page.context.route("**/*", guard)
        self.page.on("websocket", lambda socket: self._same_host(socket.url, home))
        if scripts:
            self.page.on("pageerror", lambda error: self.complaints.append(f"a script failed: {error}"))
            self.page.on("console", self._console)

    def _same_host(self, url, home):
        if urlsplit(url).netloc != home:
            self.complaints.append(f"a socket left the machine: {url[:200]}")

    def _console(self, message):
        if message.type == "error":
            self.complaints.append(f"console: {message.text[:300]} ({message.location.get('url', '')[:200]})")

    def wait_for_kernel(self):
        """JupyterLab's own indicator says idle before there is a kernel, so the server is asked."""
        until = time.monotonic() + PATIENCE / 1000
        while time.monotonic() < until:
            kernel = (self.session() or {}).get("kernel", {})
            if kernel.get("execution_state") == "idle" and kernel["connections"] > 0:
                return
            self.page.wait_for_timeout(200)
        raise TimeoutError(f"the kernel of {self.name} did not become idle: {self.server.sessions()!r}")

    def session(self):
        """What the server says about this notebook's kernel; None while there is none."""
        return next((session for session in self.server.sessions() if session["path"] == self.name), None)

    # ---- cells, by what they are for

    def cell(self, role, exercise=None):
        """The first cell with this role, and this exercise if one is named."""
        for index, cell in enumerate(self.cells):
            meaning = cell["metadata"].get("ffn", {})
            if meaning.get("role") == role and exercise in (None, meaning.get("exercise")):
                return self.page.locator(".jp-NotebookPanel .jp-Cell").nth(index)
        raise LookupError(f"{self.name} has no cell with role={role!r} and exercise={exercise!r}")

    def source(self, role, exercise=None):
        """What the file holds in that cell."""
        for cell in self.cells:
            meaning = cell["metadata"].get("ffn", {})
            if meaning.get("role") == role and exercise in (None, meaning.get("exercise")):
                return cell["source"] if isinstance(cell["source"], str) else "".join(cell["source"])
        raise LookupError(f"{self.name} has no cell with role={role!r} and exercise={exercise!r}")

    def run_all(self):
        """Run every cell through the menu, and wait until each code cell has its number."""
        self.page.get_by_role("menuitem", name="Run", exact=True).click()
        self.page.locator('.lm-Menu [data-command="runmenu:run-all"]').click()
        self.page.wait_for_function(
            """() => [...document.querySelectorAll('.jp-NotebookPanel .jp-CodeCell')].every(
                cell => !cell.querySelector('.cm-content').innerText.trim()
                        || /^\\[\\d+\\]:?$/.test(cell.querySelector('.jp-InputPrompt').innerText.trim()))"""
        )
        self.wait_for_kernel()

    def run(self, cell, source=None):
        """Run one cell, with another text in it if one is given, and wait for its new number."""
        prompt = cell.locator(".jp-InputPrompt")
        before = prompt.inner_text().strip()
        cell.locator(".cm-content").click()
        if source is not None:
            self.page.keyboard.press("Control+A")
            self.page.keyboard.insert_text(source)
        self.page.keyboard.press("Control+Enter")
        until = time.monotonic() + PATIENCE / 1000
        while time.monotonic() < until:
            now = prompt.inner_text().strip()
            if RUN.match(now) and now != before:
                return cell
            self.page.wait_for_timeout(100)
        raise TimeoutError(f"the cell still shows {now!r} after {PATIENCE // 1000} s")

    def said(self, cell):
        """The visible text of a cell's output, never its source."""
        return "\n".join(cell.locator(".jp-OutputArea-output").all_inner_texts())

    def verdict(self, cell):
        """Status and text of the verdict that a check cell shows."""
        shown = cell.locator(".jp-OutputArea-output .ffn-verdict")
        shown.first.wait_for()
        return shown.first.get_attribute("data-status"), shown.first.inner_text()

    # ---- widgets

    def widget(self, within=None):
        """The first live widget, of the page or of one cell."""
        return Widget(self, (within or self.page).locator(".ffn-explorer").first)

    def widgets(self):
        """Every live widget of the page, in order."""
        return [Widget(self, root) for root in self.page.locator(".jp-OutputArea .ffn-explorer").all()]

    # ---- what a page must be

    def violations(self):
        """What axe finds wrong in the output areas, as readable lines."""
        return looking.violations(self.page, self.axe, ".jp-OutputArea")

    def too_wide(self):
        """Outputs that run over their area, or over a card in it."""
        return looking.too_wide(self.page, OUTPUTS)

    def moving(self):
        """What moves by itself in an output although the reader asked for reduced motion."""
        self.page.emulate_media(reduced_motion="reduce")
        return looking.moving(self.page, f"{OUTPUTS} > *")

    def resize(self, width):
        """Make the window as wide as this; where even a list of files has no room beside a lesson, it is closed."""
        looking.resize(self.page, width)
        if width < 500 and self.page.locator("#filebrowser").is_visible():
            self.page.evaluate("jupyterapp.commands.execute('application:toggle-left-area')")
            self.page.locator("#filebrowser").wait_for(state="hidden")

    def pictures_without_words(self):
        """Images in outputs that a screen reader could not tell."""
        bare = self.page.locator(".jp-OutputArea img:not([alt]), .jp-OutputArea img[alt='']")
        return [image.evaluate("image => image.outerHTML.slice(0, 200)") for image in bare.all()]

    def errors(self):
        """Texts that a cell wrote to stderr, and errors it ended in."""
        kinds = ("application/vnd.jupyter.stderr", "application/vnd.jupyter.error")
        return [text for kind in kinds for text in self.page.locator(f'[data-mime-type="{kind}"]').all_inner_texts()]

    def theme(self, name):
        """Switch to "JupyterLab Light" or "JupyterLab Dark"."""
        self.page.evaluate("name => jupyterapp.commands.execute('apputils:change-theme', {theme: name})", name)
        self.page.locator(f'body[data-jp-theme-name="{name}"]').wait_for(state="attached")

    def photograph(self, locator, name):
        """Save what a reader sees there, as a file to look at."""
        locator.scroll_into_view_if_needed()
        self.page.wait_for_timeout(300)
        locator.screenshot(path=self.pictures / f"{self.file.stem}_{name}.png")

    def photograph_all(self, name):
        """Save every picture and widget as a reader sees them, when somebody asked for screenshots."""
        if os.environ.get("FFNLIB_SCREENSHOTS"):
            for number, shown in enumerate(
                self.page.locator(".jp-OutputArea").locator(".ffn-card, .ffn-explorer").all()
            ):
                self.photograph(shown, f"{number:02}_{name}")

    def close(self):
        """Leave the page without saving, and stop its kernel, so that fifteen lessons need no more memory than one."""
        self.page.context.close()
        self.server.ask(f"sessions/{self.session()['id']}", method="DELETE")


class Widget:
    """A live widget: its controls by name, and the three things that must follow a hand."""

    def __init__(self, lesson, root):
        self.lesson, self.root = lesson, root
        root.locator(".ffn-picture > *").first.wait_for()

    def control(self, name):
        """The control that a screen reader announces under this name."""
        return self.root.get_by_label(name, exact=True)

    def controls(self):
        """Everything in the widget that takes keys."""
        return [Moved(self, control) for control in self.root.locator("input, select").all()]

    @property
    def words(self):
        """The sentence beneath the picture."""
        return self.root.locator(".ffn-words").inner_text()

    @property
    def note(self):
        """What the widget remarks on the last move."""
        return self.root.locator(".ffn-note").text_content()

    @property
    def image(self):
        """The picture's bytes and its alternative text."""
        image = self.root.locator("img.ffn-image")
        return image.get_attribute("src"), image.get_attribute("alt")

    def follows(self, before):
        """Wait until both sentence and picture are others than `before`; return whether they became so."""
        until = time.monotonic() + 20
        while time.monotonic() < until:
            if self.words != before[0] and self.look() != before[1]:
                return True
            self.lesson.page.wait_for_timeout(100)
        return False

    def look(self):
        """The picture, or the table in its place, as text to compare."""
        return self.root.locator(".ffn-picture").evaluate("node => node.innerHTML")

    def press(self, name, *keys):
        """Focus a control, press keys, and wait until the sentence or the remark is another."""
        before = (self.words, self.note)
        self.control(name).focus()
        for key in keys:
            self.lesson.page.keyboard.press(key)
        self._wait_for_another(before)

    def _wait_for_another(self, before):
        until = time.monotonic() + PATIENCE / 1000
        while time.monotonic() < until:
            # On the way to the last key's answer the widget already shows those before it.
            if (self.words, self.note) != before and self.root.get_attribute("aria-busy") != "true":
                return
            self.lesson.page.wait_for_timeout(100)
        raise TimeoutError(f"nothing changed: {before!r}")


class Moved:
    """One control of a widget, and the keys that move it."""

    KEYS = {"checkbox": ("Space",), "range": ("ArrowRight", "ArrowLeft", "End", "Home")}  # noqa: RUF012

    def __init__(self, widget, control):
        self.widget, self.control = widget, control
        self.name = control.get_attribute("aria-label")

    def move(self):
        """Press keys until the control stands elsewhere; return whether it does."""
        kind = self.control.evaluate("node => node.type")
        before = self.position()
        for key in self.KEYS.get(kind, ("ArrowUp", "ArrowDown")):
            self.control.focus()
            self.widget.lesson.page.keyboard.press(key)
            if self.position() != before:
                return True
        return False

    def position(self):
        """What the control shows."""
        return self.control.evaluate("node => node.type === 'checkbox' ? node.checked : node.value")
