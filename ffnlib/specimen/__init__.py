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
    "plain": "92607eda1b48ffb486ae1fe1d0fc75511634de599be8035090639f06ec64a7fa",
    "sparse": "dfe7af570ecdd077a50dd4b1751c6835a0a1e678f2d9ffce40d0e1788a106de8",
    "small_gelu": "91d2a31a8ac53dfe8fad80d9c3840df8737bd2cada1aafa54815d49a47a0b325",
    "small_silu": "c54b8a1aea4df7aa186ee79445eacf2b064460e1e3578823141bd6e8e4405b89",
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
