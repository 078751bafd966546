"""Parameters and FLOPs of whole models as ledgers: named rows that add up to the last digit."""

from ffnlib.ledger.book import Comparison, Ledger, Row
from ffnlib.ledger.flop_counter import count_flops
from ffnlib.ledger.flops import crossovers, flop_ledger
from ffnlib.ledger.parameters import count_model, llama_width
from ffnlib.ledger.spec import Experts, LatentAttention, Spec, SpecError, known_model, known_models, read_spec
from ffnlib.ledger.stopwatch import side_by_side

__all__ = [
    "Comparison",
    "Experts",
    "LatentAttention",
    "Ledger",
    "Row",
    "Spec",
    "SpecError",
    "count_flops",
    "count_model",
    "crossovers",
    "flop_ledger",
    "known_model",
    "known_models",
    "llama_width",
    "read_spec",
    "side_by_side",
]
