"""NumPy alone gives the model's numbers; importing the specimen does not bring PyTorch in."""

import subprocess
import sys

import numpy as np
import pytest
import torch

from ffnlib import specimen
from ffnlib.specimen.model import intervene

TEXTS = ("the capital of france is", "in this year of peace we must do our work together .")


def rows():
    encode = specimen.load_tokenizer().prompt
    rng = np.random.default_rng(0)
    return [np.array(encode(text)) for text in TEXTS] + [rng.integers(0, 3000, size=48)]


@pytest.mark.parametrize("name", ["plain", "sparse"])
def test_every_named_value_equals_pytorchs_to_1e_4(name):
    weights, model = specimen.arrays(name), specimen.load(name)
    for tokens in rows():
        with intervene(model, dict.fromkeys(model.names())) as seen:
            model(torch.from_numpy(tokens)[None])
        values = specimen.forward(weights, tokens)
        assert tuple(values) == model.names()
        for key, value in values.items():
            np.testing.assert_allclose(value, seen[key][0].numpy(), atol=1e-4, rtol=1e-4, err_msg=key)


def test_replacing_a_value_does_in_numpy_what_it_does_in_pytorch():
    weights, model, tokens = specimen.arrays("plain"), specimen.load("plain"), rows()[0]
    values = specimen.forward(
        weights, tokens, {"3.hidden": lambda hidden: hidden * (hidden > 0.1), "0.ffn": lambda x: 0 * x}
    )
    with intervene(model, {"3.hidden": lambda hidden: hidden * (hidden > 0.1), "0.ffn": torch.zeros_like}):
        logits = model(torch.from_numpy(tokens)[None])[0]
    np.testing.assert_allclose(values["logits"], logits.numpy(), atol=1e-4)


def test_a_batch_gives_what_its_rows_give_alone():
    weights = specimen.arrays("plain")
    both = np.stack([rows()[2], rows()[2][::-1]])
    batch = specimen.forward(weights, both)["logits"]
    for row, tokens in zip(batch, both):
        np.testing.assert_allclose(row, specimen.forward(weights, tokens)["logits"], atol=1e-4)


def test_the_arrays_are_in_the_row_convention():
    weights = specimen.arrays("plain")
    assert weights["blocks.0.ffn.W1"].shape == (128, 512) and weights["blocks.0.ffn.W2"].shape == (512, 128)
    assert all(array.dtype == np.float32 for array in weights.values())


def test_the_whole_pass_stays_in_the_precision_of_the_weights():
    values = specimen.forward(specimen.arrays("plain"), rows()[0])
    assert {value.dtype for value in values.values()} == {np.dtype(np.float32)}


def test_numpy_alone_answers_a_question():
    tokenizer = specimen.load_tokenizer()
    logits = specimen.forward(specimen.arrays("plain"), tokenizer.prompt("the capital of france is"))["logits"]
    assert tokenizer.words[logits[-1].argmax()] == "paris"


def test_importing_and_running_the_specimen_in_numpy_imports_no_torch():
    code = (
        "import sys; from ffnlib import specimen; specimen.forward(specimen.arrays(), [0, 5, 9]);"
        "import ffnlib.editing;"
        "assert 'torch' not in sys.modules and 'safetensors' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_no_submodule_carries_the_name_of_something_importable_from_the_package():
    import pkgutil

    assert not {module.name for module in pkgutil.iter_modules(specimen.__path__)} & set(specimen.__all__)


def test_a_model_loads_in_under_a_fifth_of_a_second_once_torch_is_there():
    import time

    specimen.load("plain")
    spent = []
    for _ in range(5):
        start = time.process_time()
        specimen.load("plain")
        spent.append(time.process_time() - start)
    assert min(spent) < 0.2
