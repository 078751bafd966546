"""The ledger against models that its own data does not hold, with totals that were counted without it.

The sizes are those of each repository's configuration. A total is the number of entries of all parameters of the
model in https://github.com/huggingface/transformers, each shared one once (InternLM2 and MiniCPM have LLaMA's layers,
Kimi-K2 those of DeepSeek-V3); DeepSeekMoE-16B is counted in the same way from modules of PyTorch. Kimi-K2's total
includes a correction for each expert, which is stored with the parameters. The active parameters leave out the experts
that a token does not meet.
"""

import pytest

from ffnlib.ledger import count_model, known_models

TWO = {"ffn_matrices": 2}
LAYER_NORM = {"norm_vectors": 2}
BIASES = {"attention_bias": "qkvo", "ffn_bias": True, **LAYER_NORM}

# name, repository, total, (vocab, d_model, layers, heads, key-value heads, d_ff, tied), and what else there is
DENSE = [
    # learned positions, biases, LayerNorm
    (
        "GPT-2 XL",
        "openai-community/gpt2-xl",
        1_557_611_200,
        (50257, 1600, 48, 25, 25, 6400, True),
        {**TWO, **BIASES, "learned_positions": 1024},
    ),
    # two positions more than tokens
    (
        "OPT-6.7B",
        "facebook/opt-6.7b",
        6_658_473_984,
        (50272, 4096, 32, 32, 32, 16384, True),
        {**TWO, **BIASES, "learned_positions": 2050},
    ),
    # queries, keys and values without biases, the output with one
    (
        "GPT-Neo-1.3B",
        "EleutherAI/gpt-neo-1.3B",
        1_315_575_808,
        (50257, 2048, 24, 16, 16, 8192, True),
        {**TWO, **BIASES, "attention_bias": "o", "learned_positions": 2048},
    ),
    ("Pythia-1B", "EleutherAI/pythia-1b", 1_011_781_632, (50304, 2048, 16, 8, 8, 8192, False), {**TWO, **BIASES}),
    (
        "Pythia-6.9B",
        "EleutherAI/pythia-6.9b",
        6_857_302_016,
        (50432, 4096, 32, 32, 32, 16384, False),
        {**TWO, **BIASES},
    ),
    # a norm right after the embedding
    (
        "BLOOM-560M",
        "bigscience/bloom-560m",
        559_214_592,
        (250880, 1024, 24, 16, 16, 4096, True),
        {**TWO, **BIASES, "final_norms": 2},
    ),
    # one norm for attention and FFN side by side, and a bias on the output matrix
    (
        "CodeGen-2B",
        "Salesforce/codegen-2B-mono",
        2_779_356_160,
        (51200, 2560, 32, 32, 32, 10240, False),
        {**TWO, **BIASES, "attention_bias": "", "norms_per_layer": 1, "head_bias": True},
    ),
    # no bias anywhere, not even in LayerNorm
    ("MPT-7B", "mosaicml/mpt-7b", 6_649_286_656, (50432, 4096, 32, 32, 32, 16384, True), TWO),
    # one head of keys and values
    (
        "StarCoderBase-1B",
        "bigcode/starcoderbase-1b",
        1_137_207_296,
        (49152, 2048, 24, 16, 1, 8192, True),
        {**TWO, **BIASES, "learned_positions": 8192},
    ),
    ("StarCoder2-3B", "bigcode/starcoder2-3b", 3_030_371_328, (49152, 3072, 30, 24, 2, 12288, True), {**TWO, **BIASES}),
    # LLaMA's layers in other sizes
    ("TinyLlama-1.1B", "TinyLlama/TinyLlama-1.1B-Chat-v1.0", 1_100_048_384, (32000, 2048, 22, 32, 4, 5632, False), {}),
    ("SmolLM2-1.7B", "HuggingFaceTB/SmolLM2-1.7B", 1_711_376_384, (49152, 2048, 24, 32, 32, 8192, True), {}),
    ("SmolLM3-3B", "HuggingFaceTB/SmolLM3-3B", 3_075_098_624, (128256, 2048, 36, 16, 4, 11008, True), {}),
    ("MiniCPM-2B", "openbmb/MiniCPM-2B-sft-bf16", 2_724_880_896, (122753, 2304, 40, 36, 36, 5760, True), {}),
    ("Yi-6B", "01-ai/Yi-6B", 6_061_035_520, (64000, 4096, 32, 32, 4, 11008, False), {}),
    ("InternLM2-7B", "internlm/internlm2-7b", 7_737_708_544, (92544, 4096, 32, 32, 8, 14336, False), {}),
    (
        "DeepSeek-LLM-7B",
        "deepseek-ai/deepseek-llm-7b-base",
        6_910_365_696,
        (102400, 4096, 30, 32, 32, 11008, False),
        {},
    ),
    ("Llama-3-70B", "meta-llama/Meta-Llama-3-70B", 70_553_706_496, (128256, 8192, 80, 64, 8, 28672, False), {}),
    ("Llama-3.2-3B", "meta-llama/Llama-3.2-3B", 3_212_749_824, (128256, 3072, 28, 24, 8, 8192, True), {}),
    ("Granite-3.0-2B", "ibm-granite/granite-3.0-2b-base", 2_533_531_648, (49155, 2048, 40, 32, 8, 8192, True), {}),
    ("Phi-3-mini", "microsoft/Phi-3-mini-4k-instruct", 3_821_079_552, (32064, 3072, 32, 32, 32, 8192, False), {}),
    ("Phi-4", "microsoft/phi-4", 14_659_507_200, (100352, 5120, 40, 40, 10, 17920, False), {}),
    # heads that are narrower or wider than d_model divided by their number
    (
        "Mistral-NeMo-12B",
        "mistralai/Mistral-Nemo-Base-2407",
        12_247_782_400,
        (131072, 5120, 40, 32, 8, 14336, False),
        {"head_dim": 128},
    ),
    # biases on queries, keys and values only
    (
        "Qwen1.5-0.5B",
        "Qwen/Qwen1.5-0.5B",
        463_987_712,
        (151936, 1024, 24, 16, 16, 2816, True),
        {"attention_bias": "qkv"},
    ),
    ("Qwen2.5-3B", "Qwen/Qwen2.5-3B", 3_085_938_688, (151936, 2048, 36, 16, 2, 11008, True), {"attention_bias": "qkv"}),
    (
        "StableLM-2-1.6B",
        "stabilityai/stablelm-2-1_6b",
        1_644_515_328,
        (100352, 2048, 24, 32, 32, 5632, False),
        {"attention_bias": "qkv", **LAYER_NORM},
    ),
    (
        "StableLM-3B-4E1T",
        "stabilityai/stablelm-3b-4e1t",
        2_795_443_200,
        (50304, 2560, 32, 32, 32, 6912, False),
        LAYER_NORM,
    ),
    # norms on queries and keys of one head, or norms after attention and FFN as well
    (
        "Qwen3-1.7B",
        "Qwen/Qwen3-1.7B",
        1_720_574_976,
        (151936, 2048, 28, 16, 8, 6144, True),
        {"head_dim": 128, "qk_norm": 2 * 128},
    ),
    (
        "Gemma-2-9B",
        "google/gemma-2-9b",
        9_241_705_984,
        (256000, 3584, 42, 16, 8, 14336, True),
        {"head_dim": 256, "norms_per_layer": 4},
    ),
    (
        "Gemma-3-1B",
        "google/gemma-3-1b-pt",
        999_885_952,
        (262144, 1152, 26, 4, 1, 6912, True),
        {"head_dim": 256, "norms_per_layer": 4, "qk_norm": 2 * 256},
    ),
    # one norm a layer; in the larger model also one of its own for every head of queries and of keys
    (
        "Command R",
        "CohereLabs/c4ai-command-r-v01",
        34_980_831_232,
        (256000, 8192, 40, 64, 64, 22528, True),
        {"norms_per_layer": 1},
    ),
    (
        "Command R+",
        "CohereLabs/c4ai-command-r-plus",
        103_810_674_688,
        (256000, 12288, 64, 96, 8, 33792, True),
        {"norms_per_layer": 1, "qk_norm": (96 + 8) * 128},
    ),
]

