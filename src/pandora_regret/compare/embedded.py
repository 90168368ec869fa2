"""A few cases that travel with a comparison, so that a page can recompute costs at other prices.

At typical costs C a case of truth i costs ``C_i + sum_j C_j share(ln(p_i / p_j) + ln(C_j / C_i))``, so that the
odds of its truth, and a table of the prior's share, are all that a page needs. Both live on the scale
``t = x / (4 + |x|)``, which takes all odds to (-1, 1), the even ones most finely: odds are rounded to one of 4095
steps there, two characters each, and shares are tabulated at even distances.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from pandora_regret.inputs import FloatArray, Forecast, IntArray
from pandora_regret.kernels.reference import log_odds
from pandora_regret.priors import Exponential, Fixed, Prior, Uniform

if TYPE_CHECKING:
    from pandora_regret.compare.sample import Sample

MOST_ROWS, FEWEST_ROWS = 2_000, 200  # with fewer than these, of more cases, figures would be too rough
MOST_ODDS = 270_000  # of all models: some 540 kB of text
OF_EACH_CLASS = 5  # at least, where there are as many
MOST_CLASSES_APART = 12  # of a prior that treats classes differently, and so needs a table for each pair
DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
BEND, EVEN = 4.0, 2047  # of the scale; the code of even odds, which half the codes lie below
CELLS, CELLS_APART = 1024, 128  # of a table of shares
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
    shares: dict[
        str, tuple[tuple[float, ...], ...]
    ]  # by prior, the comparison's first: one table, or one per pair
    unit_costs: tuple[float, ...]  # (K,) the prior's mean for each class

    def truths(self) -> IntArray:
        """The class number of each row, (rows,)."""
        return _codes(self.truth)

    def log_odds(self, model: str) -> FloatArray:
        """``ln(p_i / p_j)`` of each row's truth i against every class j, as rounded, (rows, K); 0 at the truth."""
        truth, others = self.truths(), _from_scale(_codes(self.odds[model]) / EVEN - 1).reshape(self.rows, -1)
        table = np.zeros((self.rows, len(self.unit_costs)))
        table[np.arange(len(self.unit_costs)) != truth[:, None]] = others.ravel()
        return table

    def probabilities(self, model: str) -> FloatArray:
        """The forecasts, as rounded, (rows, K)."""
        odds = np.clip(-self.log_odds(model), -700, 700)
        unnormalised = np.exp(odds - odds.max(axis=1, keepdims=True))
        return np.asarray(unnormalised / unnormalised.sum(axis=1, keepdims=True))

    def fits(self, names: list[str], n_classes: int) -> bool:
        """Whether every part is as long as it must be, and every class is one of so many."""
        lengths = [
            len(self.truth) == 2 * self.rows,
            len(self.weights) == self.rows,
            len(self.unit_costs) == n_classes,
        ]
        lengths += [len(self.odds.get(name, "")) == 2 * self.rows * (n_classes - 1) for name in names]
        tables = [len(tables) in (1, n_classes**2) for tables in self.shares.values()]
        text = set(self.truth).union(*self.odds.values()) <= set(DIGITS)
        known = all(self.inverse_temperatures.get(name, 0.0) > 0 for name in names)
        return (
            all([*lengths, *tables, text, known, bool(tables)]) and int(self.truths().max(initial=0)) < n_classes
        )


def embed(
    forecasts: Mapping[str, Forecast], sample: Sample, prior: Prior, typical: FloatArray, seed: int
) -> EmbeddedSample | None:
    """The sample; None of mere orders, of prices or options of each case's own, and where few rows would fit."""
    n_classes = next(iter(forecasts.values())).n_classes
    if typical.ndim > 1 or not _fits_in_a_page(forecasts.values(), sample.n_cases, n_classes, prior):
        return None
    chosen, weights = _choose(sample, n_classes, _most_rows(len(forecasts), n_classes), seed)
    rows = {
        name: replace(forecast, values=forecast.values.astype(np.float64), costs=None, weights=None).rows(chosen)
        for name, forecast in forecasts.items()
    }
    named = {"as compared": prior} | {name: other for name, other in ALTERNATIVES.items() if other != prior}
    return EmbeddedSample(
        len(chosen),
        len(np.unique(sample.case_of[chosen])),
        _text(sample.truth[chosen]),
        tuple(float(f"{weight:.6g}") for weight in weights),
        {name: _text(_rounded(each)) for name, each in rows.items()},
        {name: float(f"{_inverse_temperature(each, weights):.6g}") for name, each in rows.items()},
        {name: _shares(each, n_classes) for name, each in named.items()},
        tuple(float(mean) for mean in np.broadcast_to(prior.mean, n_classes)),
    )


