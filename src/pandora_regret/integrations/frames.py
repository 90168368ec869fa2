"""Scores where the data live: the closed forms as narwhals expressions.

One definition serves pandas, Polars (eager and lazy), DuckDB, PySpark and Dask, and runs inside the engine. It
covers the Beta family on probabilities; other priors, logits, intervals and the full checks are `score_stream`'s.

Spark compiles a query into Java methods of at most 64 KB, and interprets what does not fit. So the truth is looked
up once, into columns (`with_scores`): inside each comparison it would make K x K cases. And nothing but a plain
column is divided by, because narwhals writes a division as a case distinction that repeats its operands.
"""

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import add, and_
from typing import Any, NamedTuple, Protocol, TypeVar

import narwhals as nw
import numpy as np
from narwhals import Expr
from narwhals.typing import Frame

from pandora_regret.core.inputs import TOLERANCE, ByClass, InputError
from pandora_regret.core.priors import Beta
from pandora_regret.core.priors.base import TIE
from pandora_regret.core.priors.names import read_prices
from pandora_regret.optional import import_optional

NativeFrame = TypeVar("NativeFrame")  # of any library that narwhals knows

LEAST_PROBABILITY = 1e-300  # two probabilities below it are compared as if both were 0
FRAME_METRICS = ("pandora_regret", "expected_search_cost", "log_loss")


class _Truth(NamedTuple):
    """What is known of the true class; null where no class has the row's label."""

    probability: Expr
    inverse: Expr  # of the probability; 0 if that is 0, or so small that the inverse would overflow
    cost: Expr
    inverse_cost: Expr


HELPER = "__truth_"  # begins the names of columns that `with_scores` has while it works
HELPERS = tuple(f"{HELPER}{name}" for name in _Truth._fields)


def pandora_regret_expr(classes: Sequence[str], *, label: str, alpha: float = 1.0) -> Expr:
    """Pandora's Regret of each row; null where a row cannot be scored.

    Parameters
    ----------
    classes
        The columns of probabilities, named like the labels.
    label
        The column of true labels.
    alpha
        As in `pandora_regret`.

    Returns
    -------
    narwhals.Expr
        One number per row.

    Examples
    --------
    >>> import polars as pl
    >>> frame = nw.from_native(pl.DataFrame({"truth": ["flu", "cold"], "flu": [0.5, 0.2], "cold": [0.5, 0.8]}))
    >>> frame.select(score=pandora_regret_expr(["flu", "cold"], label="truth"))["score"].to_list()
    [0.3333333333333333, 0.020833333333333332]
    """
    return _Scores(classes, label, alpha).score("pandora_regret")


def expected_search_cost_expr(
    classes: Sequence[str], *, label: str, costs: ByClass | None = None, alpha: float = 1.0
) -> Expr:
    """What each row's search is expected to cost under a `Beta(alpha)` prior; null where it cannot be scored.

    Parameters
    ----------
    classes, label, alpha
        As in `pandora_regret_expr`.
    costs
        Mean costs of the tests, in the order of the classes or by name; without them base costs are 1, as in
        `expected_search_cost`.

    Returns
    -------
    narwhals.Expr
        One number per row, in the costs' unit.
    """
    return _Scores(classes, label, alpha, costs, priced=True).score("expected_search_cost")


def log_loss_expr(classes: Sequence[str], *, label: str) -> Expr:
    """``-ln p_i`` of each row, infinite for an impossible truth; null where the row cannot be scored.

    Parameters
    ----------
    classes, label
        As in `pandora_regret_expr`.

    Returns
    -------
    narwhals.Expr
        One number per row.
    """
    return _Scores(classes, label, 1.0).score("log_loss")


