"""Starts nbformat, nbclient and nbval without the import that takes most of their time."""

import sys


def skip_slow_import():
    """Make jsonschema go without its IRI grammar: 2.5 s of every start, for a format that notebooks never use.

    Must run before nbformat is imported; jsonschema treats the package as one that is not installed.
    """
    sys.modules.setdefault("rfc3987_syntax", None)
