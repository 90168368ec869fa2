"""Embed: draw a few cases of a comparison, so that a page can recompute costs at other prices."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pandora_regret.calibrate.maps import best_inverse_temperature, log_probabilities
from pandora_regret.comparison.embedded import (
    BEND,
    CELLS,
    EVEN,
    EmbeddedSample,
    NoSample,
    Reason,
    as_text,
    from_scale,
)
from pandora_regret.comparison.request import Request
from pandora_regret.comparison.sample import Sample
from pandora_regret.core.inputs import FloatArray, Forecast, IntArray
from pandora_regret.core.kernels.reference import log_odds
from pandora_regret.core.priors import Exponential, Fixed, Prior, Uniform

MOST_ROWS = 2_000
FEWEST_ROWS = 200  # with fewer than these, of more cases, figures would be too rough
MOST_ODDS = 270_000  # of all models: some 540 kB of text
OF_EACH_CLASS = 5  # at least, where there are as many,
FEWEST_OF_EACH_CLASS = 2  # but no fewer than these where classes are many: two tell how rows differ
MOST_ERROR = 0.1  # of a cost at other prices, relatively
PRICE_LISTS = 8  # that are tried, to find it
STANDARD_ERRORS = 3  # that figures are within
ALTERNATIVES = {"fixed": Fixed(), "uniform": Uniform(), "exponential": Exponential()}


def embed(request: Request) -> EmbeddedSample | NoSample:
    """The sample that a page needs for live prices, or why there can be none.

    A sample holds rows of every class that occurs: without them, the costs of that class would not move.
    """
    n_classes = len(request.classes)
    most = min(MOST_ROWS, MOST_ODDS // (len(request.forecasts) * (n_classes - 1)))
    reason = _reason_against(request, most)
    if reason is not None:
        return NoSample(reason)
    sample = request.sample
    chosen, weights = _choose(sample, n_classes, most, request.interval.seed)
    embedded = _embedded(request, chosen, weights)
    if len(chosen) == len(sample.truth):
        return embedded
    error = _relative_error(embedded, np.bincount(sample.truth, minlength=n_classes), request.charge.typical)
    return replace(embedded, error=float(f"{error:.2g}")) if error <= MOST_ERROR else NoSample("error")


def _reason_against(request: Request, most: int) -> Reason | None:
    """Why there can be no sample of so many rows at most; None where there can."""
    sample = request.sample
    prior = request.charge.prior
    if any(forecast.order_only for forecast in request.forecasts.values()):
        return "orders"
    if request.charge.typical.ndim > 1:
        return "own prices"
    if prior.n_classes is not None or not np.all(np.asarray(prior.mean) > 0):
        return "prior"
    if most < min(sample.n_cases, FEWEST_ROWS) or most < min(_fewest_rows(sample.truth), len(sample.truth)):
        return "size"
    return None


def _embedded(request: Request, chosen: IntArray, weights: FloatArray) -> EmbeddedSample:
    """The chosen rows, by their numbers, with their weights, (n,) each."""
    sample = request.sample
    prior = request.charge.prior
    odds = dict[str, str]()
    temperatures = dict[str, float]()
    for name, forecast in request.forecasts.items():
        rows = replace(sample.of(forecast).rows(chosen), costs=None, weights=weights)
        rows = replace(rows, values=rows.values.astype(np.float64))
        odds[name] = _odds_as_text(rows)
        temperatures[name] = float(f"{best_inverse_temperature(log_probabilities(rows)[0]):.6g}")
    priors = {"as compared": prior} | {name: other for name, other in ALTERNATIVES.items() if other != prior}
    return EmbeddedSample(
        rows=len(chosen),
        cases=len(np.unique(sample.case_of[chosen])),
        truth=as_text(sample.truth[chosen]),
        weights=tuple(float(f"{weight:.6g}") for weight in weights),
        odds=odds,
        inverse_temperatures=temperatures,
        shares={name: (_shares(other),) for name, other in priors.items()},
    )


def _odds_as_text(rows: Forecast) -> str:
    """The odds of each row's truth against every other class, (N * (K - 1),), rounded on the scale."""
    is_other = np.arange(rows.n_classes) != rows.truth[:, None]
    against_others = log_odds(rows)[is_other].clip(-1e15, 1e15)
    places = against_others / (BEND + np.abs(against_others))
    return as_text(np.rint(EVEN * (1 + places)).astype(np.intp))


