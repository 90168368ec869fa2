"""The numbers that people know of ranked lists: found, top-1, top-3, MRR, EXAM.

They look at the list as it is ranked, not at prices. Ties are averaged over their orders, exactly, where many
tools take the order of a file's lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pandora_regret.candidates.search import Route
from pandora_regret.core.inputs import FloatArray, IntArray


@dataclass(frozen=True)
class Places:
    """One number per case of each kind, (N,); where the truth is not on the list all are 0, but EXAM is 1."""

    found: FloatArray  # 1 where a true candidate is on the list
    top1: FloatArray  # the probability that the first candidate is true
    top3: FloatArray  # that one of the first three is
    reciprocal_rank: FloatArray  # 1 / the rank of the first true one; its mean is MRR
    exam: FloatArray  # the share of the list that is looked at until the first true one

    def of_rows(self, rows: IntArray) -> Places:
        """The places of some cases."""
        return Places(
            self.found[rows], self.top1[rows], self.top3[rows], self.reciprocal_rank[rows], self.exam[rows]
        )

    @classmethod
    def joined(cls, parts: Sequence[Places]) -> Places:
        """The places of all parts, one after the other."""
        return cls(
            found=np.concatenate([part.found for part in parts]),
            top1=np.concatenate([part.top1 for part in parts]),
            top3=np.concatenate([part.top3 for part in parts]),
            reciprocal_rank=np.concatenate([part.reciprocal_rank for part in parts]),
            exam=np.concatenate([part.exam for part in parts]),
        )


def places_of(route: Route, lengths: IntArray) -> Places:
    """The places of the first true candidates.

    Parameters
    ----------
    route
        Lists in the order in which they are ranked, elsewhere last.
    lengths
        How many candidates each list has, (N,).
    """
    starts = route.block_starts
    sizes = np.diff(starts, append=len(route.row))
    end = route.end_blocks("first")
    case_starts = np.cumsum(lengths + 1) - (lengths + 1)  # each list has elsewhere behind it
    before = starts[end] - case_starts
    size = sizes[end]
    n_true = route.true_in_block[end]
    return places_at(before, size, n_true, lengths)


def places_at(before: IntArray, size: IntArray, n_true: IntArray, lengths: IntArray) -> Places:
    """The places of first true candidates.

    Each case has so many candidates `before` the block of its first true one, which has `size` candidates, and
    `n_true` true ones. Elsewhere is such a block behind all `lengths` candidates.
    """
    is_found = before < lengths  # the end is not elsewhere
    mean_rank = before + (size + 1) / (n_true + 1)
    found = is_found.astype(np.float64)
    return Places(
        found=found,
        top1=found * _chance_within(1, before, size, n_true),
        top3=found * _chance_within(3, before, size, n_true),
        reciprocal_rank=found * _mean_reciprocal_rank(before, size, n_true),
        exam=np.where(is_found, mean_rank / np.maximum(lengths, 1), 1.0),
    )


def _chance_within(most: int, before: IntArray, size: IntArray, n_true: IntArray) -> FloatArray:
    """The probability that a true candidate is among the first `most`, (N,).

    Each case has so many candidates `before` the block of its first true one, and `n_true` among that block's
    `size`.
    """
    chance_of_none = np.ones(len(before))
    for place in range(most):  # the places of the block that lie among the first
        is_inside = before + place < most
        n_false_left = np.maximum(size - n_true - place, 0)
        n_left = np.maximum(size - place, 1)
        chance_of_none = np.where(is_inside, chance_of_none * n_false_left / n_left, chance_of_none)
    return 1 - chance_of_none


def _mean_reciprocal_rank(before: IntArray, size: IntArray, n_true: IntArray) -> FloatArray:
    """The mean of 1 / rank of the first true candidate over the orders of its block, (N,)."""
    means = 1 / (before + 1.0)
    for case in np.flatnonzero(size > n_true):  # others have it at the block's first place
        n_places = size[case] - n_true[case] + 1
        place = np.arange(n_places)
        n_left = size[case] - place
        is_true_here = n_true[case] / n_left
        none_before = np.concatenate([[1.0], np.cumprod(1 - is_true_here[:-1])])
        means[case] = (none_before * is_true_here / (before[case] + 1 + place)).sum()
    return means
