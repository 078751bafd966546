"""The other side: what runs apart from the judge. Untrusted code runs in `cells.py` and nowhere else.

Nothing here imports, or is ever told, what decides: of ffnlib a worker has `examination.evidence` and the mathematics.
"""

from ffnlib.grading.worker.cells import work

__all__ = ["work"]
