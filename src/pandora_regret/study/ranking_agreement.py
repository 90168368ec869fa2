"""Which metric picks the model that is cheapest to deploy: Kendall's tau, its gaps, and what choosing costs.

The bootstrap is paired throughout: a replicate draws the same instances and the same models for all metrics and
all conditions. Replicate 0 is the sample itself; every other one depends on the seed and its own number alone, so
that they may be computed in any order and in blocks of any size. All replicates of a mean are one matrix product;
forecasts are changed and searched some models at a time, so memory holds one condition's table of costs and little
else.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pandora_regret._version import __version__
from pandora_regret.core.inputs import (
    ByClass,
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
from pandora_regret.study.conditions import (
    PAPER_CONDITIONS,
    ClassNames,
    Condition,
    ConditionLike,
    read_conditions,
)
from pandora_regret.study.results import (
    SCHEMA,
    Agreement,
    ConditionResult,
    ExtraCost,
    MetricResult,
    MetricTitle,
    ModelSetSize,
    Resampling,
    as_number,
)
from pandora_regret.study.store import number_resampled_groups


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
    n_compared = len(counts) * (n_metrics + costs.shape[2]) * n_models**2
    if not worth_compiling(n_compared // 2):
        return _plain_taus(metrics, costs, counts)
    from pandora_regret.study import ranking_loops

    taus = np.empty((len(counts), n_metrics))

    def compare(replicates: slice) -> None:
        cases = replicates if n_cases > 1 else slice(None)
        ranking_loops.replicate_taus(metrics[:, :, cases], costs[:, cases], counts[replicates], taus[replicates])

    in_threads(compare, len(counts), n_compared // 2)
    return taus


def _plain_taus(metrics: FloatArray, costs: FloatArray, counts: FloatArray) -> FloatArray:
    """`replicate_taus` by its definition: which of two models is ahead, in all rankings."""
    n_metrics, _, n_cases = metrics.shape
    taus = np.empty((len(counts), n_metrics))
    for r, drawn in enumerate(counts):
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
    paid_by_bills, _ = _paid_by_choice(bills, later_bills, drawn)
    paid = []
    picked = []
    for loss in losses:
        of_metric, chosen = _paid_by_choice(loss, later_bills, drawn)
        paid.append(of_metric)
        picked.append(np.flatnonzero(chosen[0]))
    with np.errstate(invalid="ignore"):  # infinite on both sides
        return np.stack(paid, axis=1) - paid_by_bills[:, None], picked


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
FEWEST_MODELS = 8  # below which intervals about other models on the same instances are too narrow in simulations
FEW_MODELS = "so few models say too little about others: how well metrics agree cannot be told"
UNSTABLE = "other instances rank these models by cost too differently: how well metrics agree cannot be told"
TABLE_BYTES = 1 << 29  # of one condition's costs: of all models and draws, and as many replicates as fit

BATCH_ELEMENTS = 1 << 20  # forecasts, or bills, of as many models as fit are computed at once
ROUNDED_SUM = 1e-9  # of double precision, also of a hundred thousand classes
DIGITS_COMPARED = 40  # binary: values that agree in so many are ties, however their sums were rounded


MetricLike: TypeAlias = Metric | str | Mapping[str, object]  # a metric, its key, or a table that describes one
# what a metric that knows no costs sees of a condition: temperature, sigma, per, floor and weights of instances
Look: TypeAlias = tuple[str | None, float, str, float, bytes]
Seen: TypeAlias = dict[tuple[str, Look], FloatArray]  # a metric's values, (M, R), by its key and by what it sees


class Draws(NamedTuple):
    """How often some replicates draw what there is."""

    instances: FloatArray  # (R, N), or (1, N) where all have the same
    models: FloatArray  # (R, M)


class ReplicateLosses(NamedTuple):
    """What some replicates say of models under one condition; values that differ by rounding are made equal."""

    losses: FloatArray  # (Q, M, R) what metrics say, lower is better
    costs: FloatArray  # (M, R, D) what searches cost, once for each ranking by cost
    rows: FloatArray  # (M, N) what each instance's search costs, averaged over cost vectors


class ConditionReplicates(NamedTuple):
    """What some replicates say about one condition."""

    taus: FloatArray  # (R, Q), below zero where a metric ranks models the wrong way round
    extra: FloatArray  # (R, Q) extra costs
    constant: NDArray[np.bool_]  # (Q,) whether the metric, or the cost, is the same for all models
    picked: list[Names]  # by metric: the models that it holds to be best in the first of the replicates
    infinite: IntArray  # (Q,) how many models have an infinite value in the first of the replicates
    tied: FloatArray  # (Q,) the share of pairs of models that the metric ties in the first of them
    stability: FloatArray  # (R,) tau of what models cost in the replicates with what they cost in the sample


class ModelSet(NamedTuple):
    """Models, in the order of their names, that predict the same instances."""

    truth: IntArray  # (N,)
    forecasts: NDArray[np.generic]  # (M, N, K) floats
    models: Names  # (M,)
    classes: ClassNames  # (K,)
    costs: FloatArray | None  # (K,) clinical costs
    seed: int
    groups: IntArray  # (N,) numbers of groups, whose instances replicates draw together

    @property
    def n_groups(self) -> int:
        """How many groups there are; each instance is one of its own where none were given."""
        return int(self.groups.max()) + 1

    @property
    def size(self) -> ModelSetSize:
        """What is compared on what."""
        n_rows = len(self.truth)
        groups = self.n_groups if self.n_groups < n_rows else None
        return ModelSetSize(self.models, tuple(map(str, self.classes)), n_rows, groups)

    def draws(self, block: range, resample: Resample) -> Draws:
        """What some replicates draw, by their numbers."""
        numbers = range(1) if resample == "models" else block
        of_groups = draw_counts(numbers, self.n_groups, "instances", self.seed)
        instances = np.asfortranarray(of_groups[:, self.groups])
        if resample == "instances":
            return Draws(instances, np.ones((len(block), len(self.models))))
        return Draws(instances, draw_counts(block, len(self.models), "models", self.seed))

    def batches(self, condition: Condition, per_row: int) -> Iterator[tuple[slice, FloatArray]]:
        """Some models at a time, so many that `per_row` numbers for each row fit, and their forecasts, (B, N, K).

        In float64, and rows sum to 1 again, where a shorter float took digits from them. Other rows stay as they
        are: their sums are off by what rounding left in this order of columns, and to divide by those would part
        equal probabilities of two rows.
        """
        most = max(1, BATCH_ELEMENTS // (self.truth.size * per_row))
        for start in range(0, len(self.models), most):
            models = slice(start, start + most)
            table = self.forecasts[models].astype(np.float64)
            sums = table.sum(axis=-1, keepdims=True)
            table /= np.where(abs(sums - 1) <= ROUNDED_SUM, 1.0, sums)
            yield models, condition.changed(self.truth, table, self.models[models], self.seed)

    def measured(
        self, metrics: Sequence[Metric], condition: Condition, weights: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Every metric of every model under every row of weights, (Q, M, R).

        Also what the model's searches cost, once for each ranking by cost, (M, R, D); and what they cost each
        instance, averaged over cost vectors, (M, N).
        """
        costs = condition.cost_draws(self.costs, self.classes, self.seed, len(self.truth))
        typical = None
        if any(metric.priced for metric in metrics):
            typical = condition.typical_costs(self.costs, self.classes)
        values = np.empty((len(metrics), len(self.models), len(weights)))
        means = np.empty((len(self.models), len(weights), condition.rankings))
        rows = np.empty((len(self.models), len(self.truth)))
        for models, proba in self.batches(condition, max(len(self.classes), len(costs))):
            for metric, of_models in zip(metrics, values, strict=True):
                of_models[models] = metric.of_models(self.truth, proba, weights, typical)
            bills = self._bills(condition, proba, costs)
            rows[models] = bills.mean(axis=0)
            ranked = rows[None, models] if condition.rankings == 1 else bills
            means[models] = weighted_means(np.moveaxis(ranked, 0, 2), weights)
        return values, means, rows

    def _bills(self, condition: Condition, proba: FloatArray, costs: FloatArray) -> FloatArray:
        """What searches by some models, (B, N, K), cost each instance under each cost vector, (D, B, N)."""
        truths = np.tile(self.truth, len(proba))
        stacked = proba.reshape(-1, len(self.classes))
        bills = condition.bills(truths, stacked, costs, self.classes)
        return bills.reshape(len(costs), *proba.shape[:2])


