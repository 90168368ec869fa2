"""All that is summed over the rows of one model, batch by batch, in one compiled pass where that pays."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pandora_regret.compare.result import Costs, IntervalMethod
from pandora_regret.files.batch import NO_CHANGES, Batch
from pandora_regret.inference.intervals import MOST_CLASSES, effective_of_sums
from pandora_regret.inference.joint import MANY
from pandora_regret.inference.keyed import GOLDEN, Keys, keys_of, mixed
from pandora_regret.inference.resampling import weighted_sums, weights_in_parts
from pandora_regret.inputs import FloatArray, Forecast, IntArray
from pandora_regret.kernels.engine import wasted_pairs
from pandora_regret.kernels.reference import unavoidable_costs
from pandora_regret.metrics import Metric
from pandora_regret.metrics.fused import confusion, score_columns
from pandora_regret.priors import Beta, Prior
from pandora_regret.tally import Means, Sum

MOST_KEYS = 1 << 22  # of ids: 32 MB
LONGEST_ID = 64  # characters of an id that are looked at, the last
MOST_DIGITS = 18  # of an id that is a number


@dataclass(frozen=True)
class Settings:
    """How the rows of a model are scored and charged."""

    name: str
    classes: tuple[str, ...]
    metrics: tuple[Metric, ...]
    is_fused: bool  # whether the compiled loop knows all that are means, and forecasts are probabilities
    prior: Prior
    typical: FloatArray | None  # (K,) what testing each class costs; None: each row has its own
    base_costs: FloatArray | None  # (K,); None: all 1, or each row's own
    charged: Costs
    interval: IntervalMethod
    logits: bool
    with_pairs: bool

    @property
    def means(self) -> list[Metric]:
        """The metrics that are means of rows."""
        return [metric for metric in self.metrics if metric.is_mean]

    def forecast(self, batch: Batch, rows: IntArray | None = None) -> Forecast:
        """All rows of a batch with their base costs; or some, where these are those of all rows."""
        costs = self.base_costs if batch.costs is None else batch.costs / self.prior.mean
        return batch.forecast(self.logits, rows).with_costs(costs)


class Scored(NamedTuple):
    """The rows of a batch."""

    means: Means  # of each of the settings' means
    predicted: NDArray[Any]  # (n,) the likeliest class; ties go to the lower column number
    table: FloatArray  # (means, n); after a compiled pass (means, 0), unless it was asked for
    forecast: Forecast | None = None  # where it was not a compiled pass


def score_batch(batch: Batch, settings: Settings, compiled: bool, *, with_table: bool = False) -> Scored:
    """All metrics of a batch's rows; a row that cannot be scored is an error that names it."""
    prior, metrics = settings.prior, settings.means
    plain = compiled and batch.costs is None and batch.votes is None and batch.dtype.itemsize >= 4
    with batch.blamed():
        if not plain or not isinstance(prior, Beta):
            return _by_definition(settings.forecast(batch), metrics, prior)
        columns = (batch.columns, batch.truth, batch.weights, settings.base_costs, prior, batch.tolerance)
        scores = score_columns([metric.key for metric in metrics], *columns, with_table=with_table)
        if len(rows := scores.doubtful):  # which the loop does not vouch for
            settled = _by_definition(settings.forecast(batch, rows), metrics, prior)
            scores.means.merge(settled.means)
            scores.predicted[rows] = settled.predicted
            if with_table:
                scores.table[:, rows] = settled.table
    return Scored(scores.means, scores.predicted, scores.table)


def _by_definition(forecast: Forecast, metrics: Any, prior: Prior) -> Scored:
    """As the registry defines metrics, for any prior, costs of each row, votes and logits."""
    forecast = forecast.check()
    rows = replace(forecast, cluster=None, shares=None)
    table = np.stack([metric.of_rows(rows, prior) for metric in metrics])
    means = Means.of(forecast.per_case(table.T).T, forecast.case_weights)
    return Scored(means, np.asarray(forecast.values.argmax(axis=1)), table, forecast)