def with_scores(
    frame: NativeFrame,
    classes: Sequence[str],
    *,
    label: str,
    alpha: float = 1.0,
    costs: ByClass | None = None,
    metrics: Iterable[str] = FRAME_METRICS,
) -> NativeFrame:
    """The frame with a column per metric; null where a row cannot be scored.

    Parameters
    ----------
    frame
        A frame of any library that narwhals knows.
    classes, label, alpha, costs
        As in `expected_search_cost_expr`.
    metrics
        Names of the columns to add: "pandora_regret", "expected_search_cost", "log_loss".

    Returns
    -------
    frame
        A frame of the same library.
    """
    names = _names_in(metrics)
    if not names or not {*names} <= {*FRAME_METRICS}:
        raise InputError(argument="metrics", value=names, fix=f"name some of {', '.join(FRAME_METRICS)}")
    scores = _Scores(classes, label, alpha, costs, "expected_search_cost" in names)
    rows = _as_narwhals(frame)
    columns = set(rows.collect_schema().names())
    if missing := [name for name in (*scores.classes, label) if name not in columns]:
        raise InputError(f"has no column {missing[0]!r}", argument="frame", column=missing[0], fix="rename one")
    if taken := [name for name in (*HELPERS, *names) if name in columns]:
        raise InputError(f"has a column {taken[0]!r} already", argument="frame", column=taken[0], fix="rename it")

    helpers = _HelperColumns(rows)
    truth = scores.truth(settle=helpers.add)
    scored = helpers.rows.with_columns(scores.score(name, truth).alias(name) for name in names)
    result: NativeFrame = scored.drop(*HELPERS).to_native()
    return result


def score_frame(
    frame: NativeFrame,
    classes: Sequence[str],
    *,
    label: str,
    alpha: float = 1.0,
    costs: ByClass | None = None,
    metrics: Iterable[str] = FRAME_METRICS,
    by: str | Sequence[str] = (),
) -> NativeFrame:
    """Mean and standard error of every metric, per group, computed inside the engine; lazy where the frame is.

    Parameters
    ----------
    frame, classes, label, alpha, costs, metrics
        As in `with_scores`.
    by
        Columns of groups; without any, one row about all rows.

    Returns
    -------
    frame
        Of the same library: the columns of `by`, then `<metric>` and `<metric>_se` for each metric, `count`, the
        rows that were scored, and `not_scored`: rows whose label is no class, or whose probabilities are missing,
        negative or do not sum to 1. Look at the latter: an engine drops such rows without a word.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"truth": ["flu", "cold", "?"], "flu": [0.5, 0.2, 0.5], "cold": [0.5, 0.8, 0.5]})
    >>> score_frame(frame, ["flu", "cold"], label="truth", metrics=["pandora_regret"]).rows()
    [(0.177..., 0.156..., 2, 1)]
    """
    names = _names_in(metrics)
    scored = with_scores(frame, classes, label=label, alpha=alpha, costs=costs, metrics=names)
    rows = _as_narwhals(scored)
    columns = _names_in(by)
    summaries = [nw.col(name).mean() for name in names]
    summaries += [nw.col(name).std().alias(f"{name}_se") for name in names]
    summaries += [nw.col(names[0]).count().alias("count"), nw.len().alias("not_scored")]
    groups = rows.group_by(*columns).agg(*summaries) if columns else rows.select(*summaries)
    root = nw.col("count").cast(nw.Float64) ** 0.5
    errors = {}
    for name in names:
        has_error = (nw.col("count") > 1) & (nw.col(name) < float("inf"))  # else it is null
        errors[f"{name}_se"] = nw.when(has_error).then(nw.col(f"{name}_se") / root)
    finished = groups.with_columns(**errors, not_scored=nw.col("not_scored") - nw.col("count"))
    shown = [column for name in names for column in (name, f"{name}_se")]
    result: NativeFrame = finished.select(*columns, *shown, "count", "not_scored").to_native()
    return result


