"""What leaving silent units out saves: `hidden @ W2` of one token in every form against the best dense product.

    python benchmarks/sparse.py                     # both widths, at 5 % and over the whole range
    python benchmarks/sparse.py 768 --shares 0.05   # one width, one share

64 tokens take turns, so that no form finds its rows in the cache because another has just read them; the forms take
turns in random order, since each leaves the cache in another state for the next; one thread. Times are the thread's
own processor time, so that other programs slow the memory but are not counted themselves. Printed are medians with
quartiles of the ratio to the median of the better dense product, NumPy's or PyTorch's, in the same run. A ratio above
1 / share would mean a flattered cache.
With `--layers 12` as many matrices take turns too: a model does not find its next layer's weights in the cache.
Numba's rows appear where numba is installed.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import statistics
import sys
import time

for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ[f"{library}_NUM_THREADS"] = "1"

import numpy as np  # noqa: E402
import torch  # noqa: E402

from ffnlib.sparsity import FORMS, sparse_product  # noqa: E402

TOKENS = 64
SHARES = (0.01, 0.03, 0.05, 0.1, 0.25, 0.5, 0.75, 1.0)
TARGETS = {768: {"numpy or torch": 7, "numba": 12}, 4096: {"numpy or torch": 7, "numba": 8}}
FLOOR = 0.9  # of the dense speed, at any share


def hidden_values(d_ff: int, share: float, rng: np.random.Generator) -> np.ndarray:
    """Draw tokens of which exactly this share of the units fires, (TOKENS, d_ff)."""
    hidden = np.zeros((TOKENS, d_ff), np.float32)
    for token in hidden:
        firing = rng.choice(d_ff, round(share * d_ff), replace=False)
        token[firing] = np.abs(rng.standard_normal(len(firing))) + 0.01
    return hidden


def forms() -> dict:
    """Name what is compared: two dense products, each form alone, and the choice among them."""
    compared = {
        "numpy dense": lambda h, W2: h @ W2,
        "torch dense": lambda h, W2: torch.from_numpy(h) @ torch.from_numpy(W2),
        "take": FORMS["take"],
        "bag": FORMS["bag"],
        "chosen": sparse_product,
    }
    if importlib.util.find_spec("numba"):
        compared["loop (numba)"] = FORMS["loop"]
        compared["chosen, numba"] = lambda h, W2: sparse_product(h, W2, forms=("loop",))
    return compared


def times(hidden: np.ndarray, matrices: list[np.ndarray], rounds: int) -> dict[str, list[float]]:
    """Time every form on every token, in a new order each time; the form before had another token and matrix."""
    compared, order = forms(), np.random.default_rng(1)
    taken: dict[str, list[float]] = {name: [] for name in compared}
    for turn in range(rounds * TOKENS):
        for place, name in enumerate(order.permutation(list(compared))):
            h, W2 = hidden[(turn + 7 * place) % TOKENS], matrices[(turn + place) % len(matrices)]
            start = time.thread_time()
            compared[name](h, W2)
            taken[name].append(time.thread_time() - start)
    return taken


def check(hidden: np.ndarray, W2: np.ndarray) -> None:
    """Compare every form with the product in double precision."""
    expected = hidden[0].astype(float) @ W2.astype(float)
    for name, form in forms().items():
        error = np.abs(np.asarray(form(hidden[0], W2)) - expected).max()
        if error > 1e-4 * max(1, np.abs(expected).max()):
            raise SystemExit(f"{name} is off by {error:g}")


def speeds(taken: dict[str, list[float]]) -> dict[str, tuple[float, float, float]]:
    """Return quartiles of how many times as fast as the better dense product each form is."""
    dense = min(statistics.median(taken[name]) for name in ("numpy dense", "torch dense"))
    return {name: tuple(dense / np.quantile(each, (0.75, 0.5, 0.25))) for name, each in taken.items()}


def measure(d_model: int, share: float, layers: int, rounds: int) -> dict[str, tuple[float, float, float]]:
    """Print and return the speeds at one width and one share of firing units."""
    rng = np.random.default_rng(0)
    matrices = [rng.standard_normal((4 * d_model, d_model), dtype=np.float32) for _ in range(layers)]
    hidden = hidden_values(4 * d_model, share, rng)
    check(hidden, matrices[0])
    taken = times(hidden, matrices, rounds)
    found = speeds(taken)
    dense = 1e6 * min(statistics.median(taken[name]) for name in ("numpy dense", "torch dense"))
    load = f"load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    print(
        f"d = {d_model}, {100 * share:g} % fire, matrices: {layers}; "
        f"dense {dense:.0f} us, at most {1 / share:.0f}x; {load}"
    )
    for name, (low, middle, high) in found.items():
        print(f"    {name:14} {middle:6.2f}x  [{low:.2f}, {high:.2f}]")
    sys.stdout.flush()
    return found


def verdict(d_model: int, results: dict[float, dict]) -> bool:
    """Say which targets are reached at this width."""
    reached = []
    if at_five := results.get(0.05):
        best = {"numpy or torch": max(at_five[name][1] for name in ("take", "bag", "chosen"))}
        if "loop (numba)" in at_five:
            best["numba"] = at_five["loop (numba)"][1]
        for name, target in TARGETS.get(d_model, {}).items():
            if name in best:
                reached.append(best[name] >= target)
                print(
                    f"d = {d_model}, 5 %: {name} {best[name]:.1f}x, target {target}x: {'yes' if reached[-1] else 'NO'}"
                )
    for name in ("chosen", "chosen, numba"):
        ratios = [found[name][1] for found in results.values() if name in found]
        if ratios:
            reached.append(min(ratios) >= FLOOR)
            print(
                f"d = {d_model}: {name}, slowest {min(ratios):.2f}x, target {FLOOR}x: {'yes' if reached[-1] else 'NO'}"
            )
    return all(reached)


def main(argv: list[str] | None = None) -> int:
    """Measure the widths asked for; return 1 when a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("widths", type=int, nargs="*", default=[768, 4096])
    parser.add_argument("--shares", type=float, nargs="*", default=SHARES)
    parser.add_argument("--layers", type=int, default=1)
    parser.add_argument("--rounds", type=int, help="how often all 64 tokens are asked; by default 10, from 2048 on 2")
    given = parser.parse_args(argv)
    torch.set_num_threads(1)
    good = True
    for d_model in given.widths:
        rounds = given.rounds or (10 if d_model < 2048 else 2)
        results = {share: measure(d_model, share, given.layers, rounds) for share in given.shares}
        good &= verdict(d_model, results)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
