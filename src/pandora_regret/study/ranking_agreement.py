"""Which metric picks the model that is cheapest to deploy: Kendall's tau, its gaps, and the regret of choosing.

The bootstrap is paired throughout: a replicate draws the same instances and the same models for all metrics and
all conditions. Replicate 0 is the sample itself; every other one depends on the seed and its own number alone, so
that they may be computed in any order and in blocks of any size. All replicates of a mean are one matrix product;
forecasts are changed and searched some models at a time, so memory holds one condition's table of costs and little
else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
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
from pandora_regret.study.ranking import excess_costs, picked_models, regret_of, replicate_taus
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
DIGITS = 40  # binary: values that agree in so many are ties, however their sums were rounded


@dataclass(frozen=True)
class Replicates:
    """Some replicates: what they drew, and the metrics already computed of that."""

    counts: FloatArray  # (R, N), one instance's side by side; one row where all replicates have the same instances
    drawn: FloatArray  # (R, M)
    seen: dict[Any, FloatArray] = field(default_factory=dict)

    @classmethod
    def draw(cls, numbers: range, contest: Contest, resample: str) -> Replicates:
        """The replicates of these numbers."""
        cases = range(1) if resample == "models" else numbers
        counts = draw_counts(cases, contest.n_groups, "instances", contest.seed)[:, contest.groups]
        everyone = np.ones((len(numbers), len(contest.models)))
        drawn = draw_counts(numbers, len(contest.models), "models", contest.seed)
        return cls(np.asfortranarray(counts), everyone if resample == "instances" else drawn)


def draw_counts(numbers: range, n_items: int, what: str, seed: int) -> FloatArray:
    """How often each of some replicates draws each item, (R, n)."""

    def draw(number: int) -> FloatArray:
        drawn = keyed_generator(seed, what, number).integers(0, n_items, n_items)
        return np.bincount(drawn, minlength=n_items).astype(np.float64)

    return np.stack([draw(number) if number > 0 else np.ones(n_items) for number in numbers])


@dataclass(frozen=True)
class Findings:
    """What some replicates say about one condition."""

    taus: FloatArray  # (R, Q)
    regrets: FloatArray  # (R, Q)
    constant: NDArray[np.bool_]  # (Q,) in the first of them
    picked: tuple[tuple[str, ...], ...]  # by each metric in the first of them
    n_models: int


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
    by_condition: list[list[Findings]] = [[] for _ in asked]
    largest = 8 * len(contest.models) * max(condition.rankings for condition in asked)  # bytes per replicate
    step = max(1, TABLE_BYTES // largest)
    blocks = [numbers[start : start + step] for start in range(0, len(numbers), step)]
    advance = _steps(progress, len(blocks) * len(asked) * len(contest.models))
    for block in blocks:
        resampled = Replicates.draw(block, contest, resample)
        for of_condition, condition in zip(by_condition, asked, strict=True):
            of_condition.append(_findings(contest, condition, by, resampled, advance))
    n_groups = contest.n_groups if contest.n_groups < len(contest.truth) else None
    results = [_of_condition(*pair, by, share) for pair in zip(asked, by_condition, strict=True)]
    return Agreement(
        SCHEMA,
        f"pandora-regret {__version__}",
        ContestSize(contest.models, tuple(map(str, contest.classes)), len(contest.truth), n_groups),
        IntervalMethod(METHOD, share, len(numbers) - 1, resample, contest.seed),
        tuple(MetricTitle(metric.key, metric.title, metric.better) for metric in by),
        tuple(results),
    )


def _steps(progress: Progress | None, total: int) -> Callable[[int, str], None]:
    """Adds up what was done, and says so."""
    done = 0

    def advance(more: int, what: str) -> None:
        nonlocal done
        done += more
        if progress is not None:
            progress(done, total, what)

    return advance


def _findings(
    contest: Contest,
    condition: Condition,
    metrics: Sequence[Metric],
    resampled: Replicates,
    advance: Callable[[int, str], None],
) -> Findings:
    base = condition.weights(contest.truth, contest.classes)
    weights = resampled.counts * base
    values = _metric_values(contest, condition, metrics, resampled, weights)
    costs, rows = contest.search_costs(condition, weights, lambda more: advance(more, condition.title))
    _round(costs)
    taus = replicate_taus(values, costs, resampled.drawn)
    excess = excess_costs(rows, base, resampled.counts, resampled.drawn, contest.groups)
    picked = [picked_models(m, v, resampled.drawn) for m, v in zip(metrics, values, strict=True)]
    regrets = [regret_of(models, excess, resampled.drawn) for models in picked]
    constant = _is_constant(values[:, :, 0]) | _is_constant(costs[:, 0].T).all()
    names = tuple(tuple(contest.models[index] for index in np.flatnonzero(models[0])) for models in picked)
    return Findings(taus, np.stack(regrets, axis=1), constant, names, len(contest.models))


def _metric_values(
    contest: Contest, condition: Condition, metrics: Sequence[Metric], resampled: Replicates, weights: FloatArray
) -> FloatArray:
    """All metrics, (Q, M, R); those that know no costs once for all conditions that look alike to them."""
    look = (condition.temperature, condition.temperature and condition.sigma, weights[:1].tobytes())
    unpriced = [metric for metric in metrics if not metric.priced]
    if look not in resampled.seen:
        resampled.seen[look] = contest.metric_values(unpriced, condition, weights)
        _round(resampled.seen[look].transpose(1, 2, 0))
    priced = [metric for metric in metrics if metric.priced]
    if not priced:
        return resampled.seen[look]
    with_costs = contest.metric_values(priced, condition, weights)
    _round(with_costs.transpose(1, 2, 0))
    by_key = dict(zip([m.key for m in unpriced + priced], [*resampled.seen[look], *with_costs], strict=True))
    return np.stack([by_key[metric.key] for metric in metrics])


def _round(values: FloatArray) -> None:
    """Keep so many digits of each of (M, R, D) values, in place, so that equal means tie however they were summed.

    Digits are counted from each value's own first one: one model's huge value must not make the others tie.
    """
    for of_model in values:
        mantissa, exponent = np.frexp(of_model)
        np.ldexp(np.rint(np.ldexp(mantissa, DIGITS)), exponent - DIGITS, out=of_model)


def _is_constant(values: FloatArray) -> NDArray[np.bool_]:
    return np.asarray((values == values[:, :1]).all(axis=1))


def _of_condition(
    condition: Condition, parts: list[Findings], metrics: Sequence[Metric], level: float
) -> ConditionResult:
    """Values from replicate 0, the sample itself, and intervals from the others."""
    first = parts[0]
    signed, regrets = (np.concatenate([getattr(part, name) for part in parts]) for name in ("taus", "regrets"))
    reversed_ = signed[0] * [1 if metric.better == "lower" else -1 for metric in metrics] < 0
    figures = zip(
        *_tau_figures(signed, metrics, first.n_models, level), _regret_figures(regrets, level), strict=True
    )
    return ConditionResult(
        condition.name,
        condition.title,
        condition.unit,
        1 if condition.prior is None else condition.draws,
        tuple(
            MetricResult(metric.key, bool(first.constant[q]), bool(reversed_[q]), *numbers, first.picked[q])
            for q, (metric, numbers) in enumerate(zip(metrics, figures, strict=True))
        ),
        condition.reading,
    )


def _tau_figures(
    signed: FloatArray, metrics: Sequence[Metric], n_models: int, level: float
) -> tuple[list[Figure], list[Figure]]:
    """Of |tau| and of its gap to Pandora's Regret, from taus of all replicates, (R, Q)."""
    taus = (signed * np.where(signed[:1] < 0, -1, 1))[None]  # the estimate's absolute value, and what is around it
    baseline = [metric.key for metric in metrics].index(BASELINE)
    gaps = taus - taus[:, :, [baseline]]
    low, high = interval_around(taus[:, 0], taus[:, 1:], items=n_models, level=level)
    low, high = np.maximum(low, 0), np.minimum(high, 1)
    gap_low, gap_high = interval_around(gaps[:, 0], gaps[:, 1:], items=n_models, level=level)
    gap_low = np.maximum(gap_low, low - high[:, [baseline]])  # further apart the two cannot be
    gap_high = np.minimum(gap_high, high - low[:, [baseline]])
    return (
        [Figure(*map(number_of, ends)) for ends in zip(taus[0, 0], low[0], high[0], strict=True)],
        [Figure(*map(number_of, ends)) for ends in zip(gaps[0, 0], gap_low[0], gap_high[0], strict=True)],
    )


def _regret_figures(regrets: FloatArray, level: float) -> list[Regret]:
    low, high = percentiles(regrets[None, 1:], level)
    with np.errstate(invalid="ignore"):  # infinite bills on both sides: there is no mean
        mean = regrets[1:].mean(axis=0) if len(regrets) > 1 else np.full_like(regrets[0], np.nan)
    return [Regret(*map(number_of, ends)) for ends in zip(regrets[0], low[0], high[0], mean, strict=True)]
