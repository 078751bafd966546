"""The specimen: two small trained ReLU Transformers whose training facts are known.

`arrays(name)` and `forward` need NumPy only; `load(name)` gives a PyTorch model. Names are `plain` (trained
without a penalty) and `sparse` (with an L1 penalty on activations from 40 % of the steps). CARD.md says what
each can and cannot do.
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
    "plain": "",
    "sparse": "",
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
