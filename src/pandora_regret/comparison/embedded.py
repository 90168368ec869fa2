"""A few cases that travel with a comparison, so that a page can recompute costs at other prices.

At typical costs C a case of truth i costs ``C_i + sum_j C_j share(ln(p_i / p_j) + ln(C_j / C_i))``, so that the
odds of its truth, and a table of the prior's share, are all that a page needs. Both live on the scale
``t = x / (4 + |x|)``, which takes all odds to (-1, 1), the even ones most finely: odds are rounded to one of 4095
steps there, two characters each, and shares are tabulated at even distances.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from pandora_regret.calibrate.maps import probabilities_of
from pandora_regret.core.inputs import FloatArray, IntArray

BASE64_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
BASE64_CODES = np.frombuffer(BASE64_DIGITS.encode(), np.uint8)
DIGIT_OF = np.zeros(256, np.intp)  # by the letter's number
DIGIT_OF[BASE64_CODES] = np.arange(64)
BEND = 4.0  # of the scale
EVEN = 2047  # the code of even odds, which half the codes lie below
CELLS = 1024  # of a table of shares
# "orders": forecasts are no probabilities; "own prices": each case has prices of its own; "prior": it treats
# classes differently; "size": a page cannot hold rows of every class; "error": figures would be too rough
Reason: TypeAlias = Literal["orders", "own prices", "prior", "size", "error"]


@dataclass(frozen=True)
class EmbeddedSample:
    """Cases of a comparison for its page, all or a sample: their truths, weights and rounded odds.

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
        against_others = from_scale(_codes(self.odds[model]) / EVEN - 1)  # (rows * (K - 1),)
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
class NoSample:
    """That there is no sample, and why."""

    reason: Reason


def from_scale(place: FloatArray) -> FloatArray:
    """The odds x of places t on the scale, of any shape; infinite at its ends."""
    with np.errstate(divide="ignore"):
        return np.asarray(BEND * place / (1 - np.abs(place)))


def _is_code(text: str, n: int) -> bool:
    """Whether a text holds so many codes of two digits each."""
    return len(text) == 2 * n and set(text) <= set(BASE64_DIGITS)


def as_text(codes: IntArray) -> str:
    """Codes below 4096, (n,), as two digits of base 64 each."""
    return BASE64_CODES[np.stack([codes // 64, codes % 64], axis=-1)].tobytes().decode()


def _codes(text: str) -> IntArray:
    """The codes, (n,), that `as_text` wrote."""
    digits = DIGIT_OF[np.frombuffer(text.encode(), np.uint8)]
    return np.asarray(digits.reshape(-1, 2) @ [64, 1])