def _fits_in_a_page(forecasts: Collection[Forecast], n_rows: int, n_classes: int, prior: Prior) -> bool:
    if any(forecast.order_only for forecast in forecasts):
        return False
    if prior.n_classes is not None and n_classes > MOST_CLASSES_APART:
        return False
    enough = _most_rows(len(forecasts), n_classes) >= min(n_rows, FEWEST_ROWS)
    return enough and bool(np.all(np.asarray(prior.mean) > 0))


def _most_rows(n_models: int, n_classes: int) -> int:
    return min(MOST_ROWS, MOST_ODDS // (n_models * (n_classes - 1)))


def _choose(sample: Sample, n_classes: int, most: int, seed: int) -> tuple[IntArray, FloatArray]:
    """At most so many rows, a few of every class and else in proportion; their weights make up for the rest."""
    truth, weights = sample.truth, sample.weights
    if len(truth) <= most:
        return np.arange(len(truth)), weights
    counts = np.bincount(truth, minlength=n_classes)
    few = min(OF_EACH_CLASS, most // (2 * n_classes))
    quota = np.minimum(counts, few + (most - few * n_classes) * counts // len(truth))
    shuffled = np.random.default_rng(seed).permutation(len(truth))
    shuffled = shuffled[np.argsort(truth[shuffled], kind="stable")]
    place = np.arange(len(truth)) - (np.cumsum(counts) - counts)[truth[shuffled]]  # among the rows of its class
    chosen = np.sort(shuffled[place < quota[truth[shuffled]]])
    whole, part = (np.bincount(truth[rows], weights[rows], n_classes) for rows in (slice(None), chosen))
    return chosen, weights[chosen] * (whole / np.where(part > 0, part, 1.0))[truth[chosen]]


def _rounded(rows: Forecast) -> IntArray:
    """The codes of each row's odds but those against itself, (rows, K - 1)."""
    odds = log_odds(rows)
    others = np.clip(odds[np.arange(rows.n_classes) != rows.truth[:, None]], -1e15, 1e15)
    return np.asarray(np.rint(EVEN * (1 + others / (BEND + np.abs(others)))), dtype=np.intp)


def _inverse_temperature(rows: Forecast, weights: FloatArray) -> float:
    from pandora_regret.calibrate.maps import best_inverse_temperature
    from pandora_regret.calibrate.rows import rows_of

    return best_inverse_temperature(rows_of(replace(rows, weights=weights))[0])


def _shares(prior: Prior, n_classes: int) -> tuple[tuple[float, ...], ...]:
    """The prior's share at even distances of the scale; of each pair i, j, where it treats classes differently."""
    apart = prior.n_classes is not None
    odds = _from_scale(np.linspace(-1, 1, 1 + (CELLS_APART if apart else CELLS)))
    classes = range(n_classes)
    pairs = [(i, j) for i in classes for j in classes] if apart else [(0, 1)]
    return tuple(tuple(float(f"{s:.6g}") for s in prior.share(odds, np.intp(i), np.intp(j))) for i, j in pairs)


def _from_scale(place: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.asarray(BEND * place / (1 - np.abs(place)))


def _text(codes: IntArray) -> str:
    digits = np.frombuffer(DIGITS.encode(), dtype=np.uint8)
    return np.stack([digits[codes.ravel() // 64], digits[codes.ravel() % 64]], axis=1).tobytes().decode()


def _codes(text: str) -> IntArray:
    values = np.zeros(256, dtype=np.intp)
    values[np.frombuffer(DIGITS.encode(), dtype=np.uint8)] = np.arange(64)
    pairs = values[np.frombuffer(text.encode(), dtype=np.uint8)].reshape(-1, 2)
    return np.asarray(64 * pairs[:, 0] + pairs[:, 1])