# name, repository, total, active, (vocab, d_model, layers, heads, key-value heads), experts, and what else there is
MIXTURES = [
    (
        "Mixtral-8x22B",
        "mistralai/Mixtral-8x22B-v0.1",
        140_620_634_112,
        39_152_031_744,
        (32000, 6144, 56, 48, 8),
        {"n": 8, "top_k": 2, "d_ff": 16384},
        {},
    ),
    (
        "DBRX",
        "databricks/dbrx-base",
        131_596_523_520,
        36_469_708_800,
        (100352, 6144, 40, 48, 8),
        {"n": 16, "top_k": 4, "d_ff": 10752},
        {},
    ),
    (
        "Phi-3.5-MoE",
        "microsoft/Phi-3.5-MoE-instruct",
        41_873_153_344,
        6_640_999_744,
        (32064, 4096, 32, 32, 8),
        {"n": 16, "top_k": 2, "d_ff": 6400},
        {"attention_bias": "qkvo", "head_bias": True, **LAYER_NORM},
    ),
    (
        "Granite-3.0-1B-A400M",
        "ibm-granite/granite-3.0-1b-a400m-base",
        1_334_628_352,
        428_658_688,
        (49155, 1024, 24, 16, 8),
        {"n": 32, "top_k": 8, "d_ff": 512},
        {"tied": True},
    ),
    # norms on all queries and all keys at once
    (
        "OLMoE-1B-7B",
        "allenai/OLMoE-1B-7B-0924",
        6_919_161_856,
        1_282_017_280,
        (50304, 2048, 16, 16, 16),
        {"n": 64, "top_k": 8, "d_ff": 1024},
        {"qk_norm": 2 * 2048},
    ),
    (
        "Qwen3-235B-A22B",
        "Qwen/Qwen3-235B-A22B",
        235_093_634_560,
        22_190_763_520,
        (151936, 4096, 94, 64, 4),
        {"n": 128, "top_k": 8, "d_ff": 1536},
        {"head_dim": 128, "qk_norm": 2 * 128},
    ),
    # a first layer that is dense, and two shared experts counted as one of twice the width
    (
        "DeepSeekMoE-16B",
        "deepseek-ai/deepseek-moe-16b-base",
        16_375_728_128,
        2_828_650_496,
        (102400, 2048, 28, 16, 16),
        {"n": 64, "top_k": 6, "d_ff": 1408, "shared_d_ff": 2 * 1408, "dense_layers": 1},
        {"d_ff": 10944},
    ),
    (
        "GLM-4.5-Air (without prediction of a second token)",
        "zai-org/GLM-4.5-Air",
        106_852_245_504,
        13_424_123_904,
        (151552, 4096, 46, 96, 8),
        {"n": 128, "top_k": 8, "d_ff": 1408, "shared_d_ff": 1408, "dense_layers": 1},
        {"d_ff": 10944, "head_dim": 128, "attention_bias": "qkv"},
    ),
    # every second layer is dense
    (
        "Llama-4-Maverick (text)",
        "meta-llama/Llama-4-Maverick-17B-128E",
        400_711_848_960,
        17_184_691_200,
        (202048, 5120, 48, 40, 8),
        {"n": 128, "top_k": 1, "d_ff": 8192, "shared_d_ff": 8192, "dense_layers": 24},
        {"d_ff": 16384},
    ),
    (
        "Llama-4-Scout (text)",
        "meta-llama/Llama-4-Scout-17B-16E",
        107_769_861_120,
        17_172_894_720,
        (202048, 5120, 48, 40, 8),
        {"n": 16, "top_k": 1, "d_ff": 8192, "shared_d_ff": 8192},
        {},
    ),
    # experts with biases; beside them a bias on the router and a sink for each head
    (
        "gpt-oss-20b",
        "openai/gpt-oss-20b",
        20_914_757_184,
        4_187_440_704,
        (201088, 2880, 24, 64, 8),
        {"n": 32, "top_k": 4, "d_ff": 2880},
        {"head_dim": 64, "attention_bias": "qkvo", "ffn_bias": True, "other_parameters": 24 * (32 + 64)},
    ),
    # latent attention; a correction for each expert in the choice of experts
    (
        "Kimi-K2",
        "moonshotai/Kimi-K2-Base",
        1_026_408_232_448,
        32_861_500_928,
        (163840, 7168, 61, 64, 64),
        {"n": 384, "top_k": 8, "d_ff": 2048, "shared_d_ff": 2048, "dense_layers": 1},
        {
            "d_ff": 18432,
            "latent_attention": {"q_rank": 1536, "kv_rank": 512, "nope_dim": 128, "rope_dim": 64, "v_dim": 128},
            "other_parameters": 60 * 384,
        },
    ),
]