def read_model_set(
    truth: Labels,
    forecasts: ArrayLike,
    models: Sequence[str] | None,
    classes: Sequence[str] | None,
    costs: ByClass | None,
    seed: int,
    groups: ArrayLike | None = None,
) -> ModelSet:
    """Models and instances, checked, from the arguments of `agreement`."""
    array = read_array(forecasts, "forecasts")
    if array.ndim != 3 or any(np.less(array.shape, (2, 1, 2))) or array.dtype.kind != "f":
        problem = f"has shape {array.shape} and dtype {array.dtype}"
        fix = "pass probabilities of at least two models, (models, instances, classes)"
        raise InputError(problem, argument="forecasts", value=array.shape, fix=fix)
    n_models, n_rows, n_classes = array.shape
    names = _read_names(models, n_models, "models")
    listed: ClassNames = tuple(range(n_classes))
    if classes is not None:
        listed = _read_names(classes, n_classes, "classes")
    for name, table in zip(names, array, strict=True):
        read_probabilities(table, name=f"forecasts of {name!r}").check()
    order = sorted(range(n_models), key=names.__getitem__)
    priced = None if costs is None else read_costs(costs, listed)
    column = read_truth(truth, range(n_classes), n_rows)
    numbers = number_resampled_groups(groups, n_rows)
    grouped = np.arange(n_rows) if numbers is None else numbers
    return ModelSet(column, np.asarray(array[order]), tuple(sorted(names)), listed, priced, seed, grouped)


