"""The specimen: two small trained ReLU Transformers whose training facts are known.

`arrays(name)` and `forward` need NumPy only; `load(name)` gives a PyTorch model. Names are `plain` (trained
without a penalty) and `sparse` (with an L1 penalty on activations from 40 % of the steps). CARD.md says what
each can and cannot do. `small_gelu` and `small_silu` are two runners of the race, for `load` only: `forward`
is ReLU and four heads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffnlib.specimen.files import WEIGHTS, WeightsError, read_weights
from ffnlib.specimen.knowledge import Fact, facts, prompts, wordings
from ffnlib.specimen.numpy_forward import forward
from ffnlib.specimen.tokenizer import load_tokenizer

if TYPE_CHECKING:
    import numpy as np

    from ffnlib.specimen.model import Specimen

SHA256 = {
    "plain": "42ed8dca1cedf4cf29d1daca6cac61636906f0d5f0450b67a18226035f277f79",
    "sparse": "de28d0ba2ae5e5ebb6aa348605cbbc3f2dbc46275d1f5dcf36e7efff450e1119",
    "small_gelu": "1b240c794c0bd54c686beb2d85c42c4d04cad21c7107d1ac8d13a078be3bca9f",
    "small_silu": "d55b07acf2c3ccde23ff476882e911527926183729a0f81127ae58fdaed18ee8",
}

__all__ = [
    "SHA256",
    "Fact",
    "WeightsError",
    "arrays",
    "facts",
    "forward",
    "load",
    "load_tokenizer",
    "prompts",
    "wordings",
]


def arrays(name: str = "plain") -> dict[str, np.ndarray]:
    """The weights of a shipped model as NumPy arrays, `blocks.0.ffn.W1` and so on.

    **Raises** KeyError for a name that is not shipped, FileNotFoundError or WeightsError for a file that is not the
    one shipped.
    """
    return _checked(name)[0]


def load(name: str = "plain") -> Specimen:
    """A shipped model, ready to run; needs PyTorch.

    **Raises** as `arrays` does.
    """
    weights, sizes = _checked(name)
    from ffnlib.specimen.model import from_arrays

    return from_arrays(weights, sizes)


def _checked(name: str) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    if name not in SHA256:
        raise KeyError(f"no specimen is called {name!r}; there are {', '.join(SHA256)}")
    return read_weights(WEIGHTS / f"{name}.safetensors", SHA256[name])
