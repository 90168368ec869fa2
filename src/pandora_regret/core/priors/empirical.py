"""Costs as they were observed: a sample of cost vectors is the prior."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from pandora_regret.core.inputs import (
    FloatArray,
    InputError,
    IntArray,
    Table,
    check_costs,
    is_frame,
    match_names,
    read_columns,
    read_floats,
    read_labels,
    row_slices,
)
from pandora_regret.core.priors.base import TIE, Class, Prior, log_quotient

if TYPE_CHECKING:
    from numpy.random import Generator  # loaded where something is drawn

TABLE_BYTES = 1 << 28  # sorted tables of this much are kept at most; what does not fit is sorted again and again
BYTES_PER_RATIO = 24  # of a sorted table: the ratio, and a share on either side of it
SORTED_AT_ONCE = 1 << 17  # ratios, of which there are some temporary copies
SEARCHED_AT_ONCE = 1 << 14  # entries, so that temporaries of a binary search stay in the cache


class Empirical(Prior):
    """Every observed cost vector is equally likely: proper, not strictly (only finitely many orders occur).

    The pair loss is exact. For each pair of classes the observed ratios of their costs are sorted once, with
    running sums of both costs; a look-up is then a binary search, O(log M).

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

    def __init__(self, samples: Table, labels: ArrayLike | Sequence[object] | None = None) -> None:
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
        self.samples = check_costs(table, "samples", self.labels)
        self.mean = table.mean(axis=0)

    def __reduce__(self) -> tuple[type[Empirical], tuple[FloatArray, Sequence[object] | None]]:
        return (Empirical, (self.samples, self.labels))

    def for_classes(self, labels: Sequence[object]) -> Empirical:
        """These samples with their columns in the order of a forecast's."""
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
        arguments = np.broadcast_arrays(log_odds, i, j, width)
        odds, truth, distractor, widths = (array.ravel() for array in arguments)
        shares = np.empty(len(odds))
        for part in self._tables.parts(truth, distractor):
            shares[part] = self._tables.shares(odds[part], truth[part], distractor[part], widths[part])
        return shares.reshape(arguments[0].shape)

    share_with_ties = share

    def draw(self, n_draws: int, n_classes: int, rng: Generator) -> FloatArray:
        """Whole cost vectors, drawn with replacement."""
        return self.samples[rng.integers(len(self.samples), size=n_draws)]

    @cached_property
    def _tables(self) -> RatioTables:
        return RatioTables(self.samples)


