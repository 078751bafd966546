"""A small experiment on width: what more units bring, and what the ratio d_ff / d changes at a fixed budget.

`plan` says which models are compared, `training` trains them, `experiment` runs everything in order and keeps a line
for each run in `runs.jsonl`, `differences` turns losses into intervals. Lesson 13 reads the results.

How it was designed, so that it can fail:

- Small word models (two layers, 256 words, rows of 16) on the specimen's prose; the loss is that of the whole
  validation text.
- 1,600 steps, gradients clipped at 1, six seeds. A seed fixes the first weights and the order of the text.
- Every configuration has its own learning rate, chosen among three by two further seeds that are used for nothing else.
- First N/2, N and 2N at one ratio: an experiment that cannot see these cannot see anything.
- Then one question at a time: d_ff at a fixed d; the ratio at a fixed number of non-embedding parameters; one hidden
  layer against two at the same number.
- "No difference" is a claim too. It is made when the 90 % interval lies within `MARGIN` (two one-sided tests at 5 %).
- Last a hasty experiment of 400 steps at one learning rate for all, with and without clipping, to see what it would
  have concluded.
"""

from ffnlib.scaling.differences import Difference, difference, prediction_half_width, student_t
from ffnlib.scaling.experiment import (
    CLIPPED,
    HASTY_RATE,
    SHORT,
    STEPS,
    UNCLIPPED,
    best_rate,
    load_runs,
    losses,
    measured,
    tuned,
)
from ffnlib.scaling.plan import BASE, MARGIN, Shape, configurations, shape_for

__all__ = [
    "BASE",
    "CLIPPED",
    "HASTY_RATE",
    "MARGIN",
    "SHORT",
    "STEPS",
    "UNCLIPPED",
    "Difference",
    "Shape",
    "best_rate",
    "configurations",
    "difference",
    "load_runs",
    "losses",
    "measured",
    "prediction_half_width",
    "shape_for",
    "student_t",
    "tuned",
]