def duckdb_sql(
    table: str,
    classes: Sequence[str],
    *,
    label: str,
    by: str | Sequence[str] = (),
    alpha: float = 1.0,
    costs: ByClass | None = None,
    metrics: Iterable[str] = FRAME_METRICS,
) -> str:
    """The SQL that DuckDB makes of `score_frame`, to be pasted into a warehouse; `table` is the table's name.

    Parameters
    ----------
    table
        The table's name.
    classes, label, by, alpha, costs, metrics
        As in `score_frame`.

    Returns
    -------
    str
        One SELECT statement.
    """
    duckdb = import_optional("duckdb", extra="engines")
    columns = [f"{_identifier(name)} DOUBLE" for name in classes]
    columns += [f"{_identifier(name)} VARCHAR" for name in (label, *_names_in(by))]
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE {_identifier(table)} ({', '.join(columns)})")
        rows = connection.table(_identifier(table))
        scored = score_frame(rows, classes, label=label, by=by, alpha=alpha, costs=costs, metrics=metrics)
        return str(scored.sql_query())


def _as_narwhals(frame: object) -> Frame:
    """A frame of any library, as narwhals sees it."""
    native: Any = frame
    rows: Frame = nw.from_native(native)
    return rows


def _names_in(names: str | Iterable[str]) -> list[str]:
    """Names, of which there may be one that is no list."""
    return [names] if isinstance(names, str) else list(names)


class _ColumnMaker(Protocol):
    """What makes columns of expressions, by their names: expressions that refer to these come out, in order."""

    def __call__(self, **columns: Expr) -> Iterable[Expr]:
        """An expression for each."""


class _HelperColumns:
    """Rows that get columns while the scores are put together, and with them."""

    def __init__(self, rows: Frame) -> None:
        self.rows = rows

    def add(self, **columns: Expr) -> Iterable[Expr]:
        """Add columns to the rows; expressions that refer to these, in order."""
        self.rows = self.rows.with_columns(**{f"{HELPER}{name}": value for name, value in columns.items()})
        return [nw.col(f"{HELPER}{name}") for name in columns]


def _as_they_are(**columns: Expr) -> Iterable[Expr]:
    """The expressions themselves, where no columns are made of them."""
    return columns.values()


