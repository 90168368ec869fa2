"""Which metric picks the model that is cheapest to deploy: Kendall's tau, its gaps, and what choosing costs.

The bootstrap is paired throughout: a replicate draws the same instances and the same models for all metrics and
all conditions. Replicate 0 is the sample itself; every other one depends on the seed and its own number alone, so
that they may be computed in any order and in blocks of any size. All replicates of a mean are one matrix product;
forecasts are changed and searched some models at a time, so memory holds one condition's table of costs and little
else.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pandora_regret._version import __version__
from pandora_regret.core.inputs import (
    FloatArray,
    InputError,
    IntArray,
    Labels,
    Names,
    read_array,
    read_choice,
    read_costs,
    read_count,
    read_labels,
    read_level,
    read_probabilities,
    read_truth,
)
from pandora_regret.core.kernels.engine import in_threads, worth_compiling
from pandora_regret.inference.estimate import Estimate
from pandora_regret.inference.intervals import interval_around
from pandora_regret.inference.keyed import keyed_generator
from pandora_regret.metrics import BASELINE, Metric, default_metrics, read_metrics, weighted_means
from pandora_regret.study.conditions import PAPER_CONDITIONS, Condition, read_conditions
from pandora_regret.study.results import (
    SCHEMA,
    Agreement,
    ConditionResult,
    ContestSize,
    ExtraCost,
    IntervalMethod,
    MetricResult,
    MetricTitle,
    number_of,
)
from pandora_regret.study.store import read_groups


def replicate_taus(metrics: FloatArray, costs: FloatArray, counts: FloatArray) -> FloatArray:
    """tau-b of every metric with the costs in every replicate, averaged over cost draws: (R, Q).

    A model that a replicate drew twice is two models that tie with each other. Infinite values tie with each
    other. A metric, or a draw's costs, that tells no two models apart has tau 0.

    Parameters
    ----------
    metrics
        Every metric of every model in every replicate, (Q, M, R), none of them NaN; or in all of them, (Q, M, 1).
    costs
        What every model's search costs, in every replicate and draw, (M, R, D); or in all replicates, (M, 1, D).
    counts
        How often each replicate drew each model, (R, M).

    Examples
    --------
    >>> costs = np.array([10.0, 20.0, 30.0])[:, None, None]
    >>> metrics = np.array([[0.1, 0.3, 0.2], [0.9, 0.8, 0.7], [0.5, 0.5, 0.5]])[:, :, None]
    >>> replicate_taus(metrics, costs, np.ones((1, 3))).round(3)
    array([[ 0.333, -1.   ,  0.   ]])
    """
    n_metrics, n_models, n_cases = metrics.shape
    taus = np.empty((len(counts), n_metrics))
    n_compared = len(counts) * (n_metrics + costs.shape[2]) * n_models**2
    if worth_compiling(n_compared // 2):
        from pandora_regret.study import ranking_loops

        def compare(replicates: slice) -> None:
            cases = replicates if n_cases > 1 else slice(None)
            ranking_loops.replicate_taus(
                metrics[:, :, cases], costs[:, cases], counts[replicates], taus[replicates]
            )

        in_threads(compare, len(counts), n_compared // 2)
        return taus
    for r, drawn in enumerate(counts):  # the definition: which of two models is ahead, in all rankings
        rankings = np.vstack([metrics[:, :, r % n_cases], costs[:, r % n_cases].T])
        pairs = np.outer(drawn, drawn)
        signs = np.where(rankings[:, :, None] > rankings[:, None], 1.0, 0.0)
        signs -= signs.transpose(0, 2, 1)
        untied = (pairs * np.abs(signs)).sum(axis=(1, 2), keepdims=True)
        signs /= np.sqrt(np.maximum(untied, 1))  # a ranking's tau with itself is 1
        taus[r] = (pairs * signs[:n_metrics] * signs[n_metrics:].mean(axis=0)).sum(axis=(1, 2))
    return taus


def extra_costs(
    losses: FloatArray, bills: FloatArray, later_bills: FloatArray, drawn: FloatArray
) -> tuple[FloatArray, list[IntArray]]:
    """What the models that each metric picks cost more later than those that bills pick; and who they are.

    Both pick from the same models on the same resample, and both are paid on the same other cases. Where several
    models tie for the best, what is paid is their mean.

    Parameters
    ----------
    losses
        What metrics say of models, lower is better, (Q, M, R), or in all replicates, (Q, M, 1).
    bills
        What each model's searches cost on the resample, (M, R) or (M, 1).
    later_bills
        What they cost on the cases that the resample left out, (R, M) or (1, M).
    drawn
        How often each replicate drew each model, (R, M).

    Returns
    -------
    tuple
        Differences, (R, Q), NaN where both are infinite; of each metric the numbers of the models that it picks
        in replicate 0.
    """
    by_bills, _ = _paid_by_choice(bills, later_bills, drawn)
    paid = []
    picked = []
    for loss in losses:
        of_metric, chosen = _paid_by_choice(loss, later_bills, drawn)
        paid.append(of_metric)
        picked.append(np.flatnonzero(chosen[0]))
    with np.errstate(invalid="ignore"):  # infinite on both sides
        return np.stack(paid, axis=1) - by_bills[:, None], picked


def _paid_by_choice(loss: FloatArray, later_bills: FloatArray, drawn: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The later bills of the models of least loss, (R,), and how often each was chosen, (R, M)."""
    of_drawn = np.where(drawn > 0, loss.T, np.inf)
    chosen = drawn * (of_drawn == of_drawn.min(axis=1, keepdims=True))
    shape = np.broadcast_shapes(chosen.shape, later_bills.shape)
    spent = np.multiply(chosen, later_bills, out=np.zeros(shape), where=chosen > 0)  # not 0 times infinity
    return spent.sum(axis=1) / chosen.sum(axis=1), chosen


