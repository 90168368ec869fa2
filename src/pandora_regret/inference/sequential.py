"""Inference that holds at every moment of a stream: evidence by betting, its inversion, and tests of drift.

All of it is about increments x_1, x_2, ... with bounds that are known before each x is: no distribution is
assumed, and nobody needs to say beforehand when, or how often, they will look. docs/theory/monitoring.md states
each guarantee with its assumptions and its reference.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pandora_regret.core.inputs import Fields, FloatArray
from pandora_regret.inference import sequential_loops as loops
from pandora_regret.inference.keyed import uniforms

FRACTIONS = np.array([0.01, 0.05, 0.12, 0.25, 0.5, 1.0])  # bets, per unit of scale
STAKES = np.array([0.03, 0.07, 0.2, 0.3, 0.26, 0.14])  # how wealth is shared out among them
WINDOWS = 2 + 2 * len(FRACTIONS)  # from the beginning, of each bet since a change, and the present block
RANK_BINS = 1024
BET_ENTRIES = 7
TINY = 1e-300


@dataclass(frozen=True)
class Claim:
    """What an e-process says now of the mean of the increments since one of them."""

    began: int  # the number of the first
    value: float  # their mean
    low: float
    high: float

    @property
    def side(self) -> int:
        """1 where the interval is above 0, -1 where it is below, 0 where it holds 0."""
        return int(self.low > 0) - int(self.high < 0)


class Restorable:
    """Arrays, and how many increments there were, as plain data and back; whoever stores it vouches for it."""

    n: int

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """The arrays that change with every increment, by name."""
        raise NotImplementedError

    def state(self) -> Fields:
        """What changes with every increment, as plain data for JSON."""
        return {"n": self.n} | {name: array.tolist() for name, array in self.arrays().items()}

    def restore(self, state: Fields) -> Self:
        """Become what this was when `state` was written."""
        self.n = state["n"]
        for name, array in self.arrays().items():
            array[...] = state[name]
        return self


class EProcess(Restorable):
    """Evidence against "every increment has mean 0, given the past", and the interval that is its inversion.

    Wealth is shared out among constant bets from small to large on a mean above 0, and as much on one below; each
    bet is a fraction of 1 / scale, cut to what the increment's own bounds allow. Three quarters play from the
    beginning. The last quarter is kept for changes: a little of it begins to play at each of certain moments, and
    evidence is what all of it has become. Each bet remembers the moment since which it did best; every claim is
    about a window, from the beginning or from such a moment, and counts what began to play within it. That is a
    fair game if means are 0: it ever reaches ``1 / level`` with probability `level` at most, on each side, in
    whichever window.

    Had the mean been m, the same bets on ``x - m`` would be the fair game. Means that this excludes make the
    interval; it excludes 0 exactly when there is evidence of ``1 / level``.

    Parameters
    ----------
    level
        The probability with which a side may ever alarm, or an end of the interval ever be wrong.
    every
        After how many increments each a change may have begun, at least.
    boldness
        A factor of all bets: the mean of a period varies less than a case, and may be bet on boldly.

    References
    ----------
    Waudby-Smith and Ramdas (2024) [waudbysmith24]_.
    Shin et al. (2024), on change [shin24]_.
    """

    def __init__(self, level: float, every: int = 32, boldness: float = 1.0) -> None:
        self.level = level
        self.every = every
        self.fractions = boldness * FRACTIONS
        self.n = 0
        self.bets = np.zeros((WINDOWS, 2, BET_ENTRIES, len(FRACTIONS)))
        self.bets[-1, :, loops.WEALTH] = 1.0
        self.bets[:-1, :, loops.LATER] = loops.NO_WEALTH
        self.windows = np.zeros((WINDOWS, 6))
        self.windows[0, loops.WEIGHT] = loops.FROM_THE_BEGINNING
        self.clock = np.zeros(3, np.int64)
        self.noticed = np.full(2, loops.NEVER)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Bets, windows, the clock of starts, and when evidence was noticed."""
        return {"bets": self.bets, "windows": self.windows, "clock": self.clock, "noticed": self.noticed}

    def update(self, rows: ArrayLike, scale: FloatArray, ends_period: NDArray[np.bool_] | None = None) -> None:
        """Take increments in.

        Parameters
        ----------
        rows
            Increments, and their lower and upper bounds, (3, n).
        scale
            What bets are fractions of 1 / of, (n,).
        ends_period
            Whether each is the last of its period, (n,); each is a period of its own unless given. A change may
            begin, and evidence is noticed, between periods alone.
        """
        increments = np.ascontiguousarray(rows, dtype=np.float64)
        if ends_period is None:
            ends_period = np.ones(increments.shape[1], bool)
        loops.bet(
            increments,
            scale,
            ends_period,
            self.n,
            self.every,
            self.fractions,
            STAKES,
            self.bets,
            self.windows,
            self.clock,
            self.noticed,
            1 / self.level,
        )
        self.n += increments.shape[1]

    def noticed_at(self, above: bool) -> int | None:
        """The number of the increment with which evidence on a side first reached ``1 / level``, from 0."""
        at = int(self.noticed[int(not above)])
        return None if at == loops.NEVER else at

    @property
    def evidence(self) -> tuple[float, float]:
        """For a mean above 0 and for one below: 1 at the start, alarming from ``1 / level``."""
        above, below = self._evidence().max(axis=0).tolist()
        return above, below

    def claim(self) -> Claim:
        """What is claimed of the likeliest window with evidence enough; else of all increments.

        The window of all is as likely beforehand as all others together, which are equally likely.
        """
        bets, windows = self._folded()
        window = self._likeliest(bets)
        start, weight, count, total, total_low, total_high = windows[window].tolist()
        count = max(count, 1.0)
        mean = total / count
        log_stakes = np.log(STAKES)
        log_weight = np.log(max(weight, TINY))
        enough = -np.log(self.level)
        low = loops.end(mean, (total - total_low) / count, bets[window, 0], log_stakes, log_weight, enough)
        high = -loops.end(-mean, (total_high - total) / count, bets[window, 1], log_stakes, log_weight, enough)
        return Claim(int(start), mean, float(low), float(high))

    def _likeliest(self, bets: FloatArray) -> int:
        """The likeliest of the windows in which there is evidence enough; the first, if there is none.

        How likely a window is: the wealth that its own bets made of 1, on the side that has the evidence.
        """
        evidence = self._evidence()  # (windows, 2)
        is_enough = evidence.max(axis=1) >= 1 / self.level
        wealth = np.exp(np.minimum(bets[:-1, :, loops.WEALTH], loops.MOST_LOG))
        wealth_of_sides = (STAKES * wealth).sum(axis=2)
        odds = wealth_of_sides[np.arange(WINDOWS - 1), evidence.argmax(axis=1)]
        n_starts = max(int(self.clock[loops.STARTS]), 1)
        odds[1:] /= n_starts  # together they are as likely beforehand as the first
        return int(np.where(is_enough, odds, 0.0).argmax())

    def _folded(self) -> tuple[FloatArray, FloatArray]:
        """Bets and windows with the present block in all of these."""
        bets = self.bets.copy()
        windows = self.windows.copy()
        loops.fold(bets, windows)
        return bets, windows

    def increments_until_alarm(self, scale: float) -> int | None:
        """How many an alarm takes at best, were all alike and as those so far; None where it never comes."""
        _, windows = self._folded()
        _, _, count, total, total_low, _ = windows[0].tolist()
        if total <= 0:
            return None
        bets = np.minimum(self.fractions / scale, loops.BOLDEST * count / max(-total_low, TINY))
        enough = -np.log(self.level * loops.FROM_THE_BEGINNING * np.cumsum(STAKES[::-1])[::-1])
        return int(np.ceil((enough / np.log1p(bets * total / count)).min()))

    def _evidence(self) -> FloatArray:
        """The evidence of every window, on both sides, (windows, 2)."""
        return np.asarray(loops.evidence(self.bets, STAKES, self.windows))


class Ranks(Restorable):
    """Each value's rank among all so far, as a number in (0, 1): independent and uniform for exchangeable values.

    Ranks are those of a conformal test of exchangeability (Vovk). Values are told apart to
    2 %, within 16 powers of two of `scale`, and ties are broken by a fixed sequence of random numbers: that needs
    few numbers, however long the stream is, and is exact.
    """

    def __init__(self, scale: float) -> None:
        self.scale = scale or 1.0
        self.n = 0
        self.tree = np.zeros(RANK_BINS + 1, np.int64)  # a Fenwick tree of how many values fell into each bin

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """The tree of counts."""
        return {"tree": self.tree}

    def update(self, values: FloatArray) -> FloatArray:
        """The rank of each value when it came."""
        shares = np.empty(len(values))
        loops.ranks_so_far(values, self.scale, self.tree, self.n, uniforms(self.n, len(values)), shares)
        self.n += len(values)
        return shares
