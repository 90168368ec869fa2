"""One model's predictions that need not fit into memory, in one pass: a comparison of one model, made from sums.

sums.py    every metric of the rows of a batch, and all that is summed over rows; sums merge
score.py   score_stream: the pass over a file, and the comparison that its sums make
ids.py     hashes of ids, and which of them came twice
"""

from pandora_regret.stream.score import score_stream
from pandora_regret.stream.sums import StreamSums

__all__ = ["StreamSums", "score_stream"]
