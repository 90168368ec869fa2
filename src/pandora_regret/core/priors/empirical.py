"""Costs as they were observed: a sample of cost vectors is the prior."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.random import Generator

from pandora_regret.core.inputs import (
    FloatArray,
    InputError,
    check_costs,
    is_frame,
    match_names,
    read_columns,
    read_floats,
    read_labels,
)
from pandora_regret.core.priors.base import TIE, Class, Prior, log_quotient

TABLE_BYTES = 1 << 28  # sorted tables of this much are kept at most; older ones are made anew when asked for


class Empirical(Prior):
    """Every observed cost vector is equally likely: proper, not strictly (only finitely many orders occur).

    The pair loss is exact. For each pair the observed ratios ``c_i / c_j`` are sorted once, with running sums
    of c_j; a look-up is then a binary search, O(log M).

    Parameters
    ----------
    samples
        Observed cost vectors, shape (M, K), one column per class: an array, or a frame whose columns are classes.
    labels
        The classes, in column order, where they are not a frame's own. A prior that knows its classes is matched
        by name to a forecast that does too; where either has no names, columns are taken as they come.

    See Also
    --------
    load_costs : Pathways, whose uncertainty makes such a sample.

    References
    ----------
    Flores et al. (2026), Remark A.3 [flores26]_.

    Examples
    --------
    >>> prior = Empirical([[1.0, 2.0], [3.0, 1.0]])
    >>> prior.pair_loss([0.1, 1.0, 5.0])
    array([1.5, 0.5, 0. ])
    """

    mean: FloatArray = np.zeros(0)  # the mean cost of each class
    strictly_proper = False  # between two observed ratios the score is flat

    def __init__(self, samples: Any, labels: Any = None) -> None:
        self.labels = None if labels is None else read_labels(labels)
        if is_frame(samples):
            columns, self.labels = read_columns(samples, self.labels, "samples")
            samples = np.stack(columns, axis=1)
        table = read_floats(samples, "samples")
        if table.ndim != 2 or len(table) == 0 or table.shape[1] < 2:
            fix = "pass observed cost vectors as (samples, classes), at least one sample and two classes"
            raise InputError(f"has shape {table.shape}", argument="samples", value=table.shape, fix=fix)
        self.n_classes = table.shape[1]
        if self.labels is not None and len(self.labels) != self.n_classes:
            problem = f"has {len(self.labels)} entries but samples has {self.n_classes} columns"
            raise InputError(problem, argument="labels", value=len(self.labels), fix="name every column")
        self.samples, self.mean = check_costs(table, "samples", self.labels), table.mean(axis=0)
        self._table_of = lru_cache(max(1, TABLE_BYTES // (16 * len(table))))(self._sorted_ratios)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Empirical, (self.samples, self.labels))

    def for_classes(self, labels: Sequence[Any]) -> Empirical:
        """The same samples with their columns in the order of a forecast's."""
        if self.labels is None or isinstance(labels, range):
            return self
        order = match_names(self.labels, labels, "prior", "the labels of prior")
        return self if order == sorted(order) else Empirical(self.samples[:, order], labels)

    def __repr__(self) -> str:
        return f"Empirical({len(self.samples)} samples of {self.n_classes} costs)"

    def share(
        self, log_odds: FloatArray, i: Class = 0, j: Class = 1, width: FloatArray | float = TIE
    ) -> FloatArray:
        """The share of j's total cost in samples whose ratio ``c_i / c_j`` exceeds r, ties counted half.

        A ratio within `width` of r, in logarithms, ties with it.
        """
        odds, truth, distractor, reach = np.broadcast_arrays(log_odds, i, j, width)
        shares = np.empty(odds.shape)
        for of_i, of_j in np.unique(np.stack([truth.ravel(), distractor.ravel()]), axis=1).T.tolist():
            chosen = (truth == of_i) & (distractor == of_j)
            ratios, spent = self._table_of(of_i, of_j)
            ours = odds[chosen]
            around = reach[chosen] + TIE * np.nan_to_num(np.abs(ours), posinf=0.0)  # logarithms are rounded, too
            at_least = spent[np.searchsorted(ratios, ours - around, side="left")]  # where ties begin
            above = spent[np.searchsorted(ratios, ours + around, side="right")]  # and where they end
            shares[chosen] = (at_least + above) / (2 * spent[0])
        return shares

    share_with_ties = share

    def draw(self, n_draws: int, n_classes: int, rng: Generator) -> FloatArray:
        """Whole cost vectors, drawn with replacement."""
        return self.samples[rng.integers(len(self.samples), size=n_draws)]

    def _sorted_ratios(self, i: int, j: int) -> tuple[FloatArray, FloatArray]:
        """``ln(c_i / c_j)`` in rising order, (M,), and the sums of c_j from each rank upwards, (M + 1,)."""
        theirs = self.samples[:, j]
        ratios = log_quotient(self.samples[:, i], theirs)
        order = np.argsort(ratios)
        return ratios[order], np.append(np.cumsum(theirs[order[::-1]])[::-1], 0.0)
