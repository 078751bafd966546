"""Tokens on their way to experts: which are taken, which are turned away, and which experts have places left."""

from collections.abc import Sequence

import numpy as np

from ffnlib.experts import capacity, dispatch, switch_route, topk_route
from ffnlib.figures import PALETTE, STROKES, WHITE, Picture, panel, style
from ffnlib.widgets.controls import Choice, Slider
from ffnlib.widgets.explorer import Explorer, explore

TOKENS, EXPERTS = 16, 4


def tokens_to_experts() -> Explorer | None:
    """A favourite expert to begin with, and no place to spare."""
    return explore(
        tokens_to_experts_picture,
        f"{TOKENS} tokens, {EXPERTS} experts: move the favour and the room",
        favour=Slider("what the scores add for expert 1", 0.0, 4.0, step=0.5, value=2.0),
        factor=Slider("capacity factor", 0.5, 4.0, step=0.25, value=1.0),
        k=Choice("experts for each token", (1, 2), 1),
    )


def tokens_to_experts_picture(favour: float = 2.0, factor: float = 1.0, k: int = 1) -> Picture:
    """The same scores at every position; only expert 1 gains by `favour`."""
    scores = np.random.default_rng(3).normal(size=(TOKENS, EXPERTS))  # (tokens, experts)
    scores[:, 0] += favour
    gates = switch_route(scores) if k == 1 else topk_route(scores, k)
    room = capacity(TOKENS, EXPERTS, k, factor)
    kept = dispatch(gates, room) > 0  # (tokens, experts)
    turned_away, dropped = int(np.sum(gates > 0) - np.sum(kept)), int(np.sum(~kept.any(axis=1)))
    places, empty = room * EXPERTS, room * EXPERTS - int(np.sum(kept))
    return flow_picture(
        gates,
        room,
        [f"token {number}" for number in range(1, TOKENS + 1)],
        title=f"{dropped} of {TOKENS} tokens are dropped" if dropped else "Every token finds an expert",
        words=f"Room for {room} at each expert: {turned_away} of {TOKENS * k} requests are turned away, "
        f"{dropped} tokens get no expert, and {empty} of {places} places stay empty.",
    )


def flow_picture(gates: np.ndarray, room: int, names: Sequence[str], *, title: str, words: str) -> Picture:
    """Tokens at the left, experts at the right, a line for each gate: the wider the larger, broken if turned away.

    **Shapes** gates (tokens, experts); one name for each token
    """
    gates = np.asarray(gates)
    kept = dispatch(gates, room) > 0
    tokens, experts = gates.shape
    figure, axes = panel(title, size=(6.0, max(3.0, 0.9 + 0.2 * tokens)))
    of_expert = (np.arange(experts) + 0.5) * tokens / experts - 0.5
    with style():
        for token, expert in np.argwhere(gates > 0):
            role = "key" if kept[token, expert] else "value"
            axes.plot(
                [0, 1],
                [token, of_expert[expert]],
                color=PALETTE[role],
                linestyle=STROKES[role],
                linewidth=0.6 + 2.4 * gates[token, expert],
            )
        for token, name in enumerate(names):
            dropped = gates[token].any() and not kept[token].any()
            axes.text(-0.03, token, f"{name}, dropped" if dropped else name, ha="right", va="center", fontsize=9)
        for expert, height in enumerate(of_expert):
            asked, taken = int(np.sum(gates[:, expert] > 0)), int(np.sum(kept[:, expert]))
            label = f"expert {expert + 1}\n{asked} asked, {taken} taken"
            box = {"facecolor": WHITE, "edgecolor": PALETTE["ink"], "pad": 4}
            axes.text(1.03, height, label, ha="left", va="center", fontsize=9, bbox=box)
        axes.set_xlim(-0.4, 1.5)
        axes.set_ylim(tokens - 0.4, -0.6)
        axes.set_axis_off()
    return Picture(figure, words)