class RatioTables:
    """For each pair of classes a <= b, the observed ``ln(c_a / c_b)`` in rising order, with running sums of costs.

    One table serves both directions of a pair. What is spent on b before a is found are b's costs in the samples
    whose ratio is larger than the odds ``p_a / p_b``; what is spent on a before b is found are a's costs in those
    whose ratio is smaller. Tables are made when they are first needed, and kept while all fit in `TABLE_BYTES`.

    Parameters
    ----------
    samples
        Observed cost vectors, (M, K).
    """

    def __init__(self, samples: FloatArray) -> None:
        self.costs = np.ascontiguousarray(samples.T)  # (K, M)
        self.n_classes = len(self.costs)
        self.n_samples = len(samples)
        self.most_tables = max(1, TABLE_BYTES // (BYTES_PER_RATIO * self.n_samples))
        self._forget()

    def _forget(self) -> None:
        """Start without a table."""
        self.n_tables = 0
        self.number_of_pair = np.zeros(self.n_classes**2, np.int32)  # of pair a K + b, from 1 on; 0 where none is
        self.ratios = np.empty((0, self.n_samples))
        # At each of M + 1 places between ratios: the share of a's total cost in the samples below it, and the
        # share of b's total cost in the samples above it.
        self.shares_beside = np.empty((0, 2, self.n_samples + 1))

    def parts(self, truth: IntArray, distractor: IntArray) -> list[slice] | list[IntArray]:
        """Which entries to look up together, so that all tables they need fit: slices, or arrays of indices."""
        if self.n_classes * (self.n_classes + 1) // 2 <= self.most_tables:
            return list(row_slices(len(truth), 1, SEARCHED_AT_ONCE))
        distinct, number = np.unique(self._pairs(truth, distractor), return_inverse=True)
        by_pair = np.argsort(number, kind="stable")
        first_pairs = np.arange(self.most_tables, len(distinct), self.most_tables)
        return np.split(by_pair, np.searchsorted(number[by_pair], first_pairs))

    def shares(self, log_odds: FloatArray, truth: IntArray, distractor: IntArray, width: FloatArray) -> FloatArray:
        """`Empirical.share` of arrays (n,)."""
        table = self._tables_of(self._pairs(truth, distractor))
        truth_is_b = truth > distractor
        target = np.where(truth_is_b, -log_odds, log_odds)
        reach = width + TIE * np.where(np.isfinite(log_odds), np.abs(log_odds), 0.0)  # logarithms are rounded, too
        ties_begin = self._count(table, np.less, target - reach)
        ties_end = ties_begin.copy()
        next_ratio = self.ratios[table, np.minimum(ties_begin, self.n_samples - 1)]
        has_ties = np.flatnonzero((next_ratio <= target + reach) & (ties_begin < self.n_samples))
        ties_end[has_ties] = self._count(table[has_ties], np.less_equal, (target + reach)[has_ties])
        side = np.where(truth_is_b, 0, 1)
        shares = self.shares_beside[table, side, ties_begin] + self.shares_beside[table, side, ties_end]
        return np.asarray(shares / 2)

    def _count(self, table: IntArray, is_before: np.ufunc, target: FloatArray) -> IntArray:
        """How many ratios of each entry's table come before its target, by binary search, all entries in step.

        Before each step the answer lies between `first` and `first + length`, counted in all tables end to end.
        """
        ratios = self.ratios.ravel()
        start = table * self.n_samples
        first = start.copy()
        length = self.n_samples
        while length > 1:
            half = length // 2
            first += half * is_before(ratios[first + (half - 1)], target)
            length -= half
        return np.asarray(first + is_before(ratios[first], target) - start)

    def _pairs(self, truth: IntArray, distractor: IntArray) -> IntArray:
        """The number ``a K + b`` of each pair, a <= b."""
        return np.minimum(truth, distractor) * self.n_classes + np.maximum(truth, distractor)

    def _tables_of(self, pairs: IntArray) -> IntArray:
        """The number of each pair's table; those that are missing are made."""
        numbers = self.number_of_pair[pairs]
        if not numbers.all():
            missing = np.unique(pairs[numbers == 0])
            if self.n_tables + len(missing) > self.most_tables:
                self._forget()
                missing = np.unique(pairs)
            self._add(missing)
            numbers = self.number_of_pair[pairs]
        return numbers.astype(np.intp) - 1

    def _add(self, pairs: IntArray) -> None:
        """Sort the tables of some pairs that have none."""
        needed = self.n_tables + len(pairs)
        if needed > len(self.ratios):
            room = min(self.most_tables, max(needed, 2 * len(self.ratios)))
            self.ratios = _with_room(self.ratios, room)
            self.shares_beside = _with_room(self.shares_beside, room)
        for part in row_slices(len(pairs), self.n_samples, SORTED_AT_ONCE):
            a, b = np.divmod(pairs[part], self.n_classes)
            ratios = log_quotient(self.costs[a], self.costs[b])
            order = np.argsort(ratios, axis=1)
            rows = slice(self.n_tables, self.n_tables + len(order))
            self.ratios[rows] = np.take_along_axis(ratios, order, axis=1)
            self.shares_beside[rows, 0] = _shares_before(np.take_along_axis(self.costs[a], order, axis=1))
            falling = np.take_along_axis(self.costs[b], order[:, ::-1], axis=1)
            self.shares_beside[rows, 1] = _shares_before(falling)[:, ::-1]
            self.number_of_pair[pairs[part]] = np.arange(rows.start, rows.stop) + 1
            self.n_tables = rows.stop


def _with_room(tables: FloatArray, n_rows: int) -> FloatArray:
    """A copy of tables with room for so many rows."""
    larger = np.empty((n_rows, *tables.shape[1:]))
    larger[: len(tables)] = tables
    return larger


def _shares_before(costs: FloatArray) -> FloatArray:
    """The share of each row's sum that lies before every place: from (P, M) to (P, M + 1), from 0 to 1."""
    sums = np.zeros((len(costs), costs.shape[1] + 1))
    np.cumsum(costs, axis=1, out=sums[:, 1:])
    return np.asarray(sums / sums[:, -1:])
