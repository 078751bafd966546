"""A weights file is checked before it is believed, and what is wrong with it is said."""

import hashlib
import struct

import numpy as np
import pytest
from safetensors.numpy import load as safetensors_load
from safetensors.numpy import save as safetensors_save

from ffnlib import specimen
from ffnlib.specimen.files import WEIGHTS, WeightsError, read_weights, write_weights

ARRAYS = {"b": np.arange(6, dtype=np.float32).reshape(2, 3), "a": np.array([0.5], dtype=np.float32)}


@pytest.fixture
def path(tmp_path):
    write_weights(tmp_path / "small.safetensors", ARRAYS, {"d_model": "3"})
    return tmp_path / "small.safetensors"


def test_what_is_written_is_read_back(path):
    arrays, sizes = read_weights(path)
    assert sizes["d_model"] == "3" and all(np.array_equal(arrays[name], ARRAYS[name]) for name in ARRAYS)


def test_the_safetensors_library_reads_the_same(path):
    theirs = safetensors_load(path.read_bytes())
    assert all(np.array_equal(theirs[name], ARRAYS[name]) for name in ARRAYS)


def test_a_missing_file_says_where_it_should_be_and_how_to_get_it(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no weights at .*gone\.safetensors.*git checkout"):
        read_weights(tmp_path / "gone.safetensors")


@pytest.mark.parametrize("keep", [0, 5, 60, -1])
def test_a_truncated_file_says_how_much_there_is(path, keep):
    whole = path.read_bytes()
    path.write_bytes(whole[:keep])
    with pytest.raises(WeightsError, match=rf"{len(whole[:keep]):,} bytes.*git checkout"):
        read_weights(path)


def test_a_file_with_something_appended_is_refused(path):
    path.write_bytes(path.read_bytes() + b"more")
    with pytest.raises(WeightsError, match="truncated or padded"):
        read_weights(path)


@pytest.mark.parametrize(
    "data",
    [
        b"<!DOCTYPE html><html>not found</html>",
        b"version https://git-lfs.github.com/spec/v1\noid sha256:0",
        b"\x80\x02}q\x00.",
    ],
)
def test_a_file_of_another_kind_shows_how_it_begins(path, data):
    path.write_bytes(data)
    with pytest.raises(WeightsError, match="not a whole safetensors file") as caught:
        read_weights(path)
    assert repr(data[:12]) in str(caught.value)


@pytest.mark.parametrize("header", [b"[]", b'{"a": 3}', b'{"a": {"data_offsets": [1]}}', b"\xff\xfe"])
def test_a_header_that_is_not_one_is_refused(path, header):
    path.write_bytes(struct.pack("<Q", len(header)) + header)
    with pytest.raises(WeightsError, match="not a whole safetensors file"):
        read_weights(path)


def test_a_foreign_model_is_named_by_its_tensors(path):
    path.write_bytes(safetensors_save({"wte.weight": np.zeros((2, 2), dtype=np.float32)}))
    with pytest.raises(WeightsError, match=r"another model.*wte\.weight"):
        read_weights(path)


def test_one_changed_bit_is_noticed(path):
    data = bytearray(path.read_bytes())
    pinned = hashlib.sha256(data).hexdigest()
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(WeightsError, match=f"sha256.*{pinned[:16]}"):
        read_weights(path, pinned)


@pytest.mark.parametrize("name", sorted(specimen.SHA256))
def test_the_shipped_weights_are_the_pinned_ones(name):
    assert hashlib.sha256((WEIGHTS / f"{name}.safetensors").read_bytes()).hexdigest() == specimen.SHA256[name]


def test_both_models_together_are_under_6_megabytes():
    assert sum((WEIGHTS / f"{name}.safetensors").stat().st_size for name in ("plain", "sparse")) < 6e6


def test_a_name_that_is_not_shipped_is_refused_with_those_that_are():
    with pytest.raises(KeyError, match="plain, sparse"):
        specimen.load("dense")
