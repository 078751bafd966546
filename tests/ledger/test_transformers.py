"""The ledger beside the models of `transformers`, built without numbers in an environment of its own."""

import json
import os
import subprocess
from pathlib import Path

import pytest
import torch

from ffnlib.ledger import count_model, known_model
from tests.environments import environment

SIZES = {
    "vocab_size": "vocab",
    "hidden_size": "d_model",
    "num_hidden_layers": "n_layers",
    "num_attention_heads": "n_heads",
    "num_key_value_heads": "n_kv_heads",
    "intermediate_size": "d_ff",
    "tie_word_embeddings": "tied",
    "head_dim": "head_dim",
}
DECODERS = {
    "LLaMA-7B": "LlamaConfig",
    "Llama-3-8B": "LlamaConfig",
    "Mistral-7B-v0.1": "MistralConfig",
    "Qwen2.5-7B": "Qwen2Config",
    "Qwen3-8B": "Qwen3Config",
    "Gemma-7B": "GemmaConfig",
    "Gemma-2-2B": "Gemma2Config",
    "OLMo-2-7B": "Olmo2Config",
    "Mixtral-8x7B": "MixtralConfig",
}
DEFAULTS = {
    "GPT-2 small": ("GPT2Config", "AutoModelForCausalLM"),
    "BERT-base (encoder only)": ("BertConfig", "AutoModel"),
}
BUILD = """
import json, sys
sys.path.append(sys.argv[1])  # PyTorch, from the environment of the course
import torch, transformers
sizes = {}
for name, (config, model, fields) in json.loads(sys.argv[2]).items():
    with torch.device("meta"):
        built = getattr(transformers, model).from_config(getattr(transformers, config)(**fields))
    sizes[name] = sum(parameter.numel() for parameter in built.parameters())
print(json.dumps(sizes))
"""


@pytest.fixture(scope="module")
def built():
    wanted = {name: (config, model, {}) for name, (config, model) in DEFAULTS.items()}
    for name, config in DECODERS.items():
        known = known_model(name)
        wanted[name] = config, "AutoModelForCausalLM", {theirs: known[ours] for theirs, ours in SIZES.items()}
    python = environment("transformers", "transformers>=5,<6")
    beside = str(Path(torch.__file__).parents[1])
    alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    run = subprocess.run(
        [python, "-c", BUILD, beside, json.dumps(wanted)], capture_output=True, text=True, env=alone, timeout=600
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout.splitlines()[-1])


@pytest.mark.slow
@pytest.mark.parametrize("name", [*DECODERS, *DEFAULTS])
def test_a_model_of_transformers_has_as_many_parameters(name, built):
    assert count_model(name).total == built[name]