def _read_names(names: Sequence[str] | None, count: int, argument: str) -> Names:
    """So many names, each once; numbers where none were given."""
    listed = tuple(map(str, read_labels(range(count) if names is None else list(names), argument)))
    if len(listed) != count:
        problem = f"has {len(listed)} entries but forecasts have {count}"
        raise InputError(problem, argument=argument, value=len(listed), fix="name each of them")
    return listed


def draw_counts(numbers: range, n_items: int, kind: str, seed: int) -> FloatArray:
    """How often each of some replicates draws each item of a kind, "instances" or "models", (R, n)."""
    counts = np.ones((len(numbers), n_items))
    for drawn, number in zip(counts, numbers, strict=True):
        if number > 0:
            items = keyed_generator(seed, kind, number).integers(0, n_items, n_items)
            drawn[:] = np.bincount(items, minlength=n_items)
    return counts


def agreement(
    truth: Labels,
    forecasts: ArrayLike,
    *,
    models: Sequence[str] | None = None,
    classes: Sequence[str] | None = None,
    groups: ArrayLike | None = None,
    costs: ByClass | None = None,
    conditions: Iterable[ConditionLike] = PAPER_CONDITIONS,
    metrics: Iterable[MetricLike] | None = None,
    replicates: int = 1000,
    resample: Resample = "instances",
    level: float = 0.95,
    seed: int = 42,
    progress: Callable[[int, int, str], object] = lambda done, total, condition: None,
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
    asked = read_conditions(conditions)
    model_set = read_model_set(truth, forecasts, models, classes, costs, read_count(seed, "seed", least=0), groups)
    priced = model_set.costs is not None or all(condition.typical == "drawn" for condition in asked)
    ranking = default_metrics(len(model_set.classes), priced=priced) if metrics is None else read_metrics(metrics)
    read_choice(resample, "resample", RESAMPLE)
    n_replicates = read_count(replicates, "replicates", least=0)
    interval = Resampling(METHOD, read_level(level), n_replicates, resample, model_set.seed)
    found = _all_findings(model_set, asked, ranking, interval, progress)
    results = []
    for condition, findings in zip(asked, found, strict=True):
        results.append(_of_condition(condition, findings, ranking, interval, len(model_set.models)))
    return Agreement(
        SCHEMA,
        f"pandora-regret {__version__}",
        model_set.size,
        interval,
        tuple(MetricTitle(metric.key, metric.title, metric.better) for metric in ranking),
        tuple(results),
    )


def _all_findings(
    model_set: ModelSet,
    conditions: Sequence[Condition],
    metrics: Sequence[Metric],
    interval: Resampling,
    progress: Callable[[int, int, str], object],
) -> list[ConditionReplicates]:
    """What the sample itself, replicate 0, and all others say about each condition."""
    parts: list[list[ConditionReplicates]] = [[] for _ in conditions]
    most_rankings = max(condition.rankings for condition in conditions)
    step = max(1, TABLE_BYTES // (8 * len(model_set.models) * most_rankings))
    numbers = range(interval.replicates + 1)
    blocks = [numbers[start : start + step] for start in range(0, len(numbers), step)]
    done = 0
    for block in blocks:
        draws = model_set.draws(block, interval.resample)
        seen: Seen = {}
        for findings, condition in zip(parts, conditions, strict=True):
            findings.append(_findings(model_set, condition, metrics, draws, seen))
            done += 1
            progress(done, len(blocks) * len(conditions), condition.heading)
    return [_join_replicates(findings) for findings in parts]


def _findings(
    model_set: ModelSet, condition: Condition, metrics: Sequence[Metric], draws: Draws, seen: Seen
) -> ConditionReplicates:
    """What some replicates say about one condition; `seen` holds values of metrics that know no costs."""
    base = condition.weights(model_set.truth, model_set.classes)
    weights = draws.instances * base
    losses, costs, rows = _measured(model_set, condition, metrics, weights, seen)
    bills = _mean_model_costs(rows, weights)
    extra, picked = extra_costs(losses, bills, later_bills_of(rows, base, draws.instances), draws.models)
    all_models = np.array(model_set.models, dtype=object)
    in_sample = _mean_model_costs(rows, base[None])
    in_sample_each_time = np.repeat(in_sample[None], bills.shape[1], axis=2)
    return ConditionReplicates(
        taus=replicate_taus(losses, costs, draws.models),
        extra=extra,
        constant=_tells_none_apart(losses, costs),
        picked=[tuple(all_models[models]) for models in picked],
        infinite=np.isinf(losses[:, :, 0]).sum(axis=1),
        tied=np.array([tied_share(values, in_sample[:, 0]) for values in losses[:, :, 0]]),
        stability=replicate_taus(in_sample_each_time, bills[:, :, None], draws.models)[:, 0],
    )


def _tells_none_apart(losses: FloatArray, costs: FloatArray) -> NDArray[np.bool_]:
    """Whether each metric, or the cost, is the same for all models in the first replicate, (Q,)."""
    is_same_loss = (losses[:, :, 0] == losses[:, :1, 0]).all(axis=1)
    is_same_cost = (costs[:, 0] == costs[0, 0]).all()
    return np.asarray(is_same_loss | is_same_cost)


def _measured(
    model_set: ModelSet, condition: Condition, metrics: Sequence[Metric], weights: FloatArray, seen: Seen
) -> ReplicateLosses:
    """All models under rows of weights, (R, N).

    Metrics that know no costs are computed once for all conditions that look alike to them; `seen` holds them.
    """
    prevalence = condition.weights(model_set.truth, model_set.classes).tobytes()
    look = (condition.temperature, condition.sigma, condition.per, condition.floor, prevalence)
    fresh = [metric for metric in metrics if metric.priced or (metric.key, look) not in seen]
    values_of_fresh, costs, rows = model_set.measured(fresh, condition, weights)
    for metric, values in zip(fresh, _rounded(values_of_fresh), strict=True):
        seen[metric.key, look] = values
    losses = []
    for metric in metrics:
        values = seen[metric.key, look]
        losses.append(values if metric.better == "lower" else -values)
    return ReplicateLosses(np.stack(losses), _rounded(costs), rows)


def _mean_model_costs(rows: FloatArray, weights: FloatArray) -> FloatArray:
    """Models' mean costs under rows of weights, (M, R), from what searches cost each instance, (M, N)."""
    return _rounded(weighted_means(rows[:, :, None], weights)[:, :, 0])


def _join_replicates(parts: Sequence[ConditionReplicates]) -> ConditionReplicates:
    """All replicates of a condition: what holds of the sample itself is found in the first part."""
    return parts[0]._replace(
        taus=np.concatenate([part.taus for part in parts]),
        extra=np.concatenate([part.extra for part in parts]),
        stability=np.concatenate([part.stability for part in parts]),
    )


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
        np.ldexp(np.rint(np.ldexp(mantissa, DIGITS_COMPARED)), exponent - DIGITS_COMPARED, out=part)
    return values


def _of_condition(
    condition: Condition,
    found: ConditionReplicates,
    metrics: Sequence[Metric],
    interval: Resampling,
    n_models: int,
) -> ConditionResult:
    """Taus from replicate 0, the sample itself; extra costs, and all intervals, from the others."""
    keys = [metric.key for metric in metrics]
    baseline = keys.index(BASELINE)
    stability = float(found.stability[1:].mean()) if interval.replicates else None
    warning = None
    if not found.constant.all():
        warning = _warning_of_intervals(stability, interval.resample, n_models)
    taus, gaps = _taus_and_gaps(found, baseline, interval, n_models, warning)
    extra = found.extra[1:]
    with np.errstate(invalid="ignore"):  # infinite bills on both sides: there is no difference
        extra_means = _means_of_replicates(extra, n_models, interval)
        gap_means = _means_of_replicates(extra - extra[:, [baseline]], n_models, interval)
    results = []
    for number, key in enumerate(keys):
        result = MetricResult(
            key=key,
            constant=bool(found.constant[number]),
            reversed=bool(found.taus[0, number] < 0),
            tau=taus[number],
            gap=gaps[number],
            extra_cost=extra_means[number],
            extra_cost_gap=gap_means[number],
            picked=found.picked[number],
            infinite=int(found.infinite[number]),
        )
        results.append(result)
    return ConditionResult(
        condition.name,
        condition.heading,
        condition.unit,
        1 if condition.prior is None else condition.draws,
        tuple(results),
        condition.reading,
        stability,
    )


def _warning_of_intervals(stability: float | None, resample: Resample, n_models: int) -> str | None:
    """Why intervals of tau are not to be trusted; None where nothing speaks against them."""
    if stability is None:
        return None
    if stability < LEAST_STABILITY:
        return UNSTABLE
    if resample == "models" and n_models < FEWEST_MODELS:
        return FEW_MODELS
    return None


def _taus_and_gaps(
    found: ConditionReplicates, baseline: int, interval: Resampling, n_models: int, warning: str | None
) -> tuple[list[Estimate], list[Estimate]]:
    """|tau| of each metric, and that minus the |tau| of the metric at place `baseline`, with their intervals."""
    sign_in_sample = np.where(found.taus[0] < 0, -1, 1)  # the estimate's absolute value, and what is around it
    taus = found.taus * sign_in_sample
    gaps = taus - taus[:, [baseline]]
    tied = found.tied
    if interval.resample == "models":  # the same instances would tie them again
        tied = np.zeros_like(tied)
    tied = np.where(found.constant, 0.0, tied)
    tied_in_either = tied + tied[baseline]
    tied_in_either[baseline] = 0.0
    if interval.replicates == 0:
        unknown = np.full_like(taus[0], np.nan)
        return _estimates(taus[0], unknown, unknown, warning), _estimates(gaps[0], unknown, unknown, warning)
    level = interval.level
    low, high = interval_around(taus[0], taus[1:], items=n_models, level=level, tied=tied)
    if interval.resample == "instances":
        further = np.where(found.constant, 0.0, reach_above(found.stability[1:]))
        high = np.maximum(high, taus[0] + further)
    gap_low, gap_high = interval_around(gaps[0], gaps[1:], items=n_models, level=level, tied=tied_in_either)
    low = np.maximum(low, 0)
    high = np.minimum(high, 1)
    gap_low = np.maximum(gap_low, low - high[baseline])  # further apart the two cannot be
    gap_high = np.minimum(gap_high, high - low[baseline])
    return _estimates(taus[0], low, high, warning), _estimates(gaps[0], gap_low, gap_high, warning)


def reach_above(stability: FloatArray) -> float:
    """How far above its estimate the tau of the same models over all instances may lie.

    Chance makes two rankings that agree differ. Where models differ in skill alone, all rankings are the same in
    the long run, and tau is 1; a few hundred instances do not show it, nor do replicates of them, which may lie
    close to an estimate that is far too low. What they do show is how far chance moves a ranking. The share of
    pairs that two rankings order differently is a distance (Kendall's), so by the triangle inequality chance moves
    tau by no more than it moves both rankings. How far it moves the one by bills is 1 - `stability`, the taus of
    replicates' rankings with the sample's, (R,); the metric's is taken to move as far.
    """
    return float(2 * (1 - stability.mean()))


def _estimates(values: FloatArray, low: FloatArray, high: FloatArray, warning: str | None) -> list[Estimate]:
    """One for each metric, from three arrays (Q,), and what speaks against trusting all of them."""
    estimates = []
    for value, start, end in zip(values.tolist(), low.tolist(), high.tolist(), strict=True):
        estimates.append(Estimate(_if_known(value), _if_known(start), _if_known(end), warning))
    return estimates


def _if_known(value: float) -> float | None:
    """None instead of NaN."""
    return None if math.isnan(value) else value


def _means_of_replicates(replicates: FloatArray, n_models: int, interval: Resampling) -> list[ExtraCost]:
    """The mean of some amounts over replicates, (R, Q), and an interval as wide as single replicates scatter.

    That is wider than the mean's own error: what one choice from one sample may turn out to cost lies in it, and
    so does, in all simulations, what choosing costs on average. Nothing is known without replicates, where no case
    was left out to be paid for.
    """
    if len(replicates) == 0:
        return [ExtraCost(None, None, None)] * replicates.shape[1]
    means = replicates.mean(axis=0)
    low, high = interval_around(means, replicates, items=n_models, level=interval.level)
    amounts = zip(means, low, high, strict=True)
    return [ExtraCost(as_number(mean), as_number(start), as_number(end)) for mean, start, end in amounts]
