"""Whatever form computes it, the product is the product; and the form is chosen by what fires."""

import subprocess
import sys
import warnings

import numpy as np
import pytest

from ffnlib import layer
from ffnlib.sparsity import FORMS, best_form, expected_costs, sparse_ffn, sparse_product
from ffnlib.sparsity.compiled import add_rows, compiled
from tests.environments import environment

BUILT_IN = ["dense", "take", "bag", "union"]


def fired(rng, shape, share, dtype=np.float32):
    """Draw hidden values after a ReLU, about this share of them above zero."""
    return np.where(rng.uniform(size=shape) < share, rng.uniform(0.1, 2, size=shape), 0).astype(dtype)


def by_loops(hidden, W2):
    """Add up the contributions one by one, in double precision."""
    product = np.zeros((*hidden.shape[:-1], W2.shape[1]))
    for place in np.ndindex(*hidden.shape[:-1]):
        for unit, coefficient in enumerate(hidden[place]):
            if coefficient != 0:
                product[place] += float(coefficient) * W2[unit].astype(float)
    return product


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("share", [0, 0.05, 0.5, 1])
@pytest.mark.parametrize("form", BUILT_IN)
def test_every_form_computes_the_product(form, share, dtype):
    rng = np.random.default_rng(0)
    W2 = rng.normal(size=(40, 6)).astype(dtype)
    for shape in [(40,), (1, 40), (5, 40)]:
        hidden = fired(rng, shape, share, dtype)
        product = FORMS[form](hidden, W2)
        assert product.dtype == dtype
        # 40 terms of size 1 in single precision differ by some 1e-6 when added in another order
        np.testing.assert_allclose(product, by_loops(hidden, W2), rtol=0, atol=2e-5)


@pytest.mark.parametrize("shape", [(512,), (1, 512), (7, 512), (2, 3, 512), (0, 512), (2, 0, 512)])
@pytest.mark.parametrize("share", [0, 0.02, 1])
def test_the_choice_gives_the_dense_layer_for_tokens_of_any_shape(shape, share):
    rng = np.random.default_rng(1)
    W2 = rng.normal(size=(512, 600)).astype(np.float32)
    hidden = fired(rng, shape, share)
    np.testing.assert_allclose(sparse_product(hidden, W2), hidden @ W2, rtol=0, atol=1e-3)


def test_the_whole_network_is_the_layer_of_lesson_one():
    rng = np.random.default_rng(2)
    x, W1, b1 = rng.normal(size=(3, 20)), rng.normal(size=(20, 900)), rng.normal(size=900) - 9
    W2, b2 = rng.normal(size=(900, 20)), rng.normal(size=20)
    np.testing.assert_allclose(sparse_ffn(x, W1, b1, W2, b2), layer.feed_forward(x, W1, b1, W2, b2), atol=1e-9)
    np.testing.assert_allclose(sparse_ffn(x[0], W1, b1, W2, b2), layer.feed_forward(x[0], W1, b1, W2, b2), atol=1e-9)


def test_nothing_given_is_changed():
    rng = np.random.default_rng(3)
    given = [rng.normal(size=size) for size in [(4, 5), (5, 60), (60,), (60, 5), (5,)]]
    kept = [array.copy() for array in given]
    sparse_ffn(*given)
    assert all(np.array_equal(one, other) for one, other in zip(given, kept))


def test_integers_give_what_they_give_densely():
    hidden, W2 = np.array([0, 2, 0, 1]), np.arange(8).reshape(4, 2)
    assert sparse_product(hidden, W2).tolist() == [10, 13]
    assert sparse_ffn([1, -1], np.eye(2, dtype=int), [0, 0], [[3, 4], [5, 6]], [1, 1]).tolist() == [4, 5]


def test_tensors_are_welcome():
    import torch

    hidden, W2 = torch.zeros(600), torch.ones(600, 700)
    hidden[3] = 2
    assert np.all(sparse_product(hidden, W2) == 2)


def test_rows_of_silent_units_are_not_read_and_nan_of_a_firing_one_is():
    W2 = np.full((2000, 300), np.nan, np.float32)
    W2[7] = 1
    hidden = np.zeros(2000, np.float32)
    hidden[7] = 3
    assert best_form(hidden, W2) != "dense"
    assert np.all(sparse_product(hidden, W2) == 3)
    hidden[8] = 1
    assert np.all(np.isnan(sparse_product(hidden, W2)))


# ---- the choice --------------------------------------------------------------------------------


def chosen(share, d_model=768, tokens=None, seed=4, **options):
    rng = np.random.default_rng(seed)
    hidden = fired(rng, (4 * d_model,) if tokens is None else (tokens, 4 * d_model), share)
    return best_form(hidden, np.zeros((4 * d_model, d_model), np.float32), **options)


