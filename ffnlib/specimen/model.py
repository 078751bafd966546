"""The specimen: a small decoder-only Transformer with ReLU feed-forward networks.

Pre-norm, learned positions, tied embedding. Every intermediate value of the forward pass has a name
(`Specimen.names()`), and `intervene` reads or replaces any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass

import torch
from torch import nn
from torch.nn import functional as F

ACTIVATIONS = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu, "swiglu": F.silu}


@dataclass(frozen=True)
class Config:
    """Sizes of a model. `activation` is relu, gelu, silu or swiglu (gated, without biases in the gate)."""

    vocabulary: int
    d_model: int = 128
    n_layers: int = 4
    n_heads: int = 4
    d_ff: int = 512
    context: int = 48
    activation: str = "relu"


class Norm(nn.Module):
    """LayerNorm with gain and bias."""

    def __init__(self, d_model: int):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(x, x.shape[-1:], self.gain, self.bias, eps=1e-5)


class Attention(nn.Module):
    """Causal self-attention with several heads, without biases."""

    def __init__(self, config: Config):
        super().__init__()
        self.n_heads = config.n_heads
        shape = (config.d_model, config.d_model)
        self.Wq, self.Wk, self.Wv, self.Wo = (nn.Parameter(torch.empty(shape)) for _ in range(4))

    def heads(self, x: torch.Tensor) -> torch.Tensor:
        return x.unflatten(-1, (self.n_heads, -1)).transpose(-3, -2)  # (B, n_heads, T, d_head)

    def forward(self, x: torch.Tensor, name: Callable) -> torch.Tensor:
        q = name("q", self.heads(x @ self.Wq))
        k = name("k", self.heads(x @ self.Wk))
        v = name("v", self.heads(x @ self.Wv))
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5  # (B, n_heads, T, T)
        future = torch.ones(scores.shape[-2:], dtype=torch.bool, device=x.device).triu(1)
        pattern = name("pattern", scores.masked_fill(future, float("-inf")).softmax(-1))
        mixed = name("mixed", (pattern @ v).transpose(-3, -2).flatten(-2))  # (B, T, d_model)
        return mixed @ self.Wo


class FeedForward(nn.Module):
    """`hidden @ W2 + b2` with `hidden = relu(x @ W1 + b1)`: keys are columns of W1, values are rows of W2."""

    def __init__(self, config: Config):
        super().__init__()
        self.activation = config.activation
        self.W1 = nn.Parameter(torch.empty(config.d_model, config.d_ff))
        self.b1 = nn.Parameter(torch.zeros(config.d_ff))
        self.W2 = nn.Parameter(torch.empty(config.d_ff, config.d_model))
        self.b2 = nn.Parameter(torch.zeros(config.d_model))
        if self.activation == "swiglu":
            self.Wg = nn.Parameter(torch.empty(config.d_model, config.d_ff))

    def forward(self, x: torch.Tensor, name: Callable) -> torch.Tensor:
        pre = name("pre", x @ self.W1 + self.b1)  # (B, T, d_ff)
        hidden = ACTIVATIONS[self.activation](pre)
        if self.activation == "swiglu":
            hidden = hidden * (x @ self.Wg)
        return name("hidden", hidden) @ self.W2 + self.b2  # (B, T, d_model)


class Block(nn.Module):
    """x + attention(norm(x)), then the same with the feed-forward network."""

    def __init__(self, config: Config):
        super().__init__()
        self.norm1, self.attention = Norm(config.d_model), Attention(config)
        self.norm2, self.ffn = Norm(config.d_model), FeedForward(config)

    def forward(self, x: torch.Tensor, name: Callable) -> torch.Tensor:
        x = name("middle", x + name("attention", self.attention(name("norm1", self.norm1(x)), name)))
        return name("residual", x + name("ffn", self.ffn(name("norm2", self.norm2(x)), name)))  # (B, T, d_model)


BLOCK_NAMES = (
    "norm1",
    "q",
    "k",
    "v",
    "pattern",
    "mixed",
    "attention",
    "middle",
    "norm2",
    "pre",
    "hidden",
    "ffn",
    "residual",
)


class Specimen(nn.Module):
    """Token numbers (B, T) in, logits of the next token (B, T, vocabulary) out."""

    def __init__(self, config: Config):
        super().__init__()
        self.config = config
        self.embedding = nn.Parameter(torch.empty(config.vocabulary, config.d_model))
        self.position = nn.Parameter(torch.empty(config.context, config.d_model))
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.n_layers))
        self.norm = Norm(config.d_model)
        self._visitors: list[Callable] = []

    def names(self) -> tuple[str, ...]:
        """The name of every intermediate value, in the order of computation; `2.hidden` belongs to layer 2."""
        inside = [f"{layer}.{name}" for layer in range(self.config.n_layers) for name in BLOCK_NAMES]
        return ("embedding", *inside, "norm", "logits")

    def visit(self, name: str, value: torch.Tensor) -> torch.Tensor:
        for visitor in self._visitors:
            value = visitor(name, value)
        return value

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embedding[tokens] + self.position[: tokens.shape[-1]]
        x = self.visit("embedding", x)  # (B, T, d_model)
        for layer, block in enumerate(self.blocks):
            x = block(x, lambda name, value, layer=layer: self.visit(f"{layer}.{name}", value))
        return self.visit("logits", self.visit("norm", self.norm(x)) @ self.embedding.T)  # (B, T, vocabulary)


@contextmanager
def intervene(model: Specimen, plan: Mapping[str, object]) -> Iterator[dict[str, torch.Tensor]]:
    """Read or replace named values while the block runs, and yield the values seen.

    `plan` maps a name of `model.names()` to None (read only), to a function of the value that returns its
    replacement, or to a tensor that replaces it. The dictionary yielded holds what the rest of the pass used.

    **Raises** KeyError for an unknown name, ValueError when a replacement has another shape.
    """
    unknown = sorted(set(plan) - set(model.names()))
    if unknown:
        raise KeyError(f"no value is named {', '.join(unknown)}; names are {', '.join(model.names())}")
    seen: dict[str, torch.Tensor] = {}

    def visitor(name: str, value: torch.Tensor) -> torch.Tensor:
        if name in plan:
            value = seen[name] = _replaced(name, value, plan[name])
        return value

    model._visitors.append(visitor)
    try:
        yield seen
    finally:
        model._visitors.remove(visitor)


def _replaced(name: str, value: torch.Tensor, change: object) -> torch.Tensor:
    if change is None:
        return value
    new = change(value) if callable(change) else torch.as_tensor(change, dtype=value.dtype)
    if new.shape != value.shape:
        raise ValueError(f"the replacement of {name} has shape {tuple(new.shape)}, the value {tuple(value.shape)}")
    return new


def initialised(config: Config, seed: int) -> Specimen:
    """A model with fresh weights: deviation 0.02 for embedding and position, 1 / sqrt(3 inputs) for matrices."""
    model = Specimen(config)
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in model.named_parameters():
        if parameter.dim() == 2:
            deviation = 0.02 if name in ("embedding", "position") else (3 * parameter.shape[0]) ** -0.5
            nn.init.normal_(parameter, std=deviation, generator=generator)
    return model


def describe(config: Config) -> dict[str, str]:
    """The sizes as text, as a weights file carries them."""
    return {name: str(value) for name, value in asdict(config).items()}


def from_arrays(arrays: Mapping[str, object], sizes: Mapping[str, str]) -> Specimen:
    """A model in evaluation mode made of `arrays`, sizes as `describe` gives them."""
    numbers = {key: value if key == "activation" else int(value) for key, value in sizes.items() if key != "format"}
    with torch.device("meta"):
        model = Specimen(Config(**numbers))
    model.load_state_dict({name: torch.from_numpy(array) for name, array in arrays.items()}, assign=True)
    return model.requires_grad_(False).eval()
