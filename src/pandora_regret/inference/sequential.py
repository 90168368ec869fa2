"""Inference that holds at every moment of a stream: evidence by betting, confidence sequences, tests of drift.

All of it is about increments x_1, x_2, ... with bounds that are known before each x is: no distribution is
assumed, and nobody needs to say beforehand when, or how often, they will look. docs/monitoring.md states each
guarantee with its assumptions and its reference.

`lag`: a forecast made `lag` periods ahead is judged by what was known then, and x_t may depend on those since. So
streams are cut into `lag` lanes of increments that lie `lag` periods apart; the lanes share the level.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from pandora_regret.inference import sequential_loops as loops
from pandora_regret.inference.keyed import uniforms
from pandora_regret.inputs import FloatArray, InputError

BETS = 2.0 ** np.arange(-5, 8)  # constant bets of the mixture, per unit of scale
SEQUENCE_BETS = 2.0 ** np.arange(-9, 7)
BINS, RANK_BINS = 49, 1024
LAST_STEP = 1e-14  # relatively


@dataclass(frozen=True)
class Event:
    """Something that a stream showed: when, and whether increments are above 0."""

    at: int  # the number of the increment, from 0
    above: bool
    began: int | None = None  # the number of the increment with which it began, by the best guess


class Stateful:
    """What is gathered over a stream: how many increments came, and arrays of a fixed shape."""

    STATE: tuple[str, ...]  # the names of the arrays
    n = 0

    def state(self) -> dict[str, Any]:
        """Plain data."""
        return {"n": self.n} | {name: getattr(self, name).tolist() for name in self.STATE}

    def restore(self, state: Mapping[str, Any], place: str) -> Self:
        """The same as it was when `state` was written."""
        self.n = int(read_like(np.int64(0), state, "n", place))
        for name in self.STATE:
            setattr(self, name, read_like(getattr(self, name), state, name, place))
        return self


class Bets(Stateful):
    """Evidence against "every increment has mean 0, given the past", by betting on both sides.

    Wealth is a mixture of the capital of constant bets from small to large on a mean above and on one below 0
    (the hedged grid Kelly bets of Waudby-Smith and Ramdas), each cut to what the increment's own bounds allow: it
    grows if any of them suits the stream. A fair game multiplies wealth beyond ``1 / level`` with probability
    `level` at most, ever. The same bets, begun anew with every increment and summed, are the e-detector of Shin,
    Ramdas and Rinaldo: without a change it takes `run_length` increments on average, at least, to sound.

    Parameters
    ----------
    scale
        The width of the widest possible bounds; bets are multiples of its inverse.

    References
    ----------
    Waudby-Smith and Ramdas (2024) [waudbysmith24]_.
    """

    STATE = ("wealth", "sums", "runs", "began", "evidence", "events")

    def __init__(self, scale: float, *, level: float, run_length: float, lag: int = 1) -> None:
        shape = (lag, 2, len(BETS))
        self.bets, self.lag = BETS / scale, lag
        self.alarm_at, self.change_at = lag / level, (1 if lag == 1 else 2) * run_length
        self.wealth, self.sums, self.runs = np.ones(shape), np.zeros(shape), np.zeros(shape)
        self.began, self.evidence = np.zeros(shape, np.int64), np.ones(lag)
        self.events = np.full(5, loops.NEVER)

    def update(self, x: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
        """Take increments in; the evidence after each: 1 at the start, alarming from ``1 / level``."""
        history = np.empty(len(x))
        state = (getattr(self, name) for name in self.STATE)
        loops.bet(x, low, high, self.n, self.bets, *state, self.alarm_at, self.change_at, history)
        self.n += len(x)
        return history

    @property
    def value(self) -> float:
        """The evidence now."""
        return float(self.evidence.max()) / self.lag

    @property
    def alarm(self) -> Event | None:
        """The first time that evidence reached ``1 / level``."""
        at, side = self.events[: loops.CHANGE].tolist()
        return None if at == loops.NEVER else Event(at, side == 0)

    @property
    def change(self) -> Event | None:
        """The first time that the detector sounded, and when that change seems to have begun."""
        at, side, began = self.events[loops.CHANGE :].tolist()
        return None if at == loops.NEVER else Event(at, side == 0, began)


class MeanSequence(Stateful):
    """A confidence sequence for the mean of the increments' expectations, each given what was known before it.

    With probability ``1 - level`` the interval holds that mean at every moment at once. Means may change from one
    increment to the next: the estimated quantity is their average so far (Choe and Ramdas). The bound is an
    empirical Bernstein one: by Fan's inequality ``exp(b (x - m) - psi_c(b) (x - g)^2)`` is at most 1 on average,
    for every guess g made before x, ``x >= g - c`` and ``b c < 1``. It is mixed over bets b, of which those that
    are too large for an increment's bounds drop out.
    """

    STATE = ("squares", "widest", "sums")

    def __init__(self, scale: float, *, level: float, lag: int = 1) -> None:
        self.scale, self.lag, self.target = scale, lag, float(np.log(2 * lag / level))
        self.squares = np.zeros((lag, 2, BINS))
        self.widest = np.full((lag, 2), BINS - 1)
        self.sums = np.zeros((lag, 4))

    def update(self, x: FloatArray, low: FloatArray, high: FloatArray) -> None:
        """Take increments in."""
        loops.gather(x, low, high, self.n, self.scale, self.squares, self.widest, self.sums)
        self.n += len(x)

    @property
    def mean(self) -> float:
        """The mean of all increments."""
        return float(self.sums[:, loops.TOTAL].sum()) / max(self.n, 1)

    def interval(self) -> tuple[float, float]:
        """Lower and upper end; as wide as the increments' own bounds while little is known."""
        start = end = 0.0
        for lane, (_, total, low, high) in enumerate(self.sums.tolist()):
            start += total - self._distance(lane, 0, total - low)
            end += total + self._distance(lane, 1, high - total)
        return start / max(self.n, 1), end / max(self.n, 1)

    def _distance(self, lane: int, side: int, furthest: float) -> float:
        """How far the sum of a lane's expectations may lie below (above) that of its increments, at most.

        The largest distance d up to `furthest` at which the mixture of ``exp(b d - penalty)``, over all bets whose
        penalty ``sum psi_c(b) (x - g)^2`` is finite, is still at most ``exp(target)``.
        """
        widest = int(np.clip(self.widest[lane, side], 0, BINS - 1))
        rooms = self.scale * 2.0 ** (-np.arange(widest, BINS) / loops.BINS_PER_OCTAVE)
        bets = SEQUENCE_BETS[SEQUENCE_BETS * rooms[0] < self.scale] / self.scale
        products = bets[:, None] * rooms
        penalties = (-np.log1p(-products) - products) / rooms**2 @ self.squares[lane, side, widest:]
        distance, step = furthest, np.inf
        while step > LAST_STEP * abs(
            distance
        ):  # Newton's method from the right: the logarithm is convex, and rises
            powers = bets * distance - penalties
            odds = np.exp(powers - powers.max())
            excess = powers.max() + np.log(odds.sum() / len(SEQUENCE_BETS)) - self.target
            step = max(0.0, float(excess * odds.sum() / (odds @ bets)))
            distance -= step
        return distance


