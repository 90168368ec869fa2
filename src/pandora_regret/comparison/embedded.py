"""A few cases that travel with a comparison, so that a page can recompute costs at other prices.

At typical costs C a case of truth i costs ``C_i + sum_j C_j share(ln(p_i / p_j) + ln(C_j / C_i))``, so that the
odds of its truth, and a table of the prior's share, are all that a page needs. Both live on the scale
``t = x / (4 + |x|)``, which takes all odds to (-1, 1), the even ones most finely: odds are rounded to one of 4095
steps there, two characters each, and shares are tabulated at even distances.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from pandora_regret.calibrate.maps import best_inverse_temperature, log_probabilities, probabilities_of
from pandora_regret.core.inputs import FloatArray, Forecast, IntArray
from pandora_regret.core.kernels.reference import log_odds
from pandora_regret.core.priors import Exponential, Fixed, Prior, Uniform

if TYPE_CHECKING:
    from pandora_regret.comparison.estimates import Sample

MOST_ROWS = 2_000
FEWEST_ROWS = 200  # with fewer than these, of more cases, figures would be too rough
MOST_ODDS = 270_000  # of all models: some 540 kB of text
OF_EACH_CLASS = 5  # at least, where there are as many,
FEWEST_OF_EACH_CLASS = 2  # but no fewer than these where classes are many: two tell how rows differ
MOST_ERROR = 0.1  # of a cost at other prices, relatively
PRICE_LISTS = 8  # that are tried, to find it
STANDARD_ERRORS = 3  # that figures are within
DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
LETTERS = np.frombuffer(DIGITS.encode(), np.uint8)
DIGIT_OF = np.zeros(256, np.intp)  # by the letter's number
DIGIT_OF[LETTERS] = np.arange(64)
BEND = 4.0  # of the scale
EVEN = 2047  # the code of even odds, which half the codes lie below
CELLS = 1024  # of a table of shares
# "orders": forecasts are no probabilities; "own prices": each case has prices of its own; "prior": it treats
# classes differently; "size": a page cannot hold rows of every class; "error": figures would be too rough
Reason: TypeAlias = Literal["orders", "own prices", "prior", "size", "error"]
ALTERNATIVES = {"fixed": Fixed(), "uniform": Uniform(), "exponential": Exponential()}


@dataclass(frozen=True)
class EmbeddedSample:
    """Some of the cases of a comparison, or all: their truths, weights and rounded odds.

    A case of which several classes are true has a row for each, with its share of the weight.
    """

    rows: int
    cases: int
    truth: str  # two digits of base 64 per row: the number of the true class
    weights: tuple[float, ...]  # (rows,) by class they sum to what all cases of that class weigh
    odds: dict[str, str]  # by model, row after row: ``ln(p_i / p_j)`` of the truth i against every other class j
    inverse_temperatures: dict[str, float]  # by model: what its odds are multiplied by to recalibrate them
    shares: dict[str, tuple[tuple[float, ...]]]  # by prior, the comparison's first: a table
    # how far off figures may be where prices are halved or doubled, as a share of them; None of all rows
    error: float | None = field(default=None, metadata={"optional": True})

    def truths(self) -> IntArray:
        """The class number of each row, (rows,)."""
        return _codes(self.truth)

    def log_odds(self, model: str) -> FloatArray:
        """``ln(p_i / p_j)`` of each row's truth i against every class j, as rounded, (rows, K); 0 at the truth."""
        against_others = _from_scale(_codes(self.odds[model]) / EVEN - 1)  # (rows * (K - 1),)
        n_classes = 1 + len(against_others) // self.rows
        table = np.zeros((self.rows, n_classes))
        table[np.arange(n_classes) != self.truths()[:, None]] = against_others
        return table

    def costs(self, model: str, prices: FloatArray, prior: str | None = None) -> FloatArray:
        """What the search of each row costs at some prices, (rows,), as the page works it out."""
        truth = self.truths()
        [table] = self.shares[prior or next(iter(self.shares))]
        odds = np.clip(self.log_odds(model), -1e12, 1e12) + np.log(prices / prices[truth][:, None])
        shares = np.interp(odds / (BEND + np.abs(odds)), np.linspace(-1, 1, len(table)), table)
        shares[np.arange(self.rows), truth] = 1.0  # the truth is always tested
        return np.asarray(shares @ prices)

    def probabilities(self, model: str) -> FloatArray:
        """The forecasts, as rounded, (rows, K)."""
        return probabilities_of(np.clip(-self.log_odds(model), -700, 700).T)

    def fits(self, names: list[str], n_classes: int) -> bool:
        """Whether every part is as long as it must be, and every class is one of so many."""
        if len(self.weights) != self.rows or not self.shares:
            return False
        if not _is_code(self.truth, self.rows):
            return False
        for name in names:
            if name not in self.odds or not _is_code(self.odds[name], self.rows * (n_classes - 1)):
                return False
            if not self.inverse_temperatures.get(name, 0.0) > 0:
                return False
        return int(self.truths().max(initial=0)) < n_classes


