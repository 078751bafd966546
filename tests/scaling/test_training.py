"""The small models: what they see, and that training them side by side changes none of them."""

import pytest
import torch

from ffnlib.scaling import training
from ffnlib.scaling.plan import CONTEXT, WORDS, Shape, configurations
from ffnlib.scaling.training import (
    clipped,
    cut,
    first_weights,
    load_text,
    pace,
    rows_at,
    surprise,
    train,
    training_starts,
    validation_losses,
    validation_rows,
)

SMALL, DEEP = Shape(8, 24), Shape(8, 16, hidden_layers=2)


def some_rows(seed, n=3):
    return rows_at(load_text().training, training_starts(load_text().training, seed, 1)[0, :n])[None]


# ---- the text ----------------------------------------------------------------------------------


def test_every_word_has_a_number_and_the_most_frequent_stay():
    text = load_text()
    for part in (text.training, text.validation):
        assert part.min() >= 0
        assert part.max() < WORDS
    assert len(text.training.unique()) == WORDS
    assert (text.training == training.UNK).double().mean() < 0.4


def test_validation_covers_the_text_once():
    text = torch.arange(3 * CONTEXT + 2)
    assert validation_rows(text)[:, :-1].flatten().tolist() == list(range(3 * CONTEXT))


def test_the_last_possible_row_fits():
    text = load_text().training
    starts = training_starts(text, 0, 4000)
    assert starts.max() + CONTEXT < len(text)
    assert torch.equal(starts, training_starts(text, 0, 4000))
    assert not torch.equal(starts, training_starts(text, 1, 4000))


# ---- the model ---------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", configurations().values(), ids=configurations())
def test_the_model_has_as_many_weights_as_planned(shape):
    assert len(first_weights(shape, 0)) == shape.total


def loops(weights, shape, row):
    """Loss of one model on one row, position by position, with numbers alone."""
    words, positions, *rest = (part[0].double() for part in cut(weights[None], shape))
    per_layer = len(rest) // training.LAYERS

    def normal(x):
        return (x - x.mean()) / (x.var(unbiased=False) + 1e-5).sqrt()

    x = [words[word] + positions[place] for place, word in enumerate(row[:-1])]
    for first in range(0, len(rest), per_layer):
        into, out, *ups, down = rest[first : first + per_layer]
        parts = [(normal(one) @ into).view(3, training.HEADS, -1) for one in x]
        new = []
        for here, (query, _, _) in enumerate(parts):
            heads = []
            for head in range(training.HEADS):
                keys = torch.stack([part[1][head] for part in parts[: here + 1]])
                values = torch.stack([part[2][head] for part in parts[: here + 1]])
                share = (keys @ query[head] / len(query[head]) ** 0.5).softmax(0)
                heads.append(share @ values)
            new.append(x[here] + torch.cat(heads) @ out)
        x = new
        for here, one in enumerate(x):
            hidden = normal(one)
            for up in ups:
                hidden = (hidden @ up).clamp(min=0)
            x[here] = one + hidden @ down
    losses = [-(normal(one) @ words.T).log_softmax(0)[word] for one, word in zip(x, row[1:], strict=True)]
    return torch.stack(losses).mean().item()


@pytest.mark.parametrize("shape", [SMALL, DEEP])
def test_the_loss_is_that_of_a_model_written_out(shape):
    rows, weights = some_rows(5, n=1), first_weights(shape, 3)
    assert surprise(weights[None], shape, rows).item() == pytest.approx(loops(weights, shape, rows[0, 0]), rel=1e-5)


def test_side_by_side_each_model_has_its_own_loss():
    weights = torch.stack([first_weights(SMALL, seed) for seed in (1, 2)])
    rows = torch.cat([some_rows(1), some_rows(2)])
    alone = [surprise(weights[i : i + 1], SMALL, rows[i : i + 1]).item() for i in (0, 1)]
    assert surprise(weights, SMALL, rows).tolist() == pytest.approx(alone, rel=1e-5)  # float32


# ---- training ----------------------------------------------------------------------------------


def test_training_side_by_side_changes_nothing():
    together = train(SMALL, [0.01, 0.03], [4, 5], steps=5, clip=1.0)
    for row, (rate, seed) in enumerate([(0.01, 4), (0.03, 5)]):
        alone = train(SMALL, [rate], [seed], steps=5, clip=1.0)[0]
        # an order of additions may differ, and Adam's first steps are as large for a tiny gradient as for a big one
        torch.testing.assert_close(together[row], alone, rtol=1e-3, atol=1e-3)


def test_the_same_seed_gives_the_same_model():
    assert torch.equal(train(SMALL, [0.01], [4], 3, 1.0), train(SMALL, [0.01], [4], 3, 1.0))


def test_the_optimizer_is_torchs():
    start = torch.randn(2, 7, generator=torch.Generator().manual_seed(0))
    gradients = [torch.randn(2, 7, generator=torch.Generator().manual_seed(step)) for step in range(1, 6)]
    theirs = start[1:].clone().requires_grad_()
    reference = torch.optim.AdamW([theirs], lr=0.02, betas=training.BETAS, weight_decay=training.WEIGHT_DECAY)
    for gradient in gradients:
        theirs.grad = gradient[1:].clone()
        reference.step()
    ours = start.clone()
    training.adamw(ours, torch.tensor([[0.5], [0.02]]), ((gradient, 1.0) for gradient in gradients))
    torch.testing.assert_close(ours[1:], theirs.detach(), rtol=1e-5, atol=1e-6)


def test_long_gradients_are_shortened_and_short_ones_left():
    gradient = torch.tensor([[3.0, 4.0], [0.3, 0.4]])
    torch.testing.assert_close(clipped(gradient, 1.0), torch.tensor([[0.6, 0.8], [0.3, 0.4]]))


def test_the_pace_rises_and_falls():
    steps = 1000
    assert pace(0, steps) == pytest.approx(1 / training.WARM_UP, rel=1e-3)
    assert pace(steps // 2, steps) == pytest.approx(0.5)
    assert pace(steps - 1, steps) < 1e-4


def test_a_model_learns():
    untrained = first_weights(SMALL, 0)[None]
    trained = train(SMALL, [0.02], [0], steps=60, clip=1.0)
    assert validation_losses(trained, SMALL)[0] < validation_losses(untrained, SMALL)[0] - 1