class StreamSums:
    """Everything summed over the rows of one model; two of them, of different rows, merge into one."""

    def __init__(self, settings: Settings, compiled: bool = False) -> None:
        k, n_means, n_draws = len(settings.classes), len(settings.means), settings.interval.replicates
        self.settings, self.cases, self.changes, self.seen = settings, 0, NO_CHANGES, list[Keys]()
        self.means, self.compiled = Means((n_means,)), compiled
        self.kept: list[FloatArray] = []  # (1 + means, n) each: weights and scores of all rows while they are few
        self.clusters: set[int] = set()  # the lowest and highest key of each batch
        self.by_class = k <= MOST_CLASSES
        shapes: dict[str, tuple[int, ...]] = {
            "fourth powers": (),  # of weights
            "counts": (3, k),  # weight of each class that is true, predicted, and both
            "taken for": (k, k) if self.by_class else (0, 0),  # squared weight of i predicted as j
            "pairs": (k, k) if settings.with_pairs else (0, 0),
            "typical": (k,),  # of rows that have costs of their own
            "own": (),  # what these pay for testing the truth itself
            "replicates": (n_draws, 1 + n_means + 3 * k * self.by_class),
        }
        self.sums = {name: Sum(shape) for name, shape in shapes.items()}

    def add(self, batch: Batch) -> None:
        """Add rows."""
        settings, few = self.settings, batch.groups is None and self.cases + len(batch) <= MANY
        with_table = few or settings.interval.replicates > 0
        scored = score_batch(batch, settings, self.compiled, with_table=with_table)
        weights = np.ones(len(batch)) if batch.weights is None else batch.weights
        table = scored.table if scored.forecast is None else scored.forecast.per_case(scored.table.T).T
        self.kept = [*self.kept, np.concatenate([weights[None], table])] if few else []
        self.cases += len(batch)
        self.changes += batch.changes
        self.means.merge(scored.means)
        self.sums["fourth powers"].add(len(batch) if batch.weights is None else (weights**4).sum())
        if batch.id_column is not None:
            keys = hashes_of(batch.id_column)
            if not keys.all():
                source, row = batch.origin(int(np.argmin(keys)))
                raise source.error(row, "has no id", fix="fill it in, or drop the row", argument="ids")
            self._see([keys])
        self._count(batch, scored)
        if settings.with_pairs:
            for _, _, classes, sums in wasted_pairs(settings.forecast(batch), settings.prior):
                self.sums["pairs"].add(sums, index=classes)
        if batch.costs is not None and scored.forecast is not None:
            own = scored.forecast.per_case(unavoidable_costs(scored.forecast, settings.prior))
            self.sums["typical"].add(batch.costs.sum(axis=0))
            self.sums["own"].add((own * weights).sum())

    def _count(self, batch: Batch, scored: Scored) -> None:
        """Which class is true, which is predicted, and which is taken for which; and all of it in replicates."""
        rows: Any = scored.forecast or batch  # of cases that were voted on, the votes
        truth, weights, predicted, k = rows.truth, rows.weights, scored.predicted, len(self.settings.classes)
        if self.by_class:
            cells = squared = confusion(truth, predicted, weights, k)
            if weights is not None:
                shares = getattr(rows, "shares", None)
                squared = confusion(truth, predicted, weights**2 / (1.0 if shares is None else shares), k)
            self.sums["counts"].add(np.stack([cells.sum(axis=1), cells.sum(axis=0), np.diag(cells)]))
            self.sums["taken for"].add(squared)
            if not self.settings.interval.replicates:
                return
        from scipy.sparse import csr_array

        weights = np.ones(len(truth)) if weights is None else weights
        places = np.tile(np.arange(len(truth)), 3), np.concatenate([truth, k + predicted, 2 * k + truth])
        by_class = np.concatenate([weights, weights, weights * (predicted == truth)])
        indicators = csr_array((by_class, places), shape=(len(truth), 3 * k))
        if not self.by_class:
            self.sums["counts"].add(indicators.sum(axis=0).reshape(3, k))
        if self.settings.interval.replicates:
            self._resample(batch, scored, weights, indicators)

    def _resample(self, batch: Batch, scored: Scored, weights: FloatArray, indicators: Any) -> None:
        """Add a batch to every replicate, drawn by group, else by id, else by number."""
        names, interval = batch.ids if batch.groups is None else batch.groups, self.settings.interval
        keys = keys_of(np.arange(batch.first_row, batch.first_row + len(batch)) if names is None else names)
        keys = keys if scored.forecast is None else scored.forecast.per_row(keys)
        self.clusters |= {int(keys.min()), int(keys.max())}
        finite = np.where(np.isfinite(scored.table), scored.table, 0.0)  # an infinite mean has no interval
        table = np.stack([weights, *(weights * finite)], axis=1)
        for some, drawn in weights_in_parts(keys, interval.replicates, interval.seed):
            parts = [weighted_sums(drawn, table), *([drawn @ indicators] if self.by_class else [])]
            self.sums["replicates"].add(np.hstack(parts), index=some)

    def _see(self, hashes: list[Keys]) -> None:
        """The ids of further rows, by their hashes."""
        self.seen += hashes
        if sum(map(len, self.seen)) > 2 * MOST_KEYS:
            self.seen = [thinned(self.seen)]

    def merge(self, other: StreamSums) -> None:
        """Add the rows of another of the same model."""
        self.cases += other.cases
        self.changes += other.changes
        self.clusters |= other.clusters
        self.kept = [*self.kept, *other.kept] if self.cases <= MANY else []
        self.means.merge(other.means)
        self._see(other.seen)
        for name, ours in self.sums.items():
            ours.merge(other.sums[name])

    @property
    def weight(self) -> float:
        """The sum of weights; the number of cases where there are none."""
        return float(self.means.weight.value)

    @property
    def effective(self) -> float:
        """How many cases of equal weight would say as much."""
        second = self.weight**2 / self.means.effective_count
        return float(effective_of_sums(self.weight, second, self.sums["fourth powers"].value))