def _fewest_rows(truth: IntArray) -> int:
    """How many rows there must be so that every class that occurs has some."""
    return int(np.minimum(np.bincount(truth), FEWEST_OF_EACH_CLASS).sum())


def _choose(sample: Sample, n_classes: int, most: int, seed: int) -> tuple[IntArray, FloatArray]:
    """At most so many rows, a few of every class and else in proportion; their weights make up for the rest."""
    truth = sample.truth
    weights = sample.weights
    n_rows = len(truth)
    if n_rows <= most:
        return np.arange(n_rows), weights
    rows_of_class = np.bincount(truth, minlength=n_classes)
    n_occurring = int((rows_of_class > 0).sum())
    few = int(np.clip(most // (2 * n_occurring), FEWEST_OF_EACH_CLASS, OF_EACH_CLASS))
    left = max(most - few * n_occurring, 0)
    quota = few + left * rows_of_class // n_rows
    by_class = np.lexsort((np.random.default_rng(seed).random(n_rows), truth))
    place_in_class = np.arange(n_rows) - np.repeat(np.cumsum(rows_of_class) - rows_of_class, rows_of_class)
    kept = np.sort(by_class[place_in_class < quota[truth[by_class]]])
    whole = np.bincount(truth, weights, n_classes)
    part = np.bincount(truth[kept], weights[kept], n_classes)
    return kept, weights[kept] * (whole / np.where(part > 0, part, 1.0))[truth[kept]]


def _relative_error(embedded: EmbeddedSample, rows_of_class: IntArray, typical: FloatArray) -> float:
    """How far off figures at other prices may be, as a share of them: the largest of all models and price lists.

    Three times the standard error of how much a cost changes, as rows were drawn class by class. Some prices are
    halved and the others doubled, at random, some times.
    """
    truth = embedded.truths()
    drawn = np.bincount(truth, minlength=len(rows_of_class))
    weights = np.array(embedded.weights)
    share_of_class = np.bincount(truth, weights, len(rows_of_class)) / weights.sum()
    left_out = 1 - drawn / np.maximum(rows_of_class, 1)
    halved_or_doubled = 2.0 ** np.random.default_rng(0).choice([-1, 1], (PRICE_LISTS, len(typical)))
    largest = 0.0
    for model in embedded.odds:
        stated = embedded.costs(model, typical)
        for prices in typical * halved_or_doubled:
            changed = embedded.costs(model, prices)
            variance = _variance_by_class(changed - stated, truth, weights, len(rows_of_class))
            error = STANDARD_ERRORS * np.sqrt(
                (share_of_class**2 * left_out * variance / np.maximum(drawn, 1)).sum()
            )
            largest = max(largest, error / np.average(changed, weights=weights))
    return largest


def _variance_by_class(values: FloatArray, truth: IntArray, weights: FloatArray, n_classes: int) -> FloatArray:
    """The variance of the rows of each class about their weighted mean, (K,); 0 where there is one row or none."""
    total = np.bincount(truth, weights, n_classes)
    mean = np.bincount(truth, weights * values, n_classes) / np.where(total > 0, total, 1.0)
    squares = np.bincount(truth, (values - mean[truth]) ** 2, n_classes)
    return np.asarray(squares / np.maximum(np.bincount(truth, minlength=n_classes) - 1, 1))


def _shares(prior: Prior) -> tuple[float, ...]:
    """The prior's share at even distances of the scale."""
    shares = prior.share(from_scale(np.linspace(-1, 1, 1 + CELLS)), np.intp(0), np.intp(1))
    return tuple(float(f"{share:.6g}") for share in shares)
