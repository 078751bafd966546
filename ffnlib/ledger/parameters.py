"""How many parameters a model has, part by part, and how many of them one token uses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ffnlib.ledger.book import Ledger, Row
from ffnlib.ledger.spec import Spec, read_spec

NAMES = {2: ("up", "down"), 3: ("gate", "up", "down")}


def count_model(spec: Any) -> Ledger:
    """Return the parameters of a model as a ledger, from a dict of its sizes, a `Spec`, or a known model's name.

    **Raises** SpecError, which names the field, for sizes that belong to no model

    >>> count_model("GPT-2 small").total
    124439808
    """
    spec = read_spec(spec)
    return Ledger(spec.name, tuple(row for row in _rows(spec) if row.total))


def _rows(spec: Spec) -> Iterator[Row]:
    d = spec.d_model
    yield Row("token embedding", "embeddings", spec.vocab * d)
    yield Row("position embedding", "embeddings", spec.learned_positions * d)
    if spec.architecture == "encoder-decoder":
        encoder, decoder = spec.n_encoder_layers, spec.n_layers
        yield from attention_rows(spec, encoder, "encoder attention")
        yield from ffn_rows(spec, encoder, "encoder FFN")
        yield from attention_rows(spec, decoder, "decoder attention")
        yield from attention_rows(spec, decoder, "cross-attention")
        yield from ffn_rows(spec, decoder, "decoder FFN")
        norms = encoder * spec.norms_per_layer + decoder * spec.norms_per_decoder_layer
    else:
        yield from attention_rows(spec, spec.n_layers, "attention")
        yield from layer_rows(spec)
        norms = spec.n_layers * spec.norms_per_layer
    yield Row("norms in the blocks", "norms", spec.norm_vectors * d, norms)
    yield Row("norms outside the blocks", "norms", spec.norm_vectors * d, spec.final_norms)
    yield Row("output matrix", "embeddings", 0 if spec.tied else spec.vocab * d)
    yield Row("output bias", "embeddings", spec.vocab * spec.head_bias)
    yield Row("other parts", "other", spec.other_parameters)


def attention_rows(spec: Spec, layers: int, where: str) -> Iterator[Row]:
    """Return the rows of one attention in each of some layers."""
    if spec.latent_attention:
        yield from _latent_rows(spec, layers, where)
    else:
        d, width, narrow = spec.d_model, spec.n_heads * spec.head_dim, spec.n_kv_heads * spec.head_dim
        outputs = {"q": width, "k": narrow, "v": narrow, "o": d}
        for name, size in {"q": d * width, "k": d * narrow, "v": d * narrow, "o": width * d}.items():
            yield Row(f"{where} {name}", "attention", size, layers)
        biases = sum(outputs[name] for name in spec.attention_bias)
        yield Row(f"{where} biases", "attention", biases, layers)
    yield Row(f"{where} q and k norms", "norms", spec.qk_norm, layers)


def _latent_rows(spec: Spec, layers: int, where: str) -> Iterator[Row]:
    """Queries, keys and values by way of narrow vectors, each of which has a norm (DeepSeek-V2, section 2.1)."""
    latent, d, heads = spec.latent_attention, spec.d_model, spec.n_heads
    queries = heads * (latent.nope_dim + latent.rope_dim)
    if latent.q_rank is None:
        yield Row(f"{where} q", "attention", d * queries, layers)
    else:
        yield Row(f"{where} q down", "attention", d * latent.q_rank, layers)
        yield Row(f"{where} q up", "attention", latent.q_rank * queries, layers)
    yield Row(f"{where} kv down", "attention", d * (latent.kv_rank + latent.rope_dim), layers)
    yield Row(f"{where} kv up", "attention", latent.kv_rank * heads * (latent.nope_dim + latent.v_dim), layers)
    yield Row(f"{where} o", "attention", heads * latent.v_dim * d, layers)
    yield Row(f"{where} latent norms", "norms", (latent.q_rank or 0) + latent.kv_rank, layers)


def layer_rows(spec: Spec) -> Iterator[Row]:
    """Return the rows of the feed-forward networks of a decoder or an encoder, dense or a mixture."""
    experts = spec.experts
    if not experts:
        yield from ffn_rows(spec, spec.n_layers, "FFN")
        return
    mixtures = spec.n_layers - experts.dense_layers
    yield from ffn_rows(spec, experts.dense_layers, "dense FFN")
    yield Row("router", "FFN", experts.n * spec.d_model, mixtures)
    yield from ffn_rows(spec, mixtures, "expert", experts.d_ff, experts.n, experts.top_k)
    if experts.shared_d_ff:
        yield from ffn_rows(spec, mixtures, "shared expert", experts.shared_d_ff)
    yield Row("shared expert's gate", "FFN", spec.d_model * experts.shared_gate, mixtures)


def ffn_rows(
    spec: Spec, layers: int, where: str, d_ff: int | None = None, each: int = 1, used: int = 1
) -> Iterator[Row]:
    """Return the rows of `each` feed-forward networks in each of some layers, of which a token uses `used`."""
    d, d_ff = spec.d_model, spec.d_ff if d_ff is None else d_ff
    for name in NAMES[spec.ffn_matrices]:
        yield Row(f"{where} {name}", "FFN", d * d_ff, layers * each, layers * used)
    biases = (spec.ffn_matrices - 1) * d_ff + d
    yield Row(f"{where} biases", "FFN", biases * spec.ffn_bias, layers * each, layers * used)


def llama_width(d: int, multiple_of: int, multiplier: float = 1.0) -> int:
    """Return the FFN width by LLaMA's rule: two thirds of 4d, times a factor, rounded up to a multiple.

    **Source** Touvron et al. 2023 (LLaMA), section 2.2, for the two thirds; the released models for the other two

    >>> llama_width(4096, 256), llama_width(4096, 1024, 1.3)
    (11008, 14336)
    """
    width = int(multiplier * int(8 * d / 3))
    return -(-width // multiple_of) * multiple_of