def thinned(parts: list[Keys]) -> Keys:
    """Hashes of ids, sorted: at most two of each, and where they are too many the lowest.

    So a single id that comes twice among very many may go unnoticed, but a file that comes twice never does.
    """
    keys = np.sort(np.concatenate([np.empty(0, np.uint64), *parts]))
    return np.concatenate([keys[:2], keys[2:][keys[2:] != keys[:-2]]])[:MOST_KEYS]


def hashes_of(column: Any) -> Keys:
    """A 64-bit hash of each id, (n,): the same for the number 17 and the text 17; 0 where there is none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not len(column):
        return np.empty(0, np.uint64)
    column = pa.concat_arrays(column.chunks) if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_integer(column.type):
        numbers = np.asarray(column.fill_null(0).to_numpy()).astype(np.int64).view(np.uint64)
        return np.where(column.is_valid(), mixed(numbers + GOLDEN), np.uint64(0))
    texts = column.cast(pa.string()).fill_null("")
    if (longest := pc.max(pc.binary_length(texts)).as_py() or 1) > LONGEST_ID:
        texts = pc.utf8_slice_codeunits(texts, -LONGEST_ID)
        longest = pc.max(pc.binary_length(texts)).as_py()
    n_words = -(-longest // 8)
    padded = pc.ascii_rpad(texts, 8 * n_words, "\0")  # eight bytes at a time
    keys = np.zeros(len(texts), np.uint64)
    for word in np.frombuffer(padded.buffers()[2], np.uint64, len(texts) * n_words).reshape(-1, n_words).T:
        keys = np.where(word != 0, mixed((keys ^ word) + GOLDEN), keys)  # nothing follows the end of a text
    digits = pc.and_(pc.ascii_is_decimal(texts), pc.less_equal(pc.binary_length(texts), MOST_DIGITS))
    numbers = texts.filter(digits).cast(pa.int64()).to_numpy().view(np.uint64)
    keys[digits.to_numpy(zero_copy_only=False)] = mixed(numbers + GOLDEN)
    return keys