# name, repository, total, sizes
OTHERS = [
    # encoder and decoder have positions of their own and a norm on their embeddings
    (
        "BART-base",
        "facebook/bart-base",
        139_420_416,
        {
            "architecture": "encoder-decoder",
            "vocab": 50265,
            "d_model": 768,
            "n_layers": 6,
            "n_encoder_layers": 6,
            "n_heads": 12,
            "d_ff": 3072,
            "learned_positions": 2 * 1026,
            "final_norms": 2,
        },
    ),
    # no segments and no pooler
    (
        "DistilBERT-base",
        "distilbert/distilbert-base-uncased",
        66_362_880,
        {
            "architecture": "encoder",
            "vocab": 30522,
            "d_model": 768,
            "n_layers": 6,
            "n_heads": 12,
            "d_ff": 3072,
            "learned_positions": 512,
        },
    ),
]


def cases():
    """Give each model's spec, total and active parameters, and the page of its configuration."""
    names = ("vocab", "d_model", "n_layers", "n_heads", "n_kv_heads")
    for name, source, total, (*sizes, d_ff, tied), more in DENSE:
        spec = {**dict(zip(names, sizes)), "d_ff": d_ff, "tied": tied, "ffn_matrices": 3, **more}
        yield name, source, spec, total, total
    for name, source, total, active, sizes, experts, more in MIXTURES:
        spec = {**dict(zip(names, sizes)), "d_ff": experts["d_ff"], "tied": False, "ffn_matrices": 3, **more}
        yield name, source, {**spec, "experts": experts}, total, active
    for name, source, total, sizes in OTHERS:
        yield name, source, {**sizes, "tied": True, **TWO, **BIASES}, total, total


CASES = [pytest.param(spec, (total, active), id=name) for name, _, spec, total, active in cases()]
SOURCES = [f"https://huggingface.co/{source}/blob/main/config.json" for _, source, *_ in cases()]


@pytest.mark.parametrize("spec, published", CASES)
def test_a_model_typed_from_its_configuration_is_counted_to_the_last_parameter(spec, published):
    ledger = count_model(spec)
    assert (ledger.total, ledger.active) == published


def test_none_of_these_models_is_one_the_ledger_knows():
    names = [case.id for case in CASES]
    assert len(set(names)) == len(names) and not set(names) & {model["name"] for model in known_models()}


def test_every_model_has_a_source_of_its_own():
    assert len(set(SOURCES)) == len(CASES)
