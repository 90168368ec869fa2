"""Which metric picks the model that is cheapest to deploy: Kendall's tau, its gaps, and the regret of choosing.

The bootstrap is paired throughout: a replicate draws the same instances and the same models for all metrics and
all conditions. Replicate 0 is the sample itself; every other one depends on the seed and its own number alone, so
that they may be computed in any order and in blocks of any size. All replicates of a mean are one matrix product;
forecasts are changed and searched some models at a time, so memory holds one condition's table of costs and little
else.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pandora_regret._version import __version__
from pandora_regret.inference.intervals import interval_around, percentiles
from pandora_regret.inference.keyed import keyed_generator
from pandora_regret.inputs import FloatArray, Labels, read_choice, read_count
from pandora_regret.inputs.numbers import read_level
from pandora_regret.metrics import BASELINE, Metric, default_metrics, read_metrics
from pandora_regret.study.conditions import PAPER_CONDITIONS, Condition, read_conditions
from pandora_regret.study.contest import Contest, read_contest
from pandora_regret.study.ranking import excess_costs, regrets_of_choosing, replicate_taus
from pandora_regret.study.results import (
    SCHEMA,
    Agreement,
    ConditionResult,
    ContestSize,
    Figure,
    IntervalMethod,
    MetricResult,
    MetricTitle,
    Regret,
    number_of,
)

Resample: TypeAlias = Literal["instances", "models", "both"]
Progress: TypeAlias = Callable[[int, int, str], None]

RESAMPLE = {
    "instances": "other cases, the same models",
    "models": "other models, the same cases",
    "both": "other cases and other models",
}
METHOD = "bias and spread"  # of the intervals of tau and gaps
TABLE_BYTES = 1 << 29  # of one condition's costs: of all models and draws, and as many replicates as fit
Findings: TypeAlias = tuple[FloatArray, FloatArray, NDArray[np.bool_], list[tuple[str, ...]]]

DIGITS = 40  # binary: values that agree in so many are ties, however their sums were rounded


def draw_counts(numbers: range, n_items: int, what: str, seed: int) -> FloatArray:
    """How often each of some replicates draws each item, (R, n)."""

    def draw(number: int) -> FloatArray:
        drawn = keyed_generator(seed, what, number).integers(0, n_items, n_items)
        return np.bincount(drawn, minlength=n_items).astype(np.float64)

    return np.stack([draw(number) if number > 0 else np.ones(n_items) for number in numbers])


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
    progress: Progress | None = None,
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
        Called with how much is done, of how much, and the condition's title.

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
    contest = read_contest(truth, forecasts, models, classes, costs, read_count(seed, "seed", least=0), groups)
    priced = contest.costs is not None or all(condition.typical == "drawn" for condition in asked)
    by = default_metrics(len(contest.classes), priced=priced) if metrics is None else read_metrics(metrics)
    read_choice(resample, "resample", RESAMPLE)
    numbers, share = range(read_count(replicates, "replicates", least=0) + 1), read_level(level)
    n_models, n_groups, done = len(contest.models), int(contest.groups.max()) + 1, 0
    by_condition: list[list[Findings]] = [[] for _ in asked]
    step = max(1, TABLE_BYTES // (8 * n_models * max(condition.rankings for condition in asked)))
    blocks = [numbers[start : start + step] for start in range(0, len(numbers), step)]

    def advance(what: str, more: int) -> None:
        nonlocal done
        done += more
        if progress is not None:
            progress(done, len(blocks) * len(asked) * n_models, what)

    for block in blocks:
        cases = range(1) if resample == "models" else block  # one row where all replicates have the same instances
        counts = draw_counts(cases, n_groups, "instances", contest.seed)[:, contest.groups]
        drawn = draw_counts(block, n_models, "models", contest.seed)
        drawn = np.ones_like(drawn) if resample == "instances" else drawn
        seen: dict[Any, FloatArray] = {}
        for of_condition, condition in zip(by_condition, asked, strict=True):
            how = (contest, condition, by, np.asfortranarray(counts), drawn, seen)
            of_condition.append(_findings(*how, partial(advance, condition.title)))
    return Agreement(
        SCHEMA,
        f"pandora-regret {__version__}",
        ContestSize(
            contest.models,
            tuple(map(str, contest.classes)),
            len(contest.truth),
            n_groups if n_groups < len(contest.truth) else None,
        ),
        IntervalMethod(METHOD, share, len(numbers) - 1, resample, contest.seed),
        tuple(MetricTitle(metric.key, metric.title, metric.better) for metric in by),
        tuple(
            _of_condition(condition, parts, by, n_models, share)
            for condition, parts in zip(asked, by_condition, strict=True)
        ),
    )


def _findings(
    contest: Contest,
    condition: Condition,
    metrics: Sequence[Metric],
    counts: FloatArray,
    drawn: FloatArray,
    seen: dict[Any, FloatArray],
    advance: Callable[[int], None],
) -> Findings:
    """What some replicates say about one condition.

    `counts` (R, N) is how often they drew each instance, `drawn` (R, M) how often each model; `seen` holds
    metrics that they have already computed: those that know no costs serve all conditions that look alike to them.
    """
    base = condition.weights(contest.truth, contest.classes)
    weights = counts * base
    look = (condition.temperature, condition.temperature and condition.sigma, base.tobytes())
    fresh = [metric for metric in metrics if metric.priced or (metric.key, look) not in seen]
    if fresh:
        of_fresh = _rounded(contest.metric_values(fresh, condition, weights))
        seen.update({(metric.key, look): of_metric for metric, of_metric in zip(fresh, of_fresh, strict=True)})
    values = np.stack([seen[metric.key, look] for metric in metrics])
    costs, rows = contest.search_costs(condition, weights, advance)
    taus = replicate_taus(values, _rounded(costs), drawn)
    excess = excess_costs(rows, base, counts, drawn, contest.groups)
    regrets, picked = regrets_of_choosing(metrics, values, excess, drawn)
    constant = (values[:, :, 0] == values[:, :1, 0]).all(axis=1) | (costs[:, 0] == costs[0, 0]).all()
    names = [tuple(contest.models[index] for index in models) for models in picked]
    return taus, regrets, constant, names


def _rounded(values: FloatArray) -> FloatArray:
    """So many digits of each value of a stack, in place, so that equal means tie however they were summed.

    Digits are counted from each value's own first one: one model's huge value must not make the others tie.
    """
    for part in values:
        mantissa, exponent = np.frexp(part)
        np.ldexp(np.rint(np.ldexp(mantissa, DIGITS)), exponent - DIGITS, out=part)
    return values


def _of_condition(
    condition: Condition, parts: list[Findings], metrics: Sequence[Metric], n_models: int, level: float
) -> ConditionResult:
    """Values from replicate 0, the sample itself, and intervals from the others."""
    signed, regrets = (np.concatenate(some) for some in list(zip(*parts, strict=True))[:2])
    _, _, constant, picked = parts[0]
    is_reversed = signed[0] * [1 if metric.better == "lower" else -1 for metric in metrics] < 0
    keys = [metric.key for metric in metrics]
    baseline = keys.index(BASELINE)
    taus = signed * np.where(signed[:1] < 0, -1, 1)  # the estimate's absolute value, and what is around it
    gaps = taus - taus[:, [baseline]]
    (low, high), (gap_low, gap_high) = (
        interval_around(each[:1], each[None, 1:], items=n_models, level=level) for each in (taus, gaps)
    )
    low, high = np.maximum(low, 0), np.minimum(high, 1)
    gap_low = np.maximum(gap_low, low - high[:, [baseline]])  # further apart the two cannot be
    gap_high = np.minimum(gap_high, high - low[:, [baseline]])
    with np.errstate(invalid="ignore"):  # infinite bills on both sides: there is no mean
        mean = regrets[1:].mean(axis=0) if len(regrets) > 1 else np.full_like(regrets[0], np.nan)
    paid = [ends[0] for ends in percentiles(regrets[None, 1:], level)]
    tau, gap, regret = (
        [kind(*map(number_of, ends)) for ends in zip(*columns, strict=True)]
        for kind, *columns in (
            (Figure, taus[0], low[0], high[0]),
            (Figure, gaps[0], gap_low[0], gap_high[0]),
            (Regret, regrets[0], *paid, mean),
        )
    )
    cells = zip(keys, constant.tolist(), is_reversed.tolist(), tau, gap, regret, picked, strict=True)
    return ConditionResult(
        condition.name,
        condition.title,
        condition.unit,
        1 if condition.prior is None else condition.draws,
        tuple(MetricResult(*cell) for cell in cells),
        condition.reading,
    )
