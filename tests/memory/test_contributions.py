"""The sum over units against PyTorch's modules."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from ffnlib.activations import silu
from ffnlib.memory import Memory, kv_contributions
from ffnlib.memory.reading import specimen_memories


@pytest.fixture
def rng():
    return np.random.default_rng(11)


def torch_linear(weight, bias):
    """A linear module that holds rows of weights, (outputs, inputs)."""
    module = torch.nn.Linear(weight.shape[1], weight.shape[0], dtype=torch.float64)
    module.weight.data, module.bias.data = torch.from_numpy(weight.copy()), torch.from_numpy(bias.copy())
    return module


def test_the_contributions_and_the_output_bias_are_the_layer(rng):
    keys, values, b1, b2 = rng.normal(size=(7, 3)), rng.normal(size=(7, 3)), rng.normal(size=7), rng.normal(size=3)
    x = rng.normal(size=3)
    wanted = torch_linear(values.T, b2)(F.relu(torch_linear(keys, b1)(torch.from_numpy(x)))).detach().numpy()
    # 1e-12: seven products in float64
    assert np.allclose(kv_contributions(x, keys.T, b1, values).sum(0) + b2, wanted, atol=1e-12)
    memory = Memory(keys, b1, values, b2)
    assert np.allclose(memory.contributions(x).sum(0) + memory.value_bias, wanted, atol=1e-12)
    assert np.allclose(memory.output(np.stack([x, x])), wanted, atol=1e-12)


def test_a_gated_memory_multiplies_two_matches(rng):
    gate, up, values = rng.normal(size=(3, 6, 4))
    memory = Memory(gate, np.zeros(6), values, np.zeros(4), silu, up)
    x = rng.normal(size=(2, 4))
    one, other, down = (torch.from_numpy(array) for array in (gate, up, values))
    wanted = (F.silu(torch.from_numpy(x) @ one.T) * (torch.from_numpy(x) @ other.T)) @ down
    assert np.allclose(memory.output(x), wanted.numpy(), atol=1e-12)
    assert np.allclose(memory.contributions(x[0]).sum(0), wanted[0].numpy(), atol=1e-12)


def test_the_specimens_memories_are_its_layers():
    from ffnlib import specimen

    weights = specimen.arrays("plain")
    seen = specimen.forward(weights, np.array([0, 5, 9, 31]))
    for layer, memory in enumerate(specimen_memories(weights)):
        # 1e-4: float32 sums of 512 terms
        assert np.allclose(memory.output(seen[f"{layer}.norm2"]), seen[f"{layer}.ffn"], atol=1e-4)
        assert np.allclose(memory.coefficients(seen[f"{layer}.norm2"]), seen[f"{layer}.hidden"], atol=1e-5)
