"""Stack feed-forward layers and see how large the gradient still is at each depth, with and without the skip."""

from typing import Any

import numpy as np

from ffnlib.figures import PALETTE, STROKES, Picture, panel, style
from ffnlib.layer import relu
from ffnlib.widgets.controls import Choice, Slider
from ffnlib.widgets.explorer import Explorer, explore

D_MODEL, D_FF, ROWS, EPS = 32, 128, 64, 1e-5
NO_NORM, PRE_NORM, POST_NORM = "no norm", "pre-norm", "post-norm"
TINY = 1e-60  # what a logarithmic axis can still show


def fading_gradients() -> Explorer | None:
    """How many layers, where the norm stands, and how large the weights are drawn."""
    return explore(
        fading_gradients_picture,
        "Stack layers: what is left of the gradient at the first one?",
        depth=Slider("layers", 2, 48, value=24),
        norm=Choice("norm", (NO_NORM, PRE_NORM, POST_NORM)),
        scale=Slider("weights, times PyTorch's range", 0.5, 3.0, step=0.25, value=1.0),
    )


def fading_gradients_picture(depth: int = 24, norm: str = NO_NORM, scale: float = 1.0) -> Picture:
    """The gradient at every depth as a share of the gradient at the end, on a logarithmic axis."""
    sizes = {name: gradient_sizes(depth, norm, scale, skip) for name, skip in (("skip", True), ("no skip", False))}
    shares = {name: np.maximum(size / size[-1], TINY) for name, size in sizes.items()}
    with_skip, without = shares["skip"][0], shares["no skip"][0]
    figure, axes = panel(
        f"Through {depth} layers without the skip, the gradient {_change(without)}",
        x_label="layers the gradient has passed",
        y_label="share of the gradient at the end",
    )
    with style():
        axes.set_yscale("log")
        for (name, share), role in zip(shares.items(), ("key", "value"), strict=True):
            axes.plot(range(depth + 1), share[::-1], color=PALETTE[role], linestyle=STROKES[role])
            beside = (6, 5 if share[0] == max(with_skip, without) else -5)
            axes.annotate(
                name, (depth, share[0]), xytext=beside, textcoords="offset points", va="center", fontweight="bold"
            )
        low, high = axes.get_ylim()
        axes.set_ylim(min(low, 1e-3), max(high, 1e3))  # a factor of 2 shall look small
    setting = f"{norm}, weights times {scale:g}: on its way to the first layer the gradient"
    return Picture(figure, f"{setting} {_change(with_skip)} with the skip and {_change(without)} without it.")


def _change(share: float) -> str:
    """What became of the gradient, in words.

    >>> _change(5e-16), _change(0.061), _change(1.2), _change(4.2)
    ('falls to 5e-16 of its size', 'falls to 6.1 % of its size', 'stays within a factor of 3', 'grows 4-fold')
    """
    if 1 / 3 <= share <= 3:
        return "stays within a factor of 3"
    if share < 1:
        return f"falls to {f'{100 * share:.2g} %' if share >= 1e-3 else f'{share:.0e}'} of its size"
    return f"grows {share:.0f}-fold" if share < 1000 else f"grows {share:.0e}-fold"


def gradient_sizes(depth: int, norm: str, scale: float, skip: bool) -> np.ndarray:
    """The length of the gradient of a random weighing of the output, at the input of each layer and at the end.

    **Shapes** -> (depth + 1,)
    """
    rng = np.random.default_rng(0)
    x, gradient = rng.normal(size=(2, ROWS, D_MODEL))
    wide, narrow = scale / np.sqrt(D_MODEL), scale / np.sqrt(D_FF)  # nn.Linear draws uniformly up to 1 / sqrt(inputs)
    backwards = []
    for _ in range(depth):
        W1, W2 = rng.uniform(-wide, wide, (D_MODEL, D_FF)), rng.uniform(-narrow, narrow, (D_FF, D_MODEL))
        x, back = _sublayer(x, W1, W2, norm, skip)
        backwards.append(back)
    sizes = [np.linalg.norm(gradient)]
    for back in reversed(backwards):
        gradient = back(gradient)
        sizes.append(np.linalg.norm(gradient))
    return np.array(sizes[::-1])


def _sublayer(x: np.ndarray, W1: np.ndarray, W2: np.ndarray, norm: str, skip: bool) -> tuple[np.ndarray, Any]:
    """One layer with its norm and skip, and the function that carries a gradient back through it."""
    inner, back_inner = _normalise(x) if norm == PRE_NORM else (x, _as_it_is)
    hidden = relu(inner @ W1)  # (ROWS, D_FF)
    total = hidden @ W2 + (x if skip else 0)
    result, back_result = _normalise(total) if norm == POST_NORM else (total, _as_it_is)

    def back(gradient: np.ndarray) -> np.ndarray:
        gradient = back_result(gradient)
        through = back_inner(((gradient @ W2.T) * (hidden > 0)) @ W1.T)
        return through + (gradient if skip else 0)

    return result, back


def _as_it_is(gradient: np.ndarray) -> np.ndarray:
    return gradient


def _normalise(x: np.ndarray) -> tuple[np.ndarray, Any]:
    """LayerNorm with gamma 1 and beta 0, and the function that carries a gradient back through it."""
    deviation = np.sqrt(np.var(x, axis=-1, keepdims=True) + EPS)
    y = (x - np.mean(x, axis=-1, keepdims=True)) / deviation

    def back(gradient: np.ndarray) -> np.ndarray:
        along_y = y * np.mean(gradient * y, axis=-1, keepdims=True)
        return (gradient - np.mean(gradient, axis=-1, keepdims=True) - along_y) / deviation

    return y, back
