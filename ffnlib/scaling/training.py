"""Small language models and their training: everything follows from shape, learning rate and seed.

A tiny model leaves a processor idle between one small product and the next. So several models of one shape are
trained side by side: their weights are the rows of one array, and no row ever meets another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import cos, pi, prod, sqrt

import torch
from torch.nn.functional import cross_entropy, embedding, layer_norm, scaled_dot_product_attention

from ffnlib.scaling.plan import CONTEXT, HEADS, LAYERS, WORDS, Shape
from ffnlib.specimen import knowledge

BATCH, WARM_UP, WEIGHT_DECAY = 16, 100, 0.1
BETAS, EPSILON = (0.9, 0.98), 1e-8  # of AdamW
BOS, UNK = 0, 1


# ---- the text ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Text:
    """Words as numbers in one long row, each sentence after a mark of its beginning."""

    training: torch.Tensor
    validation: torch.Tensor


@lru_cache(maxsize=1)
def load_text() -> Text:
    """The specimen's prose with its most frequent words; every other word becomes `<unk>`."""
    training = [sentence.split() for sentence in knowledge.prose()]
    validation = [sentence.split() for sentence in knowledge.prose("prose_validation")]
    counts = Counter(word for sentence in training for word in sentence if word != "<unk>")
    frequent = sorted(counts, key=lambda word: (-counts[word], word))[: WORDS - 2]
    number = {word: place + 2 for place, word in enumerate(frequent)}

    def encode(sentences):
        return torch.tensor([n for words in sentences for n in (BOS, *(number.get(word, UNK) for word in words))])

    return Text(encode(training), encode(validation))


def rows_at(text: torch.Tensor, starts: torch.Tensor) -> torch.Tensor:
    """The words from each start on: inputs and, one to the right, targets.

    **Shapes.** starts (..., rows) -> (..., rows, CONTEXT + 1)
    """
    return text[starts[..., None] + torch.arange(CONTEXT + 1)]


def training_starts(text: torch.Tensor, seed: int, steps: int) -> torch.Tensor:
    """Where the rows of each step begin, `(steps, BATCH)`: drawn from the seed alone."""
    draw = torch.Generator().manual_seed(seed)
    return torch.randint(len(text) - CONTEXT, (steps, BATCH), generator=draw)


def validation_rows(text: torch.Tensor) -> torch.Tensor:
    """The fixed rows every model is judged by: the whole validation text, cut without overlap."""
    return rows_at(text, torch.arange(0, len(text) - CONTEXT, CONTEXT))


# ---- the model ---------------------------------------------------------------------------------


def matrices(shape: Shape) -> list[tuple[tuple[int, int], float]]:
    """Size of every matrix, and the spread of its first numbers.

    Spreads shrink with the root of the width that is added up; what is added to the stream starts smaller still.
    """
    d, quiet = shape.d_model, 1 / sqrt(2 * LAYERS)
    widths = [d, *[shape.d_ff] * shape.hidden_layers]
    layer = [((d, 3 * d), 1 / sqrt(d)), ((d, d), quiet / sqrt(d))]
    layer += [((a, b), sqrt(2 / a)) for a, b in pairwise(widths)]
    layer += [((shape.d_ff, d), quiet / sqrt(shape.d_ff))]
    return [((WORDS, d), 1 / sqrt(d)), ((CONTEXT, d), 1 / sqrt(d))] + LAYERS * layer


def first_weights(shape: Shape, seed: int) -> torch.Tensor:
    """All weights of one model in one row, drawn from the seed."""
    draw = torch.Generator().manual_seed(seed)
    return torch.cat([spread * torch.randn(prod(size), generator=draw) for size, spread in matrices(shape)])


def cut(weights: torch.Tensor, shape: Shape) -> list[torch.Tensor]:
    """The rows of weights as matrices, `(models, in, out)` each."""
    sizes = [size for size, _ in matrices(shape)]
    parts = weights.split([prod(size) for size in sizes], dim=1)
    return [part.view(-1, *size) for part, size in zip(parts, sizes, strict=True)]


