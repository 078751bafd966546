"""Configuration of the static site for Sphinx; `html_site` copies it beside the pages as conf.py.

Formulas become MathML, which browsers draw by themselves, so that a page needs no script and no network for them.
"""

project = "The feed-forward network of a Transformer, by doing"
author = "The ffnlib contributors"
copyright = author
language = "en"

extensions = ["myst_nb"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # the lessons were executed and compared before
suppress_warnings = ["myst.header", "mystnb.unknown_mime_type", "config.cache"]

html_theme = "furo"
html_title = project
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["course.css"]
html_js_files = [("course.js", {"defer": "defer"})]
html_math_renderer = "mathml"


def inline_formula(translator, node):
    """Write a formula in a sentence."""
    write_formula(translator, node, "inline", "{}")


def displayed_formula(translator, node):
    """Write a formula on a line of its own."""
    write_formula(translator, node, "block", '<div class="math">{}</div>')


def write_formula(translator, node, display, frame):
    """Write one formula; it has no parts for Sphinx to visit afterwards."""
    from docutils.nodes import SkipNode
    from latex2mathml.converter import convert

    translator.body.append(frame.format(convert(node.astext(), display=display)))
    raise SkipNode


def setup(app):
    """Make `mathml` known to Sphinx."""
    app.add_html_math_renderer("mathml", (inline_formula, None), (displayed_formula, None))
