"""Reading and writing the specimen's weights: the safetensors format, checked before it is believed.

A safetensors file is eight bytes (length of the header), a JSON header that gives each tensor's type, shape
and place, and the numbers themselves.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping
from pathlib import Path

import numpy as np

WEIGHTS = Path(__file__).parent / "weights"
FORMAT = "ffnlib-specimen"
DTYPES = {"F16": np.dtype("<f2"), "F32": np.dtype("<f4")}
REMEDY = "restore it with `git checkout -- ffnlib/specimen/weights`, or install ffnlib again"


class WeightsError(ValueError):
    """A weights file that cannot be used: says what was seen and what to do."""


def write_weights(path: Path, arrays: Mapping[str, np.ndarray], sizes: Mapping[str, str]) -> None:
    """Write arrays as fp16 in the order of their names, the model's sizes in the header."""
    header: dict[str, object] = {"__metadata__": {"format": FORMAT, **sizes}}
    start, blocks = 0, []
    for name in sorted(arrays):
        block = np.ascontiguousarray(arrays[name], dtype="<f2")
        header[name] = {"dtype": "F16", "shape": list(block.shape), "data_offsets": [start, start + block.nbytes]}
        start += block.nbytes
        blocks.append(block.tobytes())
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blocks))


def read_header(data: bytes, path: Path) -> tuple[dict, int]:
    """The header of a safetensors file and the place where the numbers start.

    **Raises** WeightsError when the bytes are not safetensors.
    """
    length = struct.unpack("<Q", data[:8])[0] if len(data) >= 8 else 0
    try:
        if not 2 <= length <= len(data) - 8:
            raise ValueError
        header = json.loads(data[8 : 8 + length])
        places = [entry["data_offsets"] for name, entry in header.items() if name != "__metadata__"]
        if any(len(place) != 2 for place in places):
            raise ValueError
    except (ValueError, KeyError, TypeError, AttributeError):
        seen = f"{len(data):,} bytes beginning {data[:12]!r}"
        raise WeightsError(f"{path} is not a whole safetensors file: {seen}; {REMEDY}") from None
    return header, 8 + length


def read_weights(path: Path, sha256: str | None = None) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """The arrays of a weights file as float32, and the model's sizes.

    **Raises** FileNotFoundError when there is none; WeightsError when it is cut short, not safetensors, of another
    model, or (with `sha256`) not the file that was pinned.
    """
    if not path.exists():
        raise FileNotFoundError(f"no weights at {path}; {REMEDY}")
    data = path.read_bytes()
    header, start = read_header(data, path)
    sizes = header.pop("__metadata__", {})
    expected = start + max((entry["data_offsets"][1] for entry in header.values()), default=0)
    if len(data) != expected:
        raise WeightsError(
            f"{path} is truncated or padded: it holds {len(data):,} bytes, its header announces {expected:,}; {REMEDY}"
        )
    if sizes.get("format") != FORMAT:
        names = ", ".join(sorted(header)[:3]) or "none"
        raise WeightsError(
            f"{path} holds another model (format {sizes.get('format')!r}, tensors {names}, ...), "
            f"not a specimen; {REMEDY}"
        )
    found = hashlib.sha256(data).hexdigest()
    if sha256 is not None and found != sha256:
        raise WeightsError(
            f"{path} is not the file that was shipped: sha256 {found[:16]}..., expected {sha256[:16]}...; {REMEDY}"
        )
    return {name: _tensor(data, start, entry) for name, entry in header.items()}, sizes


def _tensor(data: bytes, start: int, entry: dict) -> np.ndarray:
    first, last = entry["data_offsets"]
    numbers = np.frombuffer(data[start + first : start + last], dtype=DTYPES[entry["dtype"]])
    return numbers.astype(np.float32).reshape(entry["shape"])
