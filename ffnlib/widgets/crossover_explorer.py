"""From which length on attention costs more than the feed-forward network: three questions, three lengths."""

import numpy as np

from ffnlib.figures import Picture, lines
from ffnlib.ledger import crossovers
from ffnlib.widgets.controls import Choice, Slider, Toggle
from ffnlib.widgets.explorer import Explorer, explore
from ffnlib.widgets.model_size import GATED, UNGATED


def crossover_explorer() -> Explorer | None:
    """LLaMA-7B's width to begin with, and the feed-forward network of the documents."""
    return explore(
        crossover_picture,
        "One block: at which length does attention cost as much as the feed-forward network?",
        d_model=Slider("d_model", 256, 16_384, step=256, value=4096),
        ratio=Slider("d_ff / d_model", 1.0, 8.0, step=0.0625, value=4.0),
        ffn=Choice("feed-forward network", (UNGATED, GATED), UNGATED),
        sharing=Choice("heads that share one key-value head", (1, 2, 4, 8, 16, 32), 1),
        causal=Toggle("count only what a causal mask leaves", False),
    )


def crossover_picture(
    d_model: int = 4096, ratio: float = 4.0, ffn: str = UNGATED, sharing: int = 1, causal: bool = False
) -> Picture:
    """FLOPs of one token over the length of the sequence, and where the lines meet."""
    d_ff, matrices = round(ratio * d_model), 3 if ffn == GATED else 2
    meets = crossovers(d_model, d_ff, matrices=matrices, kv_share=1 / sharing, causal=causal)
    of_ffn = 2 * matrices * d_model * d_ff
    projections = 4 * d_model * d_model * (1 + 1 / sharing)
    T = np.linspace(0, 1.35 * meets["scores and mixing = all the rest"], 24)
    core = (2 if causal else 4) * d_model * T
    flat = np.ones(len(T))
    heights = dict(zip(meets, (of_ffn, of_ffn, of_ffn + projections)))
    return lines(
        T,
        {
            "FFN": of_ffn * flat,
            "attention": projections + core,
            "scores, mixing": core,
            "all the rest": (of_ffn + projections) * flat,
        },
        title="Three questions, three lengths",
        words=_words(meets),
        x_label="tokens in the sequence",
        y_label="FLOPs of one block, one token",
        marks=[(length, heights[name], f"{length:,.0f}") for name, length in meets.items() if length],
    )


def _words(meets: dict[str, float]) -> str:
    alone, whole, rest = meets.values()
    with_projections = f"as much as the FFN at {whole:,.0f} tokens" if whole else "more than the FFN at any length"
    return (
        f"With its projections attention costs {with_projections}, without them as much at {alone:,.0f}; "
        f"its quadratic part equals all the rest at {rest:,.0f}."
    )
