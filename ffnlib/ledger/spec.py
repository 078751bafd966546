"""What a model's sizes are called, which of them make sense together, and the models whose sizes are known."""

from __future__ import annotations

import json
import operator
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, fields, replace
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

ARCHITECTURES = ("decoder", "encoder", "encoder-decoder")
SAID_BESIDE = ("total", "active", "published", "published_rechecked", "source")
"""What a table may say of a model besides its sizes; nothing is counted from it."""


class SpecError(ValueError):
    """Sizes that belong to no model; the message begins with the field."""


@dataclass(frozen=True)
class Experts:
    """The feed-forward networks of a mixture: `n` a layer, `top_k` of them used by a token, and a shared one."""

    n: int
    top_k: int
    d_ff: int
    shared_d_ff: int = 0
    dense_layers: int = 0
    shared_gate: bool = False


@dataclass(frozen=True)
class LatentAttention:
    """Keys and values by way of a narrow vector of `kv_rank` numbers, queries of `q_rank` (None: directly)."""

    kv_rank: int
    nope_dim: int
    rope_dim: int
    v_dim: int
    q_rank: int | None = None


@dataclass(frozen=True)
class Spec:
    """The sizes of a model. What has a default may be left out; `n_kv_heads` and `head_dim` then follow from the heads.

    `n_layers` are the decoder's in an encoder-decoder. `attention_bias` names the projections that have one, "" to
    "qkvo"; `norm_vectors` is 2 for a LayerNorm, 1 for an RMSNorm, 0 for one without parameters; `final_norms` stand
    outside the layers; `qk_norm` is the size of the norms on queries and keys of one attention; `other_parameters`
    are those of parts that are none of these, such as a pooler or the layers in front of the first block.
    """

    vocab: int
    d_model: int
    n_layers: int
    n_heads: int
    d_ff: int
    ffn_matrices: int
    tied: bool
    name: str = "model"
    architecture: str = "decoder"
    activation: str = ""
    n_kv_heads: int | None = None
    head_dim: int | None = None
    attention_bias: str = ""
    ffn_bias: bool = False
    head_bias: bool = False
    norm_vectors: int = 1
    norms_per_layer: int = 2
    final_norms: int = 1
    qk_norm: int = 0
    learned_positions: int = 0
    other_parameters: int = 0
    n_encoder_layers: int = 0
    norms_per_decoder_layer: int = 3
    experts: Experts | None = None
    latent_attention: LatentAttention | None = None


MAY_BE_ZERO = {"vocab", "final_norms", "qk_norm", "learned_positions", "other_parameters", "norms_per_layer"}
MAY_BE_ZERO |= {"norm_vectors", "norms_per_decoder_layer", "shared_d_ff", "dense_layers", "rope_dim", "nope_dim"}


def read_spec(given: Any) -> Spec:
    """Return the sizes of a model from a mapping, or of a known model from its name.

    **Raises** SpecError, which names the field, for sizes that belong to no model
    """
    if isinstance(given, Spec):
        given = {field.name: getattr(given, field.name) for field in fields(Spec)}
    if isinstance(given, str):
        given = known_model(given)
    if not isinstance(given, Mapping):
        raise TypeError(f"spec={given!r}: give a dict of sizes, or the name of a known model")
    sizes = {name: value for name, value in given.items() if name not in SAID_BESIDE}
    if sizes.get("architecture") != "encoder-decoder":
        _no_encoder_layers(sizes)
    spec = _with_defaults(_record(Spec, sizes, ""))
    _fit_together(spec)
    return spec


def _no_encoder_layers(sizes: dict) -> None:
    """Refuse encoder layers beside `n_layers`, or drop a zero, which says that there are none."""
    if sizes.get("n_encoder_layers"):
        _refuse(
            "n_encoder_layers",
            sizes["n_encoder_layers"],
            "only an encoder-decoder has layers of both kinds",
            "write architecture='encoder-decoder', or give the layers as n_layers",
        )
    sizes.pop("n_encoder_layers", None)


def _with_defaults(spec: Spec) -> Spec:
    """Fill in key-value heads and head size where they follow from the heads."""
    head_dim = spec.head_dim
    if head_dim is None and not spec.latent_attention:
        if spec.d_model % spec.n_heads:
            because = f"they do not divide d_model={spec.d_model} into heads of one size"
            _refuse("n_heads", spec.n_heads, because, "give head_dim as well")
        head_dim = spec.d_model // spec.n_heads
    kv_heads = spec.n_heads if spec.n_kv_heads is None else spec.n_kv_heads
    return replace(spec, n_kv_heads=kv_heads, head_dim=head_dim)


def _record(kind: type, sizes: Mapping, inside: str) -> Any:
    """Return the dataclass `kind` made of a mapping, every entry of the type the field has."""
    declared = {field.name: field for field in fields(kind)}
    for name in sizes:
        if name not in declared:
            raise SpecError(f"{inside}{name}={sizes[name]!r}: no such field; {_near(str(name), declared)}")
    required = [name for name, field in declared.items() if field.default is MISSING]
    for name in required:
        if name not in sizes:
            raise SpecError(f"{inside}{name}: this size is missing, and the count needs it; the others are not enough")
    return kind(**{name: _value(declared[name].type, name, value, inside) for name, value in sizes.items()})