def test_few_units_are_gathered_and_many_are_not():
    assert [chosen(share) for share in (0.005, 0.2, 0.6, 1)] == ["take", "bag", "dense", "dense"]


def test_a_small_matrix_is_never_gathered():
    assert [chosen(share, d_model=64) for share in (0, 0.01, 0.05)] == ["dense"] * 3


def test_in_a_batch_the_share_must_be_smaller():
    assert [chosen(0.25, tokens=tokens) for tokens in (None, 2, 64)] == ["bag", "bag", "dense"]


def test_tokens_that_share_their_units_are_done_together():
    W2 = np.zeros((3072, 768), np.float32)
    token = fired(np.random.default_rng(5), (1, 3072), 0.05)
    assert best_form(np.repeat(token, 16, axis=0), W2) == "union"


def test_what_cannot_be_gathered_is_multiplied():
    hidden = np.zeros(3072, np.float32)
    by_columns = np.zeros((768, 3072), np.float32).T
    read_only = np.zeros((3072, 768), np.float32)
    read_only.flags.writeable = False
    mixed = np.zeros((3072, 768))
    assert [best_form(hidden, W2) for W2 in (by_columns, read_only, mixed)] == ["dense"] * 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # PyTorch would complain about a view of what is read-only
        assert not sparse_product(hidden, read_only).any()


def test_costs_grow_with_what_fires_and_the_union_of_independent_tokens_is_assumed():
    few, many = expected_costs(3072, 768, 0.01), expected_costs(3072, 768, 0.5)
    assert few["dense"] == many["dense"] == 3072
    assert all(few[form] < many[form] for form in ("take", "bag", "union", "loop"))
    union = 1 - 0.9**4
    assert expected_costs(3072, 768, 0.1, 4)["union"] == expected_costs(3072, 768, 0.1, 4, union)["union"]


# ---- refusals ----------------------------------------------------------------------------------


def test_sizes_that_do_not_fit_are_named():
    with pytest.raises(ValueError, match=r"hidden of shape \(4,\) and W2 of shape \(3, 2\) do not fit"):
        sparse_product(np.ones(4), np.ones((3, 2)))
    with pytest.raises(ValueError, match="do not fit"):
        sparse_product(np.float32(1), np.ones((3, 2)))


def test_an_unknown_form_is_named_beside_the_known_ones():
    with pytest.raises(ValueError, match=r"'csr'.*dense, take, bag, union, loop"):
        sparse_product(np.ones(4), np.ones((4, 2)), forms=("csr",))


# ---- the loop ----------------------------------------------------------------------------------

LOOP = """
import numpy as np
from ffnlib.sparsity import FORMS, sparse_product

rng = np.random.default_rng(0)
for dtype in (np.float32, np.float64):
    W2 = rng.normal(size=(45, 6)).astype(dtype)
    for shape in [(45,), (1, 45), (5, 45)]:
        for share in (0, 0.05, 0.3, 1):
            hidden = np.where(rng.uniform(size=shape) < share, rng.uniform(0.1, 2, size=shape), 0).astype(dtype)
            product = FORMS["loop"](hidden, W2)
            assert product.dtype == dtype and product.shape == (*shape[:-1], 6)
            assert np.allclose(product, hidden.astype(float) @ W2.astype(float), rtol=0, atol=2e-5)
W2 = np.full((2000, 300), np.nan, np.float32)
W2[7] = 1
hidden = np.zeros(2000, np.float32)
hidden[7] = 3
assert np.all(sparse_product(hidden, W2, forms=("loop",)) == 3)
hidden[8] = 1
assert np.all(np.isnan(sparse_product(hidden, W2, forms=("loop",))))
print("the loop agrees")
"""


@pytest.mark.parametrize("share", [0, 0.3, 1])
def test_the_loop_is_right_before_it_is_compiled(share):
    rng = np.random.default_rng(6)
    hidden, W2 = fired(rng, (3, 29), share), rng.normal(size=(29, 5)).astype(np.float32)
    np.testing.assert_allclose(add_rows(hidden, W2), by_loops(hidden, W2), rtol=0, atol=2e-5)


@pytest.mark.slow
def test_the_compiled_loop_computes_the_product():
    python = environment("numba", "numba>=0.61,<1", "numpy>=2.1,<3")
    run = subprocess.run([python, "-c", LOOP], capture_output=True, text=True)
    assert run.stdout.strip() == "the loop agrees", run.stderr


def test_without_numba_the_loop_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    compiled.cache_clear()
    with pytest.raises(ImportError, match="pip install numba"):
        FORMS["loop"](np.ones(4), np.ones((4, 2)))
