"""How much of a layer's work is left when silent units are skipped: known too late, predicted, or known beforehand."""

from ffnlib.figures import Picture, bars
from ffnlib.widgets.controls import Slider
from ffnlib.widgets.explorer import Explorer, explore


def work_left() -> Explorer | None:
    """How many units fire, how many tokens share a step, and how wide the predictor is."""
    return explore(
        work_left_picture,
        "Skip the silent units: how much work is left?",
        fires=Slider("units that fire for a token, in %", 1, 50, value=5),
        tokens=Slider("tokens in one step", 1, 64, value=1),
        rank=Slider("rank of the predictor, in % of d", 1, 50, value=6),
    )


def work_left_picture(fires: int = 5, tokens: int = 1, rank: int = 6) -> Picture:
    """The multiply-adds, or the weights read, as a share of the full layer's, at d_ff = 4 d."""
    left = shares_left(fires / 100, tokens, rank / 100)
    faster = {name: 1 / share for name, share in left.items()}
    return bars(
        list(left),
        [100 * share for share in left.values()],
        title=f"Known only after W1: at most {faster['W2 only: known after W1']:.2f} times as fast",
        words=f"{fires} % fire for a token, {100 * together(fires / 100, tokens):.0f} % for any of {_tokens(tokens)}. "
        f"W2 alone: {faster['W2 only: known after W1']:.2f} times as fast at most; with a perfect predictor of rank "
        f"{rank / 100:g} d: {faster['both, predicted']:.1f}; were it free: {faster['both, known for nothing']:.1f}.",
        x_label="weights of the layer that are read, in %",
        highlight=[1],
        number="{:.1f} %",
    )


def together(fires: float, tokens: int) -> float:
    """The share of units that fire for any of several tokens that have nothing to do with each other.

    >>> together(0.5, 2)
    0.75
    """
    return 1 - (1 - fires) ** tokens


def shares_left(fires: float, tokens: int, rank: float) -> dict[str, float]:
    """Which share of the layer's weights is read; a predictor has d x rank and rank x 4 d numbers, the layer 8 d^2.

    >>> shares_left(0.5, 1, 0.08)["W2 only: known after W1"], shares_left(0.5, 1, 0.08)["both, predicted"]
    (0.75, 0.55)
    """
    read = together(fires, tokens)
    return {
        "the full layer": 1.0,
        "W2 only: known after W1": (1 + read) / 2,
        "both, predicted": 5 * rank / 8 + read,
        "both, known for nothing": read,
    }


def _tokens(count: int) -> str:
    return "1 token" if count == 1 else f"{count} tokens"
