"""The feed-forward networks of a Hugging Face model, read by the same functions as the specimen's.

Three layouts are known: GPT-2, OPT and LLaMA (gated). The model comes from `transformers`, which is an optional extra:
`pip install "ffnlib[transformers]"`. This module imports PyTorch only; it never loads or downloads anything itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import torch

from ffnlib.activations import gelu, gelu_tanh, silu
from ffnlib.layer import relu
from ffnlib.memory.contributions import Memory
from ffnlib.memory.reading import InputsOf

ACTIVATIONS = {"relu": relu, "gelu": gelu, "gelu_new": gelu_tanh, "gelu_pytorch_tanh": gelu_tanh, "silu": silu}


@dataclass(frozen=True)
class Layout:
    """Where a family of models keeps its parts; `rows` says that weights are (inputs, outputs), as W1 in x W1."""

    blocks: str
    norm: str
    key: str
    value: str
    activation: str  # the field of the configuration that names it
    up: str = ""
    rows: bool = False


LAYOUTS = {
    "gpt2": Layout(
        "transformer.h", "transformer.ln_f", "mlp.c_fc", "mlp.c_proj", activation="activation_function", rows=True
    ),
    "opt": Layout(
        "model.decoder.layers", "model.decoder.final_layer_norm", "fc1", "fc2", activation="activation_function"
    ),
    "llama": Layout(
        "model.layers", "model.norm", "mlp.gate_proj", "mlp.down_proj", activation="hidden_act", up="mlp.up_proj"
    ),
}


def layout_of(model: Any) -> Layout:
    """Return the layout of a causal language model of `transformers`.

    **Raises** ValueError for a family or an activation that is not known here
    """
    family = model.config.model_type
    if family not in LAYOUTS:
        raise ValueError(
            f"model_type={family!r} is not known here; a Layout for it is needed beside {', '.join(LAYOUTS)}"
        )
    activation = getattr(model.config, LAYOUTS[family].activation)
    if activation not in ACTIVATIONS:
        raise ValueError(
            f"activation={activation!r} is not known here; add its function beside {', '.join(ACTIVATIONS)}"
        )
    return LAYOUTS[family]


def memories(model: Any) -> tuple[Memory, ...]:
    """Return the feed-forward networks of a model in float64, layer by layer.

    **Raises** ValueError as `layout_of` does
    """
    layout = layout_of(model)
    activation = ACTIVATIONS[getattr(model.config, layout.activation)]
    found = []
    for block in _part(model, layout.blocks):
        keys, key_bias = _linear(_part(block, layout.key), layout.rows)
        values, value_bias = _linear(_part(block, layout.value), layout.rows)
        up = _linear(_part(block, layout.up), layout.rows) if layout.up else (None, 0.0)
        found.append(
            Memory(keys.T, key_bias, values, value_bias, activation, None if up[0] is None else up[0].T, up[1])
        )
    return tuple(found)


def _part(module: Any, path: str) -> Any:
    return reduce(getattr, path.split("."), module)


def _linear(module: Any, rows: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return weight (inputs, outputs) and bias (outputs,) of a linear module; zeros for a bias it has not."""
    weight = module.weight.detach().double().cpu().numpy()
    weight = weight if rows else weight.T
    bias = getattr(module, "bias", None)
    return weight, np.zeros(weight.shape[1]) if bias is None else bias.detach().double().cpu().numpy()


def inputs_of(model: Any) -> InputsOf:
    """Return the function that runs a model on tokens (B, T) and gives the inputs of its feed-forward networks.

    Hand it to `ffnlib.memory.read`, and the model's units are read as the specimen's are.
    """
    layout = layout_of(model)
    firsts = [_part(block, layout.key) for block in _part(model, layout.blocks)]

    @torch.no_grad()
    def run(tokens: np.ndarray) -> np.ndarray:
        with _seen_by(firsts) as seen:
            model(torch.as_tensor(np.asarray(tokens), device=model.device))
        return np.stack([seen[layer].reshape(*np.shape(tokens), -1) for layer in range(len(firsts))])

    return run


@contextmanager
def _seen_by(modules: list[Any]) -> Iterator[dict[int, np.ndarray]]:
    """Yield a dictionary that fills with the input of each module as the model runs."""
    seen: dict[int, np.ndarray] = {}

    def note(place: int):
        def hook(_module: Any, arguments: tuple) -> None:
            seen[place] = arguments[0].detach().double().cpu().numpy()

        return hook

    handles = [module.register_forward_pre_hook(note(place)) for place, module in enumerate(modules)]
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()


def embedding(model: Any) -> np.ndarray:
    """Return the rows E that score the words, (vocab, d_model)."""
    return model.get_output_embeddings().weight.detach().double().cpu().numpy()


@torch.no_grad()
def lens(model: Any, stream: np.ndarray) -> np.ndarray:
    """Return the logits a hidden state would give if the model stopped there, by the model's own norm and unembedding.

    **Shapes** stream (..., d_model) -> (..., vocab)
    """
    head = model.get_output_embeddings()
    state = torch.as_tensor(np.asarray(stream), dtype=head.weight.dtype, device=head.weight.device)
    return head(_part(model, layout_of(model).norm)(state)).double().cpu().numpy()
