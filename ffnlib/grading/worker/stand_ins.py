"""Silent stand-ins for what a lesson shows: checks, hints, pictures, controls, displays and IPython's commands.

They are put in place before a submission's cells run. Nothing a notebook displays can count, so none of it is made.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
import types

SHOWING = (
    "ffnlib.learner",
    "ffnlib.figures",
    "ffnlib.widgets",
    "ffnlib.review",
    "IPython",
    "ipywidgets",
    "anywidget",
    "matplotlib",
    "seaborn",
    "plotly",
    "google.colab",
    # what decides is not shown either
    "ffnlib.examination.lessons",
    "ffnlib.examination.judge",
    "ffnlib.examination.slips",
    "ffnlib.authoring",
)


def is_showing(name: str) -> bool:
    """Return whether a module belongs to a library that shows things."""
    return name.startswith(SHOWING) and any(name == root or name.startswith(f"{root}.") for root in SHOWING)


class Nothing:
    """Whatever is done with it, it stays silent: every attribute, call, item and pair of it is nothing again."""

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)  # protocols of other libraries are not to be answered
        return self

    def __call__(self, *args, **kwargs):
        decorated = args[0] if len(args) == 1 and not kwargs and isinstance(args[0], types.FunctionType) else None
        return decorated or self  # a decorator leaves its function alone

    def __getitem__(self, _key):
        return self

    def __setitem__(self, _key, _value):
        return None

    def __iter__(self):
        return iter((self, self))  # a figure and its axes, a picture and its words

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        return False

    def __bool__(self):
        return False

    def __repr__(self):
        return ""


NOTHING = Nothing()


class SilentModule(types.ModuleType):
    """A module in which every name is nothing."""

    __path__: list = []  # noqa: RUF012 - every module can have submodules

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return NOTHING


class SilentFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds a silent module for everything that shows or decides."""

    def find_spec(self, name, path=None, target=None):
        """Return a silent module's spec, or None for all other modules."""
        if is_showing(name):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        """Return the silent module."""
        return SilentModule(spec.name)

    def exec_module(self, module):
        """Do nothing: a silent module has no code."""


def install() -> None:
    """Put the stand-ins in place of what shows; modules that are loaded already are replaced."""
    for name in list(sys.modules):
        if is_showing(name):
            del sys.modules[name]
    sys.meta_path.insert(0, SilentFinder())
