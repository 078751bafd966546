"""A decoder whose sizes can be moved: every row of its ledger as a bar, and the shares in words."""

from typing import Any

from ffnlib.figures import Picture, bars
from ffnlib.ledger import Ledger, count_model
from ffnlib.widgets.controls import Choice, Slider, Toggle
from ffnlib.widgets.explorer import Explorer, explore

GATED, UNGATED = "three matrices, gated", "two matrices"


def model_size() -> Explorer | None:
    """The sizes of LLaMA-7B to begin with."""
    return explore(
        model_size_picture,
        "A decoder without biases: move its sizes and watch the ledger",
        d_model=Slider("d_model", 1024, 16_384, step=1024, value=4096),
        n_layers=Slider("blocks", 1, 128, value=32),
        ratio=Slider("d_ff / d_model", 1.0, 8.0, step=0.0625, value=2.6875),
        heads=Choice("heads", (8, 16, 32, 64, 128), 32),
        kv_heads=Choice("key-value heads", (1, 2, 4, 8, 16, 32, 64, 128), 32),
        ffn=Choice("feed-forward network", (GATED, UNGATED), GATED),
        vocab=Choice("tokens in the vocabulary", (32_000, 50_257, 128_256, 256_000), 32_000),
        tied=Toggle("input and output matrix tied", False),
    )


def model_size_picture(
    d_model: int = 4096,
    n_layers: int = 32,
    ratio: float = 2.6875,
    heads: int = 32,
    kv_heads: int = 32,
    ffn: str = GATED,
    vocab: int = 32_000,
    tied: bool = False,
) -> Picture:
    """The ledger of one decoder, the rows of the FFN marked."""
    sizes: dict[str, Any] = {"d_model": d_model, "n_layers": n_layers, "n_heads": heads, "vocab": vocab, "tied": tied}
    d_ff, shared = round(ratio * d_model), min(kv_heads, heads)
    ledger = count_model({**sizes, "n_kv_heads": shared, "d_ff": d_ff, "ffn_matrices": 3 if ffn == GATED else 2})
    note = f" More than {heads} key-value heads make no sense; {heads} are counted." if kv_heads > heads else ""
    return bars(
        [row.name for row in ledger],
        [row.total for row in ledger],
        title=f"FFNs hold {100 * ledger.share('FFN'):.1f} % of {ledger.total / 1e9:.2f} billion parameters",
        words=_words(ledger) + note,
        x_label="parameters",
        highlight=[place for place, row in enumerate(ledger) if row.group == "FFN"],
    )


def _words(ledger: Ledger) -> str:
    shares = ", ".join(f"{group} {100 * ledger.share(group):.1f} %" for group in ("FFN", "attention", "embeddings"))
    ratio = ledger.of("FFN") / ledger.of("attention")
    return f"{ledger.total:,} parameters: {shares}; FFN to attention {ratio:.2f} : 1."
