"""Scores of predictions that need not fit into memory: one pass over batches, through sums that can be merged.

batches.py   every metric of the rows of a batch: in one compiled pass where there is enough of it
rows.py      what is kept of single rows: draws of the bootstrap, hashes of ids, scores of not too many
ids.py       hashes of ids, and which of them came twice
score.py     StreamScore: everything summed over rows; score_stream: the pass over a file
"""

from pandora_regret.stream.batches import Settings
from pandora_regret.stream.score import StreamScore, score_stream

__all__ = ["Settings", "StreamScore", "score_stream"]
