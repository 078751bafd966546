"""How few hidden units fire, and what that saves.

`measures` counts; `skipping` leaves silent units out of the second product; `prediction` guesses which units will
fire; `compiled` is a loop in machine code for those who have installed numba.
"""

from ffnlib.sparsity.measures import active_per_token, dead_units, sparse_feed_forward, sparsity
from ffnlib.sparsity.prediction import Predictor, fitted_predictor, recall, threshold_for
from ffnlib.sparsity.skipping import FORMS, best_form, expected_costs, sparse_ffn, sparse_product

__all__ = [
    "FORMS",
    "Predictor",
    "active_per_token",
    "best_form",
    "dead_units",
    "expected_costs",
    "fitted_predictor",
    "recall",
    "sparse_feed_forward",
    "sparse_ffn",
    "sparse_product",
    "sparsity",
    "threshold_for",
]
