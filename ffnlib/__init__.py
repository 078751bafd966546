"""The Transformer's feed-forward network, as a course: what a lesson needs is importable from here.

`import ffnlib` loads the standard library only; each name below is fetched from its module when it is first used.
"""

__version__ = "0.1.0"

_HOME = {
    "check": "ffnlib.learner",
    "hint": "ffnlib.learner",
    "reveal": "ffnlib.learner",
    "progress": "ffnlib.learner",
    "predict": "ffnlib.learner",
    "decide": "ffnlib.learner",
    "Verdict": "ffnlib.examination.verdict",
}

__all__ = ["Verdict", "__version__", "check", "decide", "hint", "predict", "progress", "reveal"]


def __getattr__(name):
    """Fetch a public name from its module on first use."""
    if name not in _HOME:
        raise AttributeError("module 'ffnlib' has no attribute {!r}; it offers {}".format(name, ", ".join(__all__)))
    from importlib import import_module

    value = globals()[name] = getattr(import_module(_HOME[name]), name)
    return value


def __dir__():
    """List the public names, fetched or not."""
    return sorted(set(globals()) | set(__all__))
