"""Finding the units of a fact, changing one fact by a rank-one update of W2, and scoring what else changed.

Row convention: a key is what multiplies W2 from the left. The linear algebra (`rank_one`, `comparing`) is NumPy;
whatever runs a specimen needs PyTorch, and is loaded when it is first used.
"""

_HOME = {
    "rank_one": (
        "LARGEST_CHANGE", "NEAR_ZERO", "TooLarge", "ZeroKey",
        "key_covariance", "key_direction", "rank_one_update", "relative_change",
    ),
    "changing": (
        "Edit", "edited", "keys_at_last_token", "keys_everywhere", "rank_one_edit", "value_change", "value_changes",
    ),
    "recording": ("Recorded", "finish", "moved", "record"),
    "attributing": ("attribution", "others_that_fire", "silence", "strongest"),
    "tracing": ("Trace", "subject_noise", "trace"),
    "scoring": ("predicted", "score"),
    "comparing": ("correlation", "explained", "gain_interval"),
}  # fmt: skip
_MODULE = {name: module for module, names in _HOME.items() for name in names}

__all__ = sorted(_MODULE)


def __getattr__(name):
    """Fetch a public name from its module on first use."""
    if name not in _MODULE:
        raise AttributeError(f"module 'ffnlib.editing' has no attribute {name!r}; it offers {', '.join(__all__)}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(f"ffnlib.editing.{_MODULE[name]}"), name)
    return value


def __dir__():
    """List the public names, fetched or not."""
    return sorted(set(globals()) | set(__all__))