def attention(x: torch.Tensor, queries_keys_values: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
    """Causal attention with `HEADS` heads.  (models, rows * positions, d_model) in and out"""
    models, tokens, d = x.shape
    split = (x @ queries_keys_values).view(-1, CONTEXT, 3, HEADS, d // HEADS).permute(2, 0, 3, 1, 4)
    mixed = scaled_dot_product_attention(*split.unbind(0), is_causal=True)  # (models * rows, HEADS, positions, ...)
    return mixed.transpose(1, 2).reshape(models, tokens, d) @ output


def ffn(x: torch.Tensor, matrices: Sequence[torch.Tensor]) -> torch.Tensor:
    """One or two hidden layers with ReLU.  (models, tokens, d_model) in and out"""
    *ups, down = matrices
    for up in ups:
        x = torch.relu(x @ up)
    return x @ down


def surprise(weights: torch.Tensor, shape: Shape, rows: torch.Tensor) -> torch.Tensor:
    """Mean loss at the next word for each model, in nats.

    **Shapes.** weights (models, all weights), rows (models, rows, CONTEXT + 1) -> (models,)
    """
    words, positions, *rest = cut(weights, shape)
    models, n_rows, d = len(words), rows.shape[1], shape.d_model
    own = rows + WORDS * torch.arange(models)[:, None, None]  # each model looks into its own table
    x = embedding(own[..., :-1], words.reshape(-1, d)) + positions[:, None]
    x = x.view(models, n_rows * CONTEXT, d)
    per_layer = len(rest) // LAYERS
    for first in range(0, len(rest), per_layer):
        into_attention, out_of_attention, *of_ffn = rest[first : first + per_layer]
        x = x + attention(layer_norm(x, (d,)), into_attention, out_of_attention)
        x = x + ffn(layer_norm(x, (d,)), of_ffn)
    scores = layer_norm(x, (d,)) @ words.transpose(1, 2)  # (models, tokens, WORDS)
    losses = cross_entropy(scores.flatten(0, 1), rows[..., 1:].flatten(), reduction="none")
    return losses.view(models, -1).mean(1)


# ---- training ----------------------------------------------------------------------------------


def pace(step: int, steps: int) -> float:
    """Share of the learning rate at a step: a rise, then half a cosine down to zero."""
    return min(1.0, (step + 1) / WARM_UP) * (1 + cos(pi * step / steps)) / 2


def clipped(gradient: torch.Tensor, limit: float) -> torch.Tensor:
    """Each model's gradient, shortened to `limit` when it is longer."""
    return gradient * (limit / gradient.norm(dim=1, keepdim=True)).clamp(max=1.0)


def adamw(weights: torch.Tensor, rates: torch.Tensor, pairs: Iterator[tuple[torch.Tensor, float]]) -> None:
    """Move the weights once for each (gradient, pace).

    **Source.** Loshchilov and Hutter 2019, Decoupled weight decay regularization, algorithm 2.
    """
    drift, size = torch.zeros_like(weights), torch.zeros_like(weights)
    for step, (gradient, share) in enumerate(pairs, start=1):
        drift.lerp_(gradient, 1 - BETAS[0])
        size.lerp_(gradient.square(), 1 - BETAS[1])
        direction = drift / (1 - BETAS[0] ** step) / ((size / (1 - BETAS[1] ** step)).sqrt() + EPSILON)
        with torch.no_grad():
            weights -= share * rates * (direction + WEIGHT_DECAY * weights)


def train(shape: Shape, rates: Sequence[float], seeds: Sequence[int], steps: int, clip: float) -> torch.Tensor:
    """Weights of one model for each learning rate and seed, trained side by side from nothing."""
    text = load_text().training
    weights = torch.stack([first_weights(shape, seed) for seed in seeds]).requires_grad_()
    starts = torch.stack([training_starts(text, seed, steps) for seed in seeds])  # (models, steps, BATCH)

    def gradients():
        for step in range(steps):
            loss = surprise(weights, shape, rows_at(text, starts[:, step])).sum()
            yield clipped(torch.autograd.grad(loss, weights)[0], clip), pace(step, steps)

    adamw(weights, torch.tensor(rates)[:, None], gradients())
    return weights.detach()


@torch.no_grad()
def validation_losses(weights: torch.Tensor, shape: Shape) -> list[float]:
    """Loss of each model on the fixed validation rows, in nats a word."""
    rows = validation_rows(load_text().validation)[None]
    return [surprise(model[None], shape, rows).item() for model in weights]
