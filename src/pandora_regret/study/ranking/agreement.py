"""Which metric picks the model that is cheapest to deploy: Kendall's tau, its gaps, and the regret of choosing.

The bootstrap is paired throughout: a replicate draws the same instances and the same models for all metrics and
all conditions. All replicates of a mean are one matrix product; forecasts are changed and searched some models at
a time, so memory holds one condition's table of costs and little else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pandora_regret.inference.intervals import interval_around, percentiles
from pandora_regret.inputs import FloatArray, Labels, read_choice, read_count
from pandora_regret.inputs.numbers import read_level
from pandora_regret.metrics import BASELINE, Metric, default_metrics, read_metrics
from pandora_regret.study.conditions import PAPER_CONDITIONS, Condition, read_conditions
from pandora_regret.study.ranking.choosing import excess_costs, picked_models, regret_of
from pandora_regret.study.ranking.contest import Contest, read_contest
from pandora_regret.study.ranking.replicates import RESAMPLE, instance_counts, model_counts
from pandora_regret.study.ranking.results import Agreement
from pandora_regret.study.ranking.tau import replicate_taus

__all__ = ["Agreement", "agreement"]

Resample: TypeAlias = Literal["instances", "models", "both"]
Progress: TypeAlias = Callable[[int, int, str], None]

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
        counts = instance_counts(cases, contest.n_groups, resample, contest.seed)[:, contest.groups]
        drawn = model_counts(numbers, len(contest.models), resample, contest.seed)
        return cls(np.asfortranarray(counts), drawn)


@dataclass(frozen=True)
class Findings:
    """What some replicates say about one condition."""

    taus: FloatArray  # (R, Q)
    regrets: FloatArray  # (R, Q)
    constant: NDArray[np.bool_]  # (Q,) in the first of them
    picked: tuple[tuple[str, ...], ...]  # by each metric in the first of them


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
    known = contest.costs is not None or all(condition.typical == "drawn" for condition in asked)
    by = default_metrics(len(contest.classes), priced=known) if metrics is None else read_metrics(metrics)
    read_choice(resample, "resample", RESAMPLE)
    numbers, share = range(read_count(replicates, "replicates", least=0) + 1), read_level(level)
    by_condition: list[list[Findings]] = [[] for _ in asked]
    blocks = list(_blocks(numbers, contest, asked))
    advance = _steps(progress, len(blocks) * len(asked) * len(contest.models))
    for block in blocks:
        resampled = Replicates.draw(block, contest, resample)
        for of_condition, condition in zip(by_condition, asked, strict=True):
            of_condition.append(_findings(contest, condition, by, resampled, advance))
    about = {"resample": resample, "replicates": len(numbers) - 1, "level": share, "seed": contest.seed}
    return _summary(contest, asked, by, [_joined(parts) for parts in by_condition], about)


def _blocks(numbers: range, contest: Contest, conditions: Sequence[Condition]) -> Iterator[range]:
    """As many replicates at a time as keep the largest table of costs within bounds."""
    rankings = max(condition.rankings for condition in conditions)
    step = max(1, TABLE_BYTES // (8 * len(contest.models) * rankings))
    yield from (numbers[start : start + step] for start in range(0, len(numbers), step))


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
    return Findings(taus, np.stack(regrets, axis=1), constant, names)


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


def _joined(parts: list[Findings]) -> Findings:
    taus, regrets = (np.concatenate([getattr(part, name) for part in parts]) for name in ("taus", "regrets"))
    return Findings(taus, regrets, parts[0].constant, parts[0].picked)


def _summary(
    contest: Contest,
    conditions: Sequence[Condition],
    metrics: Sequence[Metric],
    results: Sequence[Findings],
    about: dict[str, Any],
) -> Agreement:
    """Values from replicate 0, the sample itself, and intervals from the others."""
    signed = np.stack([result.taus for result in results])  # (C, R, Q)
    taus = signed * np.where(signed[:, :1] < 0, -1, 1)  # the estimate's absolute value, and what lies around it
    baseline = [metric.key for metric in metrics].index(BASELINE)
    gaps = taus - taus[:, :, [baseline]]
    regrets = np.stack([result.regrets for result in results])
    size = {"items": len(contest.models), "level": about["level"]}
    low, high = interval_around(taus[:, 0], taus[:, 1:], **size)
    low, high = np.maximum(low, 0), np.minimum(high, 1)
    gap_low, gap_high = interval_around(gaps[:, 0], gaps[:, 1:], **size)
    gap_low = np.maximum(gap_low, low - high[:, [baseline]])  # further apart the two cannot be
    gap_high = np.minimum(gap_high, high - low[:, [baseline]])
    regret_low, regret_high = percentiles(regrets[:, 1:], about["level"])
    with np.errstate(invalid="ignore"):  # infinite bills on both sides: there is no mean
        mean = regrets[:, 1:].mean(axis=1) if about["replicates"] else np.full_like(regrets[:, 0], np.nan)
    return Agreement(
        conditions=tuple(_described(condition) for condition in conditions),
        metrics=tuple({"key": m.key, "title": m.title, "better": m.better} for m in metrics),
        tau=taus[:, 0],
        tau_low=low,
        tau_high=high,
        gap=gaps[:, 0],
        gap_low=gap_low,
        gap_high=gap_high,
        regret=regrets[:, 0],
        regret_mean=mean,
        regret_low=regret_low,
        regret_high=regret_high,
        constant=np.stack([result.constant for result in results]),
        reversed=signed[:, 0] * [1 if metric.better == "lower" else -1 for metric in metrics] < 0,
        picked=tuple(result.picked for result in results),
        models=contest.models,
        classes=tuple(map(str, contest.classes)),
        rows=len(contest.truth),
        groups=contest.n_groups if contest.n_groups < len(contest.truth) else None,
        **about,
    )


def _described(condition: Condition) -> dict[str, Any]:
    draws = 1 if condition.prior is None else condition.draws
    described = {name: getattr(condition, name) for name in ("name", "title", "unit", "reading")}
    return {**described, "draws": draws}