class Ranks:
    """Each value's rank among all so far, as a number in (0, 1): independent and uniform for exchangeable values.

    Ranks are those of a conformal test of exchangeability (Vovk). Values from 0 to `scale` are told apart to a
    thousandth of it, and ties are broken by a fixed sequence of random numbers: that needs few numbers, however
    long the stream is, and is exact.
    """

    def __init__(self, scale: float) -> None:
        self.scale, self.n = scale, 0
        self.tree = np.zeros(RANK_BINS + 1, np.int64)  # a Fenwick tree of how many values fell into each bin

    def update(self, values: FloatArray) -> FloatArray:
        """The rank of each value when it came."""
        shares = np.empty(len(values))
        loops.rank(values, self.scale, self.tree, self.n, uniforms(self.n, len(values)), shares)
        self.n += len(values)
        return shares

    def state(self) -> dict[str, Any]:
        """Plain data: the entries of the tree that are in use."""
        used = np.flatnonzero(self.tree)
        return {"n": self.n, "entries": used.tolist(), "counts": self.tree[used].tolist()}

    def restore(self, state: Mapping[str, Any], place: str) -> Self:
        """The ranks as they were when `state` was written."""
        self.n, listed = int(read_like(np.int64(0), state, "n", place)), state.get("entries")
        model = np.zeros(len(listed) if isinstance(listed, list) else 0, np.int64)
        entries, counts = (read_like(model, state, name, place) for name in ("entries", "counts"))
        if not ((entries > 0) & (entries <= RANK_BINS)).all():
            raise InputError("does not fit its counts", place=f"{place}.entries", fix="the state is damaged")
        self.tree[entries] = counts
        return self


def read_like(model: Any, state: Mapping[str, Any], name: str, place: str) -> Any:
    """An array of finite numbers out of plain data, of the shape and type of another."""
    with suppress(KeyError, TypeError, ValueError, OverflowError):
        array = np.array(state[name], dtype=model.dtype)
        if array.shape == model.shape and np.isfinite(array).all():
            return array
    problem = f"is no table of numbers of shape {model.shape}"
    raise InputError(problem, place=f"{place}.{name}", fix="the state is damaged")