def later_bills_of(rows: FloatArray, base: FloatArray, counts: FloatArray) -> FloatArray:
    """What every model's searches cost the cases that each replicate left out, (R, M); all cases if it left none.

    `rows` is what they cost each instance, (M, N), `base` how much instances count, (N,), and `counts` how often
    each replicate drew them, (R, N).
    """
    left_out = (counts == 0) * base
    leaves_out = left_out.any(axis=1)[:, None]
    return weighted_means(rows[:, :, None], np.where(leaves_out, left_out, base))[:, :, 0].T


Resample: TypeAlias = Literal["instances", "models", "both"]

RESAMPLE = {
    "instances": "other cases, the same models",
    "models": "other models, the same cases",
    "both": "other cases and other models",
}
METHOD = "bias, spread and ties"  # of the intervals of tau and gaps
LEAST_STABILITY = 0.7  # of the ranking by bills, below which intervals of tau are too narrow in simulations
UNSTABLE = "other instances rank these models by cost too differently: how well metrics agree cannot be told"
TABLE_BYTES = 1 << 29  # of one condition's costs: of all models and draws, and as many replicates as fit

BATCH_ELEMENTS = 1 << 20  # forecasts, or bills, of as many models as fit are computed at once
DIGITS = 40  # binary: values that agree in so many are ties, however their sums were rounded


class Findings(NamedTuple):
    """What some replicates say about one condition."""

    taus: FloatArray  # (R, Q), below zero where a metric ranks models the wrong way round
    extra: FloatArray  # (R, Q) extra costs
    constant: NDArray[np.bool_]  # (Q,) whether the metric, or the cost, is the same for all models
    picked: list[Names]  # by metric: the models that it holds to be best in the first of the replicates
    tied: FloatArray  # (Q,) the share of pairs of models that the metric ties in the first of them
    stability: FloatArray  # (R,) tau of what models cost in the replicates with what they cost in the sample


