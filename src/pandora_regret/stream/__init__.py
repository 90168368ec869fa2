"""One model's predictions that need not fit into memory, in one pass: a comparison of one, made from sums."""

from pandora_regret.stream.score import StreamSums, score_stream

__all__ = ["StreamSums", "score_stream"]