@dataclass(frozen=True)
class NotEmbedded:
    """That there is no sample, and why."""

    reason: Reason


def embed(
    forecasts: Mapping[str, Forecast], sample: Sample, prior: Prior, typical: FloatArray, seed: int
) -> EmbeddedSample | NotEmbedded:
    """The sample that a page needs for live prices, or why there can be none.

    Parameters
    ----------
    forecasts
        Of each model by name: the rows of the sample.
    sample
        The rows of the comparison.
    prior, typical
        What tests cost: as compared.
    seed
        Of the draw, where not all rows fit.

    Returns
    -------
    EmbeddedSample or NotEmbedded
        A sample holds rows of every class that occurs: without them, the costs of that class would not move.
    """
    n_classes = next(iter(forecasts.values())).n_classes
    if any(forecast.order_only for forecast in forecasts.values()):
        return NotEmbedded("orders")
    if typical.ndim > 1:
        return NotEmbedded("own prices")
    if prior.n_classes is not None or not np.all(np.asarray(prior.mean) > 0):
        return NotEmbedded("prior")
    most = min(MOST_ROWS, MOST_ODDS // (len(forecasts) * (n_classes - 1)))
    if most < min(sample.n_cases, FEWEST_ROWS) or most < min(_fewest_rows(sample.truth), len(sample.truth)):
        return NotEmbedded("size")
    chosen, weights = _choose(sample, n_classes, most, seed)
    odds = dict[str, str]()
    temperatures = dict[str, float]()
    for name, forecast in forecasts.items():
        rows = replace(forecast.rows(chosen), costs=None, weights=weights)
        rows = replace(rows, values=rows.values.astype(np.float64))
        odds[name] = _odds_as_text(rows)
        temperatures[name] = float(f"{best_inverse_temperature(log_probabilities(rows)[0]):.6g}")
    priors = {"as compared": prior} | {name: other for name, other in ALTERNATIVES.items() if other != prior}
    embedded = EmbeddedSample(
        rows=len(chosen),
        cases=len(np.unique(sample.case_of[chosen])),
        truth=_text(sample.truth[chosen]),
        weights=tuple(float(f"{weight:.6g}") for weight in weights),
        odds=odds,
        inverse_temperatures=temperatures,
        shares={name: (_shares(other),) for name, other in priors.items()},
    )
    if len(chosen) == len(sample.truth):
        return embedded
    error = _relative_error(embedded, np.bincount(sample.truth, minlength=n_classes), typical)
    return replace(embedded, error=float(f"{error:.2g}")) if error <= MOST_ERROR else NotEmbedded("error")


def _odds_as_text(rows: Forecast) -> str:
    """The odds of each row's truth against every other class, (N * (K - 1),), rounded on the scale."""
    is_other = np.arange(rows.n_classes) != rows.truth[:, None]
    against_others = log_odds(rows)[is_other].clip(-1e15, 1e15)
    places = against_others / (BEND + np.abs(against_others))
    return _text(np.rint(EVEN * (1 + places)).astype(np.intp))


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
    shares = prior.share(_from_scale(np.linspace(-1, 1, 1 + CELLS)), np.intp(0), np.intp(1))
    return tuple(float(f"{share:.6g}") for share in shares)


def _from_scale(place: FloatArray) -> FloatArray:
    """The odds x of places t on the scale, of any shape; infinite at its ends."""
    with np.errstate(divide="ignore"):
        return np.asarray(BEND * place / (1 - np.abs(place)))


def _is_code(text: str, n: int) -> bool:
    """Whether a text holds so many codes of two digits each."""
    return len(text) == 2 * n and set(text) <= set(DIGITS)


def _text(codes: IntArray) -> str:
    """Codes below 4096, (n,), as two digits of base 64 each."""
    return LETTERS[np.stack([codes // 64, codes % 64], axis=-1)].tobytes().decode()


def _codes(text: str) -> IntArray:
    """The codes, (n,), that `_text` wrote."""
    digits = DIGIT_OF[np.frombuffer(text.encode(), np.uint8)]
    return np.asarray(digits.reshape(-1, 2) @ [64, 1])