class Contest(NamedTuple):
    """Models, in the order of their names, that predict the same instances."""

    truth: IntArray  # (N,)
    forecasts: NDArray[Any]  # (M, N, K)
    models: Names  # (M,)
    classes: tuple[Any, ...]  # (K,)
    costs: FloatArray | None  # (K,) clinical costs
    seed: int
    groups: IntArray  # (N,) numbers of groups, whose instances replicates draw together

    def batches(self, condition: Condition, per_row: int) -> Iterator[tuple[slice, FloatArray]]:
        """Some models at a time, so many that `per_row` numbers for each row fit, and their forecasts, (B, N, K).

        In float64, and rows sum to 1 again, where a shorter float took digits from them.
        """
        most = max(1, BATCH_ELEMENTS // (self.truth.size * per_row))
        for start in range(0, len(self.models), most):
            models = slice(start, start + most)
            table = self.forecasts[models].astype(np.float64)
            table /= table.sum(axis=-1, keepdims=True)
            yield models, condition.changed(self.truth, table, self.models[models], self.seed)

    def measured(
        self, metrics: Sequence[Metric], condition: Condition, weights: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Every metric of every model under every row of weights, (Q, M, R).

        Also what the model's searches cost, once for each ranking by cost, (M, R, D); and what they cost each
        instance, averaged over cost vectors, (M, N).
        """
        costs = condition.cost_draws(self.costs, self.classes, self.seed, len(self.truth))
        priced = any(metric.priced for metric in metrics)
        typical = condition.typical_costs(self.costs, self.classes) if priced else None
        n_models = len(self.models)
        n_weights = len(weights)
        values = np.empty((len(metrics), n_models, n_weights))
        means = np.empty((n_models, n_weights, condition.rankings))
        rows = np.empty((n_models, len(self.truth)))
        for models, proba in self.batches(condition, max(len(self.classes), len(costs))):
            for metric, of_models in zip(metrics, values, strict=True):
                of_models[models] = metric.of_models(self.truth, proba, weights, typical)
            truths = np.tile(self.truth, len(proba))
            stacked = proba.reshape(-1, len(self.classes))
            bills = condition.bills(truths, stacked, costs, self.classes).reshape(len(costs), *proba.shape[:2])
            rows[models] = bills.mean(axis=0)
            ranked = rows[None, models] if condition.rankings == 1 else bills
            means[models] = weighted_means(np.moveaxis(ranked, 0, 2), weights)
        return values, means, rows


def read_contest(
    truth: Labels, forecasts: Any, models: Any, classes: Any, costs: Any, seed: int, groups: Any = None
) -> Contest:
    """Models and instances, checked."""
    array = read_array(forecasts, "forecasts")
    if array.ndim != 3 or any(np.less(array.shape, (2, 1, 2))) or array.dtype.kind != "f":
        raise InputError(
            f"forecasts has shape {array.shape} and dtype {array.dtype}: "
            "pass probabilities of at least two models, (models, instances, classes)."
        )
    n_models, n_rows, n_classes = array.shape
    names = _read_names(models, n_models, "models")
    listed = tuple(range(n_classes)) if classes is None else _read_names(classes, n_classes, "classes")
    for name, table in zip(names, array, strict=True):
        read_probabilities(table, name=f"forecasts of {name!r}").check()
    order = sorted(range(n_models), key=names.__getitem__)
    priced = None if costs is None else read_costs(costs, listed)
    column = read_truth(truth, range(n_classes), n_rows)
    numbers = read_groups(groups, n_rows)
    grouped = np.arange(n_rows) if numbers is None else numbers
    return Contest(column, array[order], tuple(sorted(names)), listed, priced, seed, grouped)


def _read_names(names: Any, count: int, what: str) -> Names:
    listed = tuple(map(str, read_labels(range(count) if names is None else list(names), what)))
    if len(listed) != count:
        raise InputError(f"{what} has {len(listed)} entries but forecasts have {count}: name each of them.")
    return listed


def draw_counts(numbers: range, n_items: int, what: str, seed: int) -> FloatArray:
    """How often each of some replicates draws each item, (R, n)."""
    counts = np.ones((len(numbers), n_items))
    for drawn, number in zip(counts, numbers, strict=True):
        if number > 0:
            items = keyed_generator(seed, what, number).integers(0, n_items, n_items)
            drawn[:] = np.bincount(items, minlength=n_items)
    return counts


def agreement(
    truth: Labels,
    forecasts: Any,
    *,
    models: Sequence[str] | None = None,
    classes: Sequence[str] | None = None,
    groups: Any = None,
    costs: Any = None,
    conditions: Iterable[Any] = PAPER_CONDITIONS,
    metrics: Iterable[Any] | None = None,
    replicates: int = 1000,
    resample: Resample = "instances",
    level: float = 0.95,
    seed: int = 42,
    progress: Callable[[int, int, str], object] = lambda done, total, what: None,
) -> Agreement:
    """How well each metric ranks models by what their searches cost, under each condition.

    Parameters
    ----------
    truth
        True classes as column numbers, shape (N,).
    forecasts
        Probabilities of every model, shape (M, N, K).
    models, classes
        Names; numbers unless given.
    groups
        Which instances belong together, such as one patient's or one week's, (N,): a replicate draws whole groups.
    costs
        What testing each class costs, (K,) or named by class: the clinical costs.
    conditions
        `Condition` values, names of known ones, or tables; the paper's four unless given.
    metrics
        `Metric` values, keys, or tables; all that apply unless given. Pandora's Regret is always among them.
    replicates
        Of the bootstrap; 0 gives no intervals.
    resample
        What a replicate draws anew: "instances", "models" or "both".
    level
        Of the intervals.
    seed
        Of costs, temperatures and replicates, a whole number.
    progress
        Called after each condition, or part of its replicates: how many are done, of how many, and its title.

    Returns
    -------
    Agreement
        Kendall's tau of every metric under every condition, gaps to Pandora's Regret, intervals, and what choosing
        by each metric costs.

    See Also
    --------
    study_grid : A table of it.

    References
    ----------
    Flores et al. (2026), Section 5 [flores26]_.
    Kendall (1938), on tau [kendall38]_.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(0, 3, 200)
    >>> skill = np.linspace(0, 3, 8)[:, None, None]
    >>> odds = np.exp(skill * np.eye(3)[truth] + rng.normal(size=(8, 200, 3)))
    >>> result = agreement(truth, odds / odds.sum(axis=2, keepdims=True), costs=[100.0, 50.0, 20.0],
    ...                    conditions=["clinical"], metrics=["pandora_regret", "accuracy"], replicates=50)
    >>> result.tau.round(2), result.picked[0][0]
    (array([[1., 1.]]), ('7',))
    """
    checked_conditions = read_conditions(conditions)
    contest = read_contest(truth, forecasts, models, classes, costs, read_count(seed, "seed", least=0), groups)
    priced = contest.costs is not None or all(condition.typical == "drawn" for condition in checked_conditions)
    ranking = default_metrics(len(contest.classes), priced=priced) if metrics is None else read_metrics(metrics)
    read_choice(resample, "resample", RESAMPLE)
    numbers = range(read_count(replicates, "replicates", least=0) + 1)
    share = read_level(level)
    n_models = len(contest.models)
    n_rows = len(contest.truth)
    n_groups = int(contest.groups.max()) + 1
    by_condition: list[list[Findings]] = [[] for _ in checked_conditions]
    most_rankings = max(condition.rankings for condition in checked_conditions)
    step = max(1, TABLE_BYTES // (8 * n_models * most_rankings))
    blocks = [numbers[start : start + step] for start in range(0, len(numbers), step)]
    done = 0
    for block in blocks:
        cases = range(1) if resample == "models" else block  # one row where all replicates have the same instances
        counts = draw_counts(cases, n_groups, "instances", contest.seed)[:, contest.groups]
        drawn = draw_counts(block, n_models, "models", contest.seed)
        if resample == "instances":
            drawn = np.ones_like(drawn)
        seen: dict[Any, FloatArray] = {}
        for findings, condition in zip(by_condition, checked_conditions, strict=True):
            findings.append(_findings(contest, condition, ranking, np.asfortranarray(counts), drawn, seen))
            done += 1
            progress(done, len(blocks) * len(checked_conditions), condition.title)
    size = ContestSize(
        contest.models, tuple(map(str, contest.classes)), n_rows, n_groups if n_groups < n_rows else None
    )
    results = [
        _of_condition(condition, findings, ranking, n_models, share, keeps_instances=resample == "models")
        for condition, findings in zip(checked_conditions, by_condition, strict=True)
    ]
    return Agreement(
        SCHEMA,
        f"pandora-regret {__version__}",
        size,
        IntervalMethod(METHOD, share, len(numbers) - 1, resample, contest.seed),
        tuple(MetricTitle(metric.key, metric.title, metric.better) for metric in ranking),
        tuple(results),
    )


def _findings(
    contest: Contest,
    condition: Condition,
    metrics: Sequence[Metric],
    counts: FloatArray,
    drawn: FloatArray,
    seen: dict[Any, FloatArray],
) -> Findings:
    """What some replicates say about one condition.

    `counts` (R, N) is how often they drew each instance, `drawn` (R, M) how often each model; `seen` holds
    metrics that they have already computed: those that know no costs serve all conditions that look alike to them.
    """
    base = condition.weights(contest.truth, contest.classes)
    weights = counts * base
    look = (condition.temperature, condition.sigma, condition.per, condition.floor, base.tobytes())
    fresh = [metric for metric in metrics if metric.priced or (metric.key, look) not in seen]
    of_fresh, costs, rows = contest.measured(fresh, condition, weights)
    seen.update(zip(((metric.key, look) for metric in fresh), _rounded(of_fresh), strict=True))
    losses = np.stack([seen[metric.key, look] * (1 if metric.better == "lower" else -1) for metric in metrics])
    taus = replicate_taus(losses, _rounded(costs), drawn)
    bills = _rounded(weighted_means(rows[:, :, None], weights)[:, :, 0])
    dearer, picked = extra_costs(losses, bills, later_bills_of(rows, base, counts), drawn)
    constant = (losses[:, :, 0] == losses[:, :1, 0]).all(axis=1) | (costs[:, 0] == costs[0, 0]).all()
    model_names = np.array(contest.models, dtype=object)
    names = [tuple(model_names[models]) for models in picked]
    whole = _rounded(weighted_means(rows[:, :, None], base[None])[:, :, 0])
    tied = np.array([tied_share(values, whole[:, 0]) for values in losses[:, :, 0]])
    in_sample = np.repeat(whole[None], bills.shape[1], axis=2)
    stability = replicate_taus(in_sample, bills[:, :, None], drawn)[:, 0]
    return Findings(taus, dearer, constant, names, tied, stability)


def tied_share(values: FloatArray, bills: FloatArray) -> float:
    """The share of pairs of models to which a metric gives the same finite value, (M,), while their bills differ.

    Infinite values are left out: no number of instances would tell apart models that have once excluded the truth.

    Examples
    --------
    >>> tied_share(np.array([0.5, 0.5, 0.7, np.inf, np.inf]), np.array([1.0, 2.0, 3.0, 4.0, 5.0]))
    0.1
    """
    tied = (values[:, None] == values) & np.isfinite(values) & (bills[:, None] != bills)
    return float(tied.sum() / (len(values) * (len(values) - 1)))


def _rounded(values: FloatArray) -> FloatArray:
    """So many digits of each value of a stack, in place, so that equal means tie however they were summed.

    Digits are counted from each value's own first one: one model's huge value must not make the others tie.
    """
    for part in values:
        mantissa, exponent = np.frexp(part)
        np.ldexp(np.rint(np.ldexp(mantissa, DIGITS)), exponent - DIGITS, out=part)
    return values


def _of_condition(
    condition: Condition,
    parts: list[Findings],
    metrics: Sequence[Metric],
    n_models: int,
    level: float,
    *,
    keeps_instances: bool,
) -> ConditionResult:
    """Taus from replicate 0, the sample itself; extra costs, and all intervals, from the others."""
    signed = np.concatenate([part.taus for part in parts])
    dearer = np.concatenate([part.extra for part in parts])
    if len(signed) == 1:  # nothing is known about intervals, and no case was left out to be paid for
        signed = np.vstack([signed, np.full_like(signed, np.nan)])
        dearer = np.full_like(signed, np.nan)
    first = parts[0]
    tied = np.where(first.constant | keeps_instances, 0.0, first.tied)
    keys = [metric.key for metric in metrics]
    baseline = [keys.index(BASELINE)]
    taus = signed * np.where(signed[:1] < 0, -1, 1)  # the estimate's absolute value, and what is around it
    gaps = taus - taus[:, baseline]
    tied_in_either = tied + tied[baseline]
    tied_in_either[baseline] = 0.0
    low, high = interval_around(taus[0], taus[1:], items=n_models, level=level, tied=tied)
    gap_low, gap_high = interval_around(gaps[0], gaps[1:], items=n_models, level=level, tied=tied_in_either)
    low = np.maximum(low, 0)
    high = np.minimum(high, 1)
    gap_low = np.maximum(gap_low, low - high[baseline])  # further apart the two cannot be
    gap_high = np.minimum(gap_high, high - low[baseline])
    of_replicates = np.concatenate([part.stability for part in parts])[1:]
    stability = None if len(of_replicates) == 0 else float(of_replicates.mean())
    is_unstable = stability is not None and stability < LEAST_STABILITY
    warning = UNSTABLE if is_unstable and not first.constant.all() else None
    tau = _estimates(taus[0], low, high, warning)
    gap = _estimates(gaps[0], gap_low, gap_high, warning)
    with np.errstate(invalid="ignore"):  # infinite bills on both sides: there is no difference
        extra = _means_of_replicates(dearer[1:], n_models, level)
        extra_gap = _means_of_replicates(dearer[1:] - dearer[1:, baseline], n_models, level)
    is_reversed = (signed[0] < 0).tolist()
    cells = zip(keys, first.constant.tolist(), is_reversed, tau, gap, extra, extra_gap, first.picked, strict=True)
    return ConditionResult(
        condition.name,
        condition.title,
        condition.unit,
        1 if condition.prior is None else condition.draws,
        tuple(MetricResult(*cell) for cell in cells),
        condition.reading,
        stability,
    )


def _estimates(values: FloatArray, low: FloatArray, high: FloatArray, warning: str | None) -> list[Estimate]:
    """One for each metric, from three arrays (Q,), and what speaks against trusting all of them."""
    return [
        Estimate(number_of(value), number_of(start), number_of(end), warning)
        for value, start, end in zip(values, low, high, strict=True)
    ]


def _means_of_replicates(replicates: FloatArray, n_models: int, level: float) -> list[ExtraCost]:
    """The mean of some amounts over replicates, (R, Q), and an interval as wide as single replicates scatter.

    That is wider than the mean's own error: what one choice from one sample may turn out to cost lies in it, and
    so does, in all simulations, what choosing costs on average.
    """
    means = replicates.mean(axis=0)
    low, high = interval_around(means, replicates, items=n_models, level=level)
    return [ExtraCost(*map(number_of, ends)) for ends in zip(means, low, high, strict=True)]
