"""One model's predictions that need not fit into memory, in one pass: a comparison of one, made from sums.

settings.py     what rows are charged for, checked before any is read
sums.py         StreamSums: batches are added, sums of different rows merge
clusters.py     the same sums for each cluster, so that intervals know which rows belong together
ids.py          whether an id comes twice
conclude.py     from sums to estimates, in the same way as `compare`
score.py        score_stream, which calls these in this order
"""

from pandora_regret.stream.score import score_stream
from pandora_regret.stream.sums import StreamSums

__all__ = ["StreamSums", "score_stream"]