def _value(kind: str, name: str, value: Any, inside: str) -> Any:
    field = inside + name
    if kind.startswith(("Experts", "LatentAttention")):
        return _part(Experts if kind.startswith("Experts") else LatentAttention, field, value)
    if kind == "str":
        return value if isinstance(value, str) else _refuse(field, value, "this is no text", "write it in quotes")
    if kind == "bool":
        wanted = isinstance(value, bool) or value in (0, 1)
        return bool(value) if wanted else _refuse(field, value, "the model has it or not", "write True or False")
    if value is None and kind.endswith("None"):
        return None
    return _whole(field, value, 0 if name in MAY_BE_ZERO else 1)


def _part(kind: type, field: str, value: Any) -> Any:
    if value is None or isinstance(value, kind):
        return value
    if not isinstance(value, Mapping):
        names = ", ".join(each.name for each in fields(kind))
        _refuse(field, value, "this part has sizes of its own", f"give a dict with {names}, or None")
    return _record(kind, value, f"{field}.")


def _whole(field: str, value: Any, least: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        _refuse(field, value, "a size is a whole number", "write it without a point and without quotes")
    if number < least:
        below = "a size is not negative" if least == 0 else "there is at least one"
        _refuse(field, value, below, f"give {least} or more")
    return number


def _refuse(field: str, value: Any, because: str, step: str) -> None:
    raise SpecError(f"{field}={value!r}: {because}; {step}")


def _near(name: str, names: Iterable[str]) -> str:
    near = get_close_matches(name, names, 1)
    return f"did you mean {near[0]!r}?" if near else f"there are {', '.join(names)}"


def _fit_together(spec: Spec) -> None:
    """Refuse sizes that are possible one by one and not together."""
    if spec.architecture not in ARCHITECTURES:
        _refuse("architecture", spec.architecture, "this one is not known", f"write one of {', '.join(ARCHITECTURES)}")
    if spec.n_kv_heads > spec.n_heads:
        _refuse("n_kv_heads", spec.n_kv_heads, f"more than n_heads={spec.n_heads}", f"give {spec.n_heads} or fewer")
    if spec.n_heads % spec.n_kv_heads:
        because = f"they cannot be shared evenly by n_heads={spec.n_heads}"
        _refuse("n_kv_heads", spec.n_kv_heads, because, "give a divisor of n_heads")
    if spec.ffn_matrices not in (2, 3):
        _refuse("ffn_matrices", spec.ffn_matrices, "an FFN has 2, a gated one 3", "write 2 or 3")
    if spec.norm_vectors > 2:
        _refuse("norm_vectors", spec.norm_vectors, "a norm has a scale and a shift at most", "write 0, 1 or 2")
    if set(spec.attention_bias) - set("qkvo") or len(set(spec.attention_bias)) < len(spec.attention_bias):
        because = "the projections are called q, k, v and o, each once"
        _refuse("attention_bias", spec.attention_bias, because, "write 'qkv' for three of them, '' for none")
    if spec.architecture == "encoder-decoder" and not spec.n_encoder_layers:
        raise SpecError("n_encoder_layers: an encoder-decoder has layers of both kinds; give the encoder's number")
    if spec.experts:
        _experts_fit(spec)
    if spec.latent_attention:
        _latent_fits(spec)


def _experts_fit(spec: Spec) -> None:
    experts = spec.experts
    if spec.architecture == "encoder-decoder":
        because = "which layers of an encoder-decoder are mixtures is not one number"
        _refuse("experts", experts, because, "count the two halves as an encoder and a decoder")
    if experts.top_k > experts.n:
        _refuse("experts.top_k", experts.top_k, f"more than experts.n={experts.n}", f"give {experts.n} or fewer")
    if experts.dense_layers > spec.n_layers:
        because = f"more than n_layers={spec.n_layers}"
        _refuse("experts.dense_layers", experts.dense_layers, because, f"give {spec.n_layers} or fewer")
    if experts.shared_gate and not experts.shared_d_ff:
        because = "there is no shared expert to gate"
        _refuse("experts.shared_gate", True, because, "give experts.shared_d_ff, or write False")


def _latent_fits(spec: Spec) -> None:
    if spec.attention_bias:
        because = "latent attention is counted without biases"
        _refuse("attention_bias", spec.attention_bias, because, "write '' and add them to other_parameters")
    if spec.architecture == "encoder-decoder":
        because = "it is counted in decoders and encoders only"
        _refuse("latent_attention", spec.latent_attention, because, "count the two halves as an encoder and a decoder")
    if not spec.latent_attention.nope_dim + spec.latent_attention.rope_dim:
        because = "with rope_dim=0 as well the queries have no numbers"
        _refuse("latent_attention.nope_dim", 0, because, "give one of the two")


@cache
def _table() -> dict[str, dict]:
    rows = json.loads((Path(__file__).with_name("models.json")).read_text(encoding="utf-8"))
    return {row["name"]: row for row in rows}


def known_models() -> list[dict]:
    """Return what is known of each model: its sizes, exact totals, the published figure and the source."""
    return [dict(row) for row in _table().values()]


def known_model(name: str) -> dict:
    """Return what is known of one model.

    **Raises** KeyError with the nearest name when there is none of this name

    >>> known_model("GPT-2 small")["d_model"]
    768
    """
    if name not in _table():
        raise KeyError(f"name={name!r}: no known model has this name; {_near(name, _table())}")
    return dict(_table()[name])
