"""One model's predictions that need not fit into memory, in one pass: a comparison of one model, made from sums.

sums.py    how rows are scored and charged, and all that is summed over them; sums merge
score.py   score_stream: the pass over a file, and the comparison that its sums make
"""

from pandora_regret.stream.score import score_stream
from pandora_regret.stream.sums import StreamSums

__all__ = ["StreamSums", "score_stream"]