class _Scores:
    """The closed forms of a Beta prior over named columns."""

    def __init__(
        self, classes: Sequence[str], label: str, alpha: float, costs: ByClass | None = None, priced: bool = False
    ) -> None:
        names = _names_in(classes)
        are_names = all(isinstance(name, str) for name in names)
        are_distinct = len({*names, label}) == len(names) + 1
        if len(names) < 2 or not are_names or not are_distinct:
            fix = "pass two or more names of columns, each once, without that of the label"
            raise InputError(argument="classes", value=names, fix=fix)
        self.classes = names
        self.label = label
        self.prior = Beta(alpha)
        base = read_prices(self.prior, costs, names)[1] if priced else None
        self.costs: list[float] = [1.0] * len(names) if base is None else base.tolist()

    def truth(self, settle: _ColumnMaker = _as_they_are) -> _Truth:
        """What is known of the true class, in one expression each; or `settle` makes columns of some.

        In rows that hold probabilities: none is negative, they sum to 1; a comparison with NaN or null is false.
        """
        probabilities = [nw.col(name).cast(nw.Float64) for name in self.classes]
        none_negative = reduce(and_, (nw.col(name) >= 0 for name in self.classes))
        sum_to_one = (reduce(add, probabilities) - 1).abs() <= TOLERANCE
        is_truth = [nw.when(nw.col(self.label).cast(nw.String) == name) for name in self.classes]

        def at_truth(values: Iterable[Expr]) -> Expr:
            """The value of the true class."""
            return nw.coalesce(*(case.then(value) for case, value in zip(is_truth, values, strict=True)))

        probability, cost, inverse_cost = settle(
            probability=nw.when(none_negative & sum_to_one).then(at_truth(probabilities)),
            cost=at_truth(nw.lit(cost) for cost in self.costs),
            inverse_cost=at_truth(nw.lit(1 / cost) for cost in self.costs),
        )
        inverse = nw.when(probability > LEAST_PROBABILITY).then(1.0 / probability).otherwise(probability * 0.0)
        [inverse] = settle(inverse=inverse)
        return _Truth(probability, inverse, cost, inverse_cost)

    def score(self, metric: str, truth: _Truth | None = None) -> Expr:
        """One of the metrics; null where the truth is.

        ``1 / (3 (K - 1)) sum_j L(p_i / p_j)``, less the truth's own term, L(1) = 1; ``-ln p_i``; or
        ``E[u] (C_i + s sum_j C_j L(q_i / q_j))`` with ``q_k = p_k / C_k``, where s turns L into a share.
        """
        truth = truth or self.truth()
        if metric == "pandora_regret":
            total = reduce(add, (self._loss(truth, name) for name in self.classes))
            score = (total - 1.0) * (1 / (3 * (len(self.classes) - 1)))
        elif metric == "log_loss":
            score = _minus_log(truth.probability)
        else:
            share = self.prior.loss_to_share
            alike = len({*self.costs}) == 1
            priced = zip(self.classes, self.costs, strict=True)
            losses = (self._loss(truth, name, None if alike else cost) * cost for name, cost in priced)
            score = (truth.cost * (1 - share) + reduce(add, losses) * share) * self.prior.mean
        return nw.when(truth.probability >= 0).then(score)

    def _loss(self, truth: _Truth, name: str, cost: float | None = None) -> Expr:
        """``L(q_i / q_j)``, without a cost ``L(p_i / p_j)``; of two impossible classes the costs alone decide."""
        q_rival = nw.col(name).cast(nw.Float64)
        q_truth = truth.probability
        ratio = q_truth / q_rival  # a tie is worth 1
        inverse = q_rival * truth.inverse
        impossible = nw.lit(1.0)
        if cost is not None:
            rival_cost = truth.inverse_cost * cost  # C_j / C_i
            truth_cost = truth.cost * (1 / cost)  # C_i / C_j
            ratio = ratio * rival_cost
            inverse = inverse * truth_cost
            q_rival = q_rival * (1 / cost)
            q_truth = q_truth * truth.inverse_cost
            impossible = self._choose(truth_cost, nw.lit(1.0), self._behind(rival_cost), self._ahead(truth_cost))
        ahead = nw.when(truth.inverse > 0).then(self._ahead(inverse)).otherwise(impossible)
        return self._choose(q_rival, q_truth, self._behind(ratio), ahead)

    def _choose(self, q_rival: Expr, q_truth: Expr, behind: Expr, ahead: Expr) -> Expr:
        """The loss: `behind` where the rival's quotient is larger than that of the truth, else `ahead`."""
        is_behind = q_rival > (q_truth * (1 + TIE) if self.prior.alpha == np.inf else q_truth)
        return nw.when(is_behind).then(behind).otherwise(ahead)

    def _ahead(self, ratio: Expr) -> Expr:
        """``r^-(alpha + 1)`` of ``1 / r <= 1``; known costs only know ties, within rounding."""
        if self.prior.alpha == np.inf:
            return nw.when(ratio >= 1 - TIE).then(nw.lit(1.0)).otherwise(nw.lit(0.0))
        return _to_power(ratio, self.prior.alpha + 1)

    def _behind(self, ratio: Expr) -> Expr:
        """``1 + (1 + 1/alpha)(1 - r^alpha)`` of ``r < 1``, ``1 - ln r`` at alpha = 0, 2 at infinity."""
        alpha = self.prior.alpha
        if alpha == np.inf:
            return nw.lit(2.0)
        if alpha > 0:
            return (2 + 1 / alpha) - _to_power(ratio, alpha) * (1 + 1 / alpha)
        return _minus_log(ratio) + 1.0


def _minus_log(ratio: Expr) -> Expr:
    """``-ln r``, where no engine is asked for the logarithm of zero."""
    possible = nw.when(ratio > 0).then(ratio).otherwise(nw.lit(1.0))
    return nw.when(ratio > 0).then(-possible.log()).otherwise(nw.lit(float("inf")))


def _to_power(ratio: Expr, exponent: float) -> Expr:
    """A power; small whole ones by multiplication, which every engine does fastest."""
    return {1.0: ratio, 2.0: ratio * ratio}.get(exponent, ratio**exponent)


def _identifier(name: str) -> str:
    """A name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'
