"""Prediction files of every format as streams of batches, aligned where there are several; prices and priors.

What reads files needs pyarrow, and is loaded when it is first asked for.
"""

from pandora_regret.lazy import lazy_exports

READERS = ("formats", "inspecting", "one_row", "opening", "predictions", "together")
__all__, __getattr__, __dir__ = lazy_exports(__name__, dict.fromkeys(READERS, ("pyarrow", "cli")))
