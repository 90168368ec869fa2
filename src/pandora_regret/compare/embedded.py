"""A few cases that travel with a comparison, so that a page can recompute costs at other prices.

At typical costs C a case of truth i costs ``C_i + sum_j C_j share(ln(p_i / p_j) + ln(C_j / C_i))``, so that the
odds of its truth, and a table of the prior's share, are all that a page needs. Both live on the scale
``t = x / (4 + |x|)``, which takes all odds to (-1, 1), the even ones most finely: odds are rounded to one of 4095
steps there, two characters each, and shares are tabulated at even distances.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from pandora_regret.calibrate.maps import best_inverse_temperature, log_probabilities, probabilities_of
from pandora_regret.core.inputs import FloatArray, Forecast, IntArray
from pandora_regret.core.kernels.reference import log_odds
from pandora_regret.core.priors import Exponential, Fixed, Prior, Uniform

if TYPE_CHECKING:
    from pandora_regret.compare.estimates import Sample

MOST_ROWS, FEWEST_ROWS = 2_000, 200  # with fewer than these, of more cases, figures would be too rough
MOST_ODDS = 270_000  # of all models: some 540 kB of text
OF_EACH_CLASS = 5  # at least, where there are as many
DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
LETTERS = np.frombuffer(DIGITS.encode(), np.uint8)
BEND, EVEN = 4.0, 2047  # of the scale; the code of even odds, which half the codes lie below
CELLS = 1024  # of a table of shares
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

    def truths(self) -> IntArray:
        """The class number of each row, (rows,)."""
        return _codes(self.truth)

    def log_odds(self, model: str) -> FloatArray:
        """``ln(p_i / p_j)`` of each row's truth i against every class j, as rounded, (rows, K); 0 at the truth."""
        others = _from_scale(_codes(self.odds[model]) / EVEN - 1)
        table = np.zeros((self.rows, 1 + len(others) // self.rows))
        table[np.arange(table.shape[1]) != self.truths()[:, None]] = others
        return table

    def probabilities(self, model: str) -> FloatArray:
        """The forecasts, as rounded, (rows, K)."""
        return probabilities_of(np.clip(-self.log_odds(model), -700, 700).T)

    def fits(self, names: list[str], n_classes: int) -> bool:
        """Whether every part is as long as it must be, and every class is one of so many."""
        codes = {self.truth: self.rows}
        codes |= {self.odds.get(name, "-"): self.rows * (n_classes - 1) for name in names}
        whole = all(len(text) == 2 * n and {*text} <= {*DIGITS} for text, n in codes.items())
        whole &= len(self.weights) == self.rows and bool(self.shares)
        whole &= all(self.inverse_temperatures.get(name, 0.0) > 0 for name in names)
        return whole and int(self.truths().max(initial=0)) < n_classes


def embed(
    forecasts: Mapping[str, Forecast], sample: Sample, prior: Prior, typical: FloatArray, seed: int
) -> EmbeddedSample | None:
    """The sample; None of mere orders, of prices or options of each case's own, and where few rows would fit.

    Nor is there one under a prior that treats classes differently, of which one table would not do.
    """
    n_classes = next(iter(forecasts.values())).n_classes
    most = min(MOST_ROWS, MOST_ODDS // (len(forecasts) * (n_classes - 1)))
    if typical.ndim > 1 or most < min(sample.n_cases, FEWEST_ROWS) or not np.all(np.asarray(prior.mean) > 0):
        return None
    if prior.n_classes is not None or any(each.order_only for each in forecasts.values()):
        return None
    chosen, weights = _choose(sample, n_classes, most, seed)
    odds, temperatures = {}, {}
    for name, forecast in forecasts.items():
        rows = replace(forecast.rows(chosen), costs=None, weights=weights)
        rows = replace(rows, values=rows.values.astype(np.float64))
        others = log_odds(rows)[np.arange(n_classes) != rows.truth[:, None]].clip(-1e15, 1e15)
        odds[name] = _text(np.rint(EVEN * (1 + others / (BEND + np.abs(others)))).astype(np.intp))
        temperatures[name] = float(f"{best_inverse_temperature(log_probabilities(rows)[0]):.6g}")
    named = {"as compared": prior} | {name: other for name, other in ALTERNATIVES.items() if other != prior}
    return EmbeddedSample(
        len(chosen),
        len(np.unique(sample.case_of[chosen])),
        _text(sample.truth[chosen]),
        tuple(float(f"{weight:.6g}") for weight in weights),
        odds,
        temperatures,
        {name: (_shares(each),) for name, each in named.items()},
    )


def _choose(sample: Sample, n_classes: int, most: int, seed: int) -> tuple[IntArray, FloatArray]:
    """At most so many rows, a few of every class and else in proportion; their weights make up for the rest."""
    truth, weights, n = sample.truth, sample.weights, len(sample.truth)
    if n <= most:
        return np.arange(n), weights
    few, of_class = min(OF_EACH_CLASS, most // (2 * n_classes)), np.bincount(truth, minlength=n_classes)
    order = np.lexsort((np.random.default_rng(seed).random(n), truth))
    places = np.arange(n) - np.repeat(np.cumsum(of_class) - of_class, of_class)  # among rows of their class
    quota = few + (most - few * n_classes) * of_class // n
    kept = np.sort(order[places < quota[truth[order]]])
    whole, part = (np.bincount(truth[rows], weights[rows], n_classes) for rows in (slice(None), kept))
    return kept, weights[kept] * (whole / np.where(part > 0, part, 1.0))[truth[kept]]


def _shares(prior: Prior) -> tuple[float, ...]:
    """The prior's share at even distances of the scale."""
    shares = prior.share(_from_scale(np.linspace(-1, 1, 1 + CELLS)), np.intp(0), np.intp(1))
    return tuple(float(f"{share:.6g}") for share in shares)


def _from_scale(place: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.asarray(BEND * place / (1 - np.abs(place)))


def _text(codes: IntArray) -> str:
    return LETTERS[np.stack([codes // 64, codes % 64], axis=-1)].tobytes().decode()


def _codes(text: str) -> IntArray:
    digits = np.array([DIGITS.index(letter) for letter in text], np.intp)
    return np.asarray(digits.reshape(-1, 2) @ [64, 1])
