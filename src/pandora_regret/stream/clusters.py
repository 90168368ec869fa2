"""What the rows of each cluster add to every sum, so that intervals know which rows belong together.

A cluster is what is independent of the others, such as a patient with several images. Where clusters are so many
that their sums would not stay small, they are put together at random, by a hash of their names: sums of several
independent clusters are independent of each other as well, and the interval made of them holds like any other.
"""

from __future__ import annotations

import numpy as np

from pandora_regret.core.inputs import FloatArray, IntArray
from pandora_regret.inference.keyed import GOLDEN, Keys, mixed

MOST_NUMBERS = 1 << 23  # in the table of sums: 64 megabytes
FEWEST_POOLS = 1 << 10  # of clusters put together; more of them change no interval that anybody could see


class WeightsByName:
    """The weight of every cluster, 16 bytes each."""

    def __init__(self) -> None:
        self.parts: list[tuple[Keys, FloatArray]] = []  # the first has each name once

    def add(self, names: Keys, weights: FloatArray) -> None:
        """Add the weights of some clusters, (n,)."""
        self.parts.append((names, weights))
        if sum(len(names) for names, _ in self.parts[1:]) > len(self.parts[0][0]):
            self.sorted()  # seldom, and before lists grow long

    def sorted(self) -> tuple[Keys, FloatArray]:
        """Names, rising, each once, and their weights."""
        if len(self.parts) > 1:
            names, number = np.unique(np.concatenate([names for names, _ in self.parts]), return_inverse=True)
            every_weight = np.concatenate([weights for _, weights in self.parts])
            weights = np.bincount(number, every_weight, len(names)).astype(np.float64)
            self.parts = [(names, weights)]
        return self.parts[0]


class ClusterSums:
    """Sums over the rows of each cluster; two of them, of different rows, merge into one."""

    def __init__(self, n_means: int, n_classes: int) -> None:
        self.n_means = n_means
        self.n_classes = n_classes  # 0 where classes are not counted
        self.keys = np.empty(0, np.uint64)  # (G,) rising
        n_columns = 1 + n_means + 3 * n_classes  # weight; weight times each mean; counts of classes
        self.table = np.zeros((0, n_columns))
        self.pooled: WeightsByName | None = None  # of clusters, where the table holds several of them together

    @property
    def weights_apart(self) -> FloatArray:
        """The weight of each cluster by itself."""
        return self.weights if self.pooled is None else self.pooled.sorted()[1]

    @property
    def weights(self) -> FloatArray:
        """The weight of each row of the table, (G,)."""
        return np.asarray(self.table[:, 0])

    @property
    def totals(self) -> FloatArray:
        """Weight times value of each mean, (G, means)."""
        return np.asarray(self.table[:, 1 : 1 + self.n_means])

    @property
    def counts(self) -> FloatArray:
        """Weight of each class that is true, predicted, and both, (G, 3, K)."""
        return self.table[:, 1 + self.n_means :].reshape(len(self.keys), 3, self.n_classes)

    def add(
        self, keys: Keys, weights: FloatArray, values: FloatArray, truth: IntArray, predicted: IntArray
    ) -> None:
        """Add rows: clusters, weights, true and likeliest classes, (n,), finite values of means, (means, n)."""
        weighs = weights > 0
        if not weighs.all():
            keys = keys[weighs]
            weights = weights[weighs]
            values = values[:, weighs]
            truth = truth[weighs]
            predicted = predicted[weighs]
        distinct, number = np.unique(keys, return_inverse=True)
        n = len(distinct)
        columns = [np.bincount(number, weights, n)]
        columns += [np.bincount(number, weights * mean, n) for mean in values]
        k = self.n_classes
        if k:
            right = weights * (predicted == truth)
            for classes, weight in ((truth, weights), (predicted, weights), (truth, right)):
                columns += list(np.bincount(number * k + classes, weight, n * k).reshape(n, k).T)
        self._add_table(distinct, np.stack(columns, axis=1))

    def merge(self, other: ClusterSums) -> None:
        """Add all sums of another, whether or not either has put clusters together."""
        if other.pooled is None:
            self._add_table(other.keys, other.table)
            return
        if self.pooled is None:
            self._pool()
        assert self.pooled is not None
        self.pooled.add(*other.pooled.sorted())
        self._add_pools(other.keys, other.table)

    def _add_table(self, names: Keys, table: FloatArray) -> None:
        """Add sums of clusters, by their names; put clusters together once they are too many."""
        if self.pooled is not None:
            self.pooled.add(names, table[:, 0])
            self._add_pools(self._pool_of(names), table)
            return
        self._add_pools(names, table)
        if self.table.size > MOST_NUMBERS and len(self.keys) > FEWEST_POOLS:
            self._pool()

    def _add_pools(self, keys: Keys, table: FloatArray) -> None:
        """Add sums by their keys, of which several may be the same."""
        both = np.concatenate([self.keys, keys])
        self.keys, number = np.unique(both, return_inverse=True)
        rows = np.concatenate([self.table, table])
        columns = [np.bincount(number, column, len(self.keys)) for column in rows.T]
        self.table = np.stack(columns, axis=1)

    def _pool(self) -> None:
        """Put clusters together into pools, and from now on keep sums by pool, not by cluster."""
        names = self.keys
        table = self.table
        self.pooled = WeightsByName()
        self.pooled.add(names, table[:, 0])
        self.keys = names[:0]
        self.table = table[:0]
        self._add_pools(self._pool_of(names), table)

    def _pool_of(self, names: Keys) -> Keys:
        """The number of each cluster's pool: as many pools, a power of two, as the table has room for."""
        room = max(FEWEST_POOLS, MOST_NUMBERS // self.table.shape[1])
        bits = room.bit_length() - 1
        return np.asarray(mixed(names + GOLDEN) >> np.uint64(64 - bits))
