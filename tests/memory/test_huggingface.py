"""The adapter beside tiny models of `transformers`, drawn at random in an environment of its own."""

import json
import os
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

import ffnlib
from ffnlib.memory import huggingface
from tests.environments import environment

TINY = {
    "gpt2": ("GPT2Config", {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 32}),
    "gpt2 of another width": ("GPT2Config", {"n_embd": 8, "n_inner": 20, "n_layer": 1, "n_head": 2, "n_positions": 32}),
    "opt": (
        "OPTConfig",
        {
            "hidden_size": 16,
            "word_embed_proj_dim": 16,
            "ffn_dim": 40,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "max_position_embeddings": 32,
        },
    ),
    "llama": (
        "LlamaConfig",
        {
            "hidden_size": 16,
            "intermediate_size": 24,
            "num_hidden_layers": 3,
            "num_attention_heads": 2,
            "num_key_value_heads": 1,
        },
    ),
    "llama with biases": (
        "LlamaConfig",
        {
            "hidden_size": 8,
            "intermediate_size": 8,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "mlp_bias": True,
        },
    ),
}
LAST = {"gpt2": "c_proj", "opt": "fc2", "llama": "down_proj"}  # the module whose input are the coefficients
COMPARE = """
import json, sys
sys.path += sys.argv[1:3]  # ffnlib and PyTorch, from the environment of the course
import numpy as np, torch, transformers
from ffnlib.memory import huggingface, read, top_triggers
transformers.logging.set_verbosity_error()
result = {}
for name, (config, sizes) in json.loads(sys.argv[3]).items():
    torch.manual_seed(0)
    settings = getattr(transformers, config)(vocab_size=50, **sizes)
    model = transformers.AutoModelForCausalLM.from_config(settings).double().eval()
    for parameter in model.parameters():  # biases and norms begin at 0 and 1, where a mix-up would not show
        parameter.data += 0.3 * torch.randn_like(parameter)
    last = [m for path, m in model.named_modules() if path.split(".")[-1] == json.loads(sys.argv[4])[name.split()[0]]
            and "attn" not in path]
    seen = {}
    for layer, module in enumerate(last):
        module.register_forward_hook(
            lambda module, args, out, layer=layer: seen.__setitem__(layer, (args[0].detach(), out.detach())))
    tokens = np.random.default_rng(1).integers(3, 50, size=(2, 7))
    inputs = huggingface.inputs_of(model)(tokens)
    memories = huggingface.memories(model)
    coefficient = output = summed = 0.0
    for layer, memory in enumerate(memories):
        wanted = [value.reshape(2, 7, -1).numpy() for value in seen[layer]]
        coefficient = max(coefficient, np.abs(memory.coefficients(inputs[layer]) - wanted[0]).max())
        output = max(output, np.abs(memory.output(inputs[layer]) - wanted[1]).max())
        parts = memory.contributions(inputs[layer][1, 3])
        summed = max(summed, np.abs(parts.sum(0) + memory.value_bias - wanted[1][1, 3]).max())
    with torch.no_grad():
        ran = model(torch.from_numpy(tokens), output_hidden_states=True)
    normed = ran.hidden_states[-1].numpy()  # behind the final norm
    stream = {}
    huggingface._part(model, huggingface.layout_of(model).norm).register_forward_pre_hook(
        lambda module, args: stream.update(before=args[0].detach().numpy()))
    with torch.no_grad():
        logits = model(torch.from_numpy(tokens)).logits.numpy()
    reading = read([list(map(int, row)) for row in tokens], huggingface.inputs_of(model))
    H = memories[0].coefficients(reading.inputs[0])
    result[name] = {
        "layers": len(memories), "coefficient": coefficient, "output": output, "sum": summed,
        "lens": np.abs(huggingface.lens(model, stream["before"]) - logits).max(),
        "embedding": np.abs(normed @ huggingface.embedding(model).T - logits).max(),
        "prefixes": len(reading.prefixes), "trigger": int(top_triggers(H, 2, 1)[0] == H[:, 2].argmax()),
        "largest": max(np.abs(out.numpy()).max() for _, out in seen.values()),
    }
print(json.dumps(result))
"""


@pytest.fixture(scope="module")
def compared():
    python = environment("transformers", "transformers>=5,<6")
    beside = [str(Path(module.__file__).parents[1]) for module in (ffnlib, torch)]
    alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    run = subprocess.run(
        [python, "-c", COMPARE, *beside, json.dumps(TINY), json.dumps(LAST)],
        capture_output=True,
        text=True,
        env=alone,
        timeout=600,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout.splitlines()[-1])


@pytest.mark.slow
@pytest.mark.parametrize("name", TINY)
def test_the_adapter_reads_what_the_model_computes(name, compared):
    found = compared[name]
    sizes = TINY[name][1]
    assert found["layers"] == sizes.get("n_layer", sizes.get("num_hidden_layers"))
    assert found["largest"] > 0.1  # else everything would agree with nothing
    # float64 on both sides, and sums of at most 64 terms; GPT-2's tanh is written in another order
    for part in ("coefficient", "output", "sum", "lens", "embedding"):
        assert found[part] < 1e-9, part


@pytest.mark.slow
def test_the_functions_of_the_specimen_read_these_models_too(compared):
    assert all(found["prefixes"] == 10 and found["trigger"] for found in compared.values())


def test_an_unknown_family_is_refused_by_name():
    model = SimpleNamespace(config=SimpleNamespace(model_type="mamba"))
    with pytest.raises(ValueError, match="model_type='mamba' is not known here; a Layout for it"):
        huggingface.layout_of(model)


def test_an_unknown_activation_is_refused_by_name():
    model = SimpleNamespace(config=SimpleNamespace(model_type="llama", hidden_act="relu2"))
    with pytest.raises(ValueError, match="activation='relu2' is not known here"):
        huggingface.memories(model)
