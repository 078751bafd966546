"""The static site, made in an environment of its own: links, what leaves the machine, and what a reader can use."""

import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.environments import environment

from .looking import moving, resize, too_wide, violations

ROOT = Path(__file__).resolve().parents[2]
CONSTRAINTS = ROOT / "constraints.txt"
TOOLS = ("sphinx", "myst-nb", "furo", "latex2mathml")
LOOKED_AT = (
    *("index.html", "claims.html", "glossary.html", "cards.html", "guides/instructors.html"),
    *("lessons/01_formula.html", "lessons/08_counting_flops.html", "lessons/12_editing_facts.html"),
)
MAKE = "import sys, pathlib, ffnlib.authoring.html_site as s; s.write_course(*map(pathlib.Path, sys.argv[1:]))"

# axe takes 2 ms for each of the thousands of coloured words of code in a lesson; each block keeps one of a look.
ONE_OF_EACH_LOOK = """within => {
    for (const block of document.querySelectorAll(within + ' pre')) {
        const seen = new Set();
        const again = [...block.querySelectorAll('span:not(:has(*))')].filter(word => {
            const { color, backgroundColor, fontSize, fontWeight } = getComputedStyle(word);
            const before = seen.size;
            return seen.add([color, backgroundColor, fontSize, fontWeight].join()).size === before;
        });
        again.forEach(word => word.replaceWith(...word.childNodes));
    }
}"""


class Page(HTMLParser):
    """Names, links and loaded files of a page."""

    def __init__(self, file):
        super().__init__()
        self.names, self.links, self.loaded = {""}, [], []
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.names |= {given[key] for key in ("id", "name") if given.get(key)}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        elif tag in ("script", "img", "iframe") and given.get("src"):
            self.loaded.append(given["src"])
        elif tag == "link" and given.get("rel") == "stylesheet":
            self.loaded.append(given["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    python = environment("site", *pinned(), "numpy>=2", "platformdirs")
    out = tmp_path_factory.mktemp("site")
    run = subprocess.run([python, "-c", MAKE, ROOT, out], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return out


def pinned():
    """The tools of the site in their tested versions."""
    from packaging.requirements import Requirement

    lines = [line.split("#")[0].strip() for line in CONSTRAINTS.read_text(encoding="utf-8").splitlines()]
    wanted = [Requirement(line) for line in lines if line]
    return [f"{r.name}{r.specifier}" for r in wanted if r.name in TOOLS and (not r.marker or r.marker.evaluate())]


@pytest.fixture(scope="module")
def pages(site):
    return {file.relative_to(site).as_posix(): Page(file) for file in site.rglob("*.html")}


def test_every_lesson_and_page_is_there(site, pages):
    lessons = [f"lessons/{file.stem}.html" for file in (ROOT / "solutions").glob("[0-9][0-9]_*.ipynb")]
    guides = [f"guides/{file.stem}.html" for file in (ROOT / "guides").glob("*.md")]
    collected = ["claims.html", "glossary.html", "cards.html", "specimen.html"]
    assert {"index.html", "search.html", *collected, *lessons, *guides} <= set(pages)


def test_every_link_between_pages_arrives(site, pages):
    broken = []
    for name, page in pages.items():
        for link in (*page.links, *page.loaded):
            parts = urlsplit(link)
            if parts.scheme or link.startswith("data:"):
                continue
            target = (site / name).parent / unquote(parts.path) if parts.path else site / name
            found = target.resolve()
            anchors = pages.get(found.relative_to(site.resolve()).as_posix()) if found.suffix == ".html" else None
            if not found.exists() or (anchors and parts.fragment and unquote(parts.fragment) not in anchors.names):
                broken.append(f"{name}: {link}")
    assert broken == []


def test_a_page_loads_nothing_from_elsewhere(pages):
    foreign = [
        f"{name}: {link}" for name, page in pages.items() for link in page.loaded if re.match(r"(https?:)?//", link)
    ]
    assert foreign == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_reader_finds_a_lesson_by_search_and_can_use_it(site, pages, browser, axe, pictures, scheme):
    context = browser.new_context(
        color_scheme=scheme, viewport={"width": 1280, "height": 1000}, reduced_motion="reduce"
    )
    page, asked, errors = context.new_page(), [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    found = {}
    for name in LOOKED_AT:
        page.goto((site / name).as_uri())
        found[name] = moving(page, "article > *")
        for width in (1280, 320):
            resize(page, width)
            found[f"{name}, {width} px"] = too_wide(page, ".output, .ffn-card")
            page.screenshot(path=pictures / f"site_{Path(name).stem}_{scheme}_{width}.png")
        page.evaluate(ONE_OF_EACH_LOOK, "article")
        for width in (1280, 320):
            resize(page, width)
            found[f"{name}, {width} px"] += violations(page, axe, "article")
    assert errors == []
    # opened from a file, the search finds pages; the excerpts that it would fetch beside them need a server
    page.goto((site / "search.html").as_uri() + "?q=crossover")
    page.locator("#search-results a", has_text="Counting FLOPs").first.wait_for()
    context.close()
    assert {name: violations for name, violations in found.items() if violations} == {}
    assert [one for one in asked if not one.startswith("file:")] == []


def test_a_pale_word_of_code_would_have_been_found(site, browser, axe):
    page = browser.new_page()
    page.goto((site / "lessons/01_formula.html").as_uri())
    page.add_style_tag(content="pre .mi { color: #ddd !important; }")  # the whole numbers
    page.evaluate(ONE_OF_EACH_LOOK, "article")
    found = violations(page, axe, "article")
    page.close()
    assert found and all(line.startswith("color-contrast") and 'class="mi"' in line for line in found)
