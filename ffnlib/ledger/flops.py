"""How many FLOPs a forward pass takes, part by part: a multiply-add is two, matrix products only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ffnlib.ledger.book import Ledger, Row
from ffnlib.ledger.parameters import count_model
from ffnlib.ledger.spec import Spec, SpecError, read_spec

NO_PRODUCT = ("token embedding", "position embedding", "other parts")


def flop_ledger(spec: Any, T: int, *, causal: bool = False) -> Ledger:
    """Return the FLOPs of one forward pass over a sequence of T tokens, by the rows of `count_model`.

    Encoder and decoder both read T tokens. With `causal` the scores that a mask hides are not counted: half of them,
    as T grows. Biases, norms, activations, lookups and parts of unknown shape count nothing.

    **Raises** SpecError for sizes that belong to no model, or a T below 1

    >>> flop_ledger(dict(vocab=0, d_model=4, n_layers=1, n_heads=1, d_ff=16, ffn_matrices=2, tied=True), 3).of("FFN")
    768
    """
    spec = read_spec(spec)
    if isinstance(T, bool) or not isinstance(T, int) or T < 1:
        raise SpecError(f"T={T!r}: a sequence has a whole number of tokens, 1 or more")
    name = f"{spec.name}, {T:,} tokens"
    rows = (row for row in (*_products(spec, T), *_cores(spec, T, causal)) if row.total)
    return Ledger(name, tuple(rows), "FLOPs")


def _products(spec: Spec, T: int) -> Iterator[Row]:
    """Every matrix meets every token once: two FLOPs for each entry; of the experts, only those a token uses."""
    for row in count_model(spec).rows:
        if row.name in NO_PRODUCT or row.group == "norms" or "bias" in row.name:
            continue
        yield Row(row.name, row.group, 2 * T * row.one, row.copies if row.used is None else row.used)
    if spec.tied and spec.vocab:
        yield Row("output matrix", "embeddings", 2 * T * spec.vocab * spec.d_model)


def _cores(spec: Spec, T: int, causal: bool) -> Iterator[Row]:
    """The part that grows with the square of the length: scores, and the mixing of the values."""
    latent = spec.latent_attention
    query = latent.nope_dim + latent.rope_dim if latent else spec.head_dim
    value = latent.v_dim if latent else spec.head_dim
    pairs = {"encoder attention": T * T, "cross-attention": T * T}
    pairs |= dict.fromkeys(("attention", "decoder attention"), T * (T + 1) // 2 if causal else T * T)
    if spec.architecture == "encoder-decoder":
        layers = {"encoder attention": spec.n_encoder_layers}
        layers |= dict.fromkeys(("decoder attention", "cross-attention"), spec.n_layers)
    else:
        layers = {"attention": spec.n_layers}
    for where, copies in layers.items():
        yield Row(f"{where} scores", "attention", 2 * pairs[where] * spec.n_heads * query, copies)
        yield Row(f"{where} mixing", "attention", 2 * pairs[where] * spec.n_heads * value, copies)


def crossovers(
    d: int, d_ff: int, *, matrices: int = 2, kv_share: float = 1.0, causal: bool = False
) -> dict[str, float]:
    """Return the lengths at which attention meets the FFN, under the three meanings in use; never below 0.

    `kv_share` is key-value heads over heads, the heads together as wide as d; with `causal` half of the scores count.

    >>> crossovers(512, 2048)
    {'scores and mixing = FFN': 2048.0, 'whole attention = FFN': 1024.0, 'scores and mixing = all the rest': 3072.0}
    """
    ffn, projections = 2 * matrices * d * d_ff, 2 * d * d * (2 + 2 * kv_share)  # FLOPs a token
    quadratic = 2 * d if causal else 4 * d  # FLOPs a token for each token of the sequence
    return {
        "scores and mixing = FFN": ffn / quadratic,
        "whole attention = FFN": max(0.0, (ffn - projections) / quadratic),
        "scores and mixing = all the rest": (ffn + projections) / quadratic,
    }
