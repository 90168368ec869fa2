"""Unit costs from any positive scipy.stats distribution: the pair loss by quadrature, tabulated once.

With ``g`` the density of ``ln u``, F and S the distribution and survival functions of u, and ``d >= 0``:

    ahead(d)  = share(d)      = 1/E[u] * int e^t     g(t)     S(e^(t+d)) dt
    behind(d) = 1 - share(-d) = 1/E[u] * int e^(t+d) g(t + d) F(e^t)     dt
    fall(d)   = -share'(d)    = 1/E[u] * int e^t     g(t)     g(t + d)   dt

and ``share'(-d) = e^d share'(d)``, which is the identity that makes the score proper. Only the two decreasing
functions are tabulated, as logarithms: no digit is lost in either tail, and the bend that a jump of the density
puts into the share at even odds falls between the two tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pandora_regret.inputs.numbers import FloatArray, InputError, InputTypeError
from pandora_regret.priors.base import Class, Prior

TABLE_TOLERANCE = (
    1e-9  # of a cell's cubic at its midpoint; the midpoint then joins, so the table is 16 times better
)
PANEL_TOLERANCE = 1e-10  # of a panel against its two halves, which are far closer to the truth than to the panel
WORST_ERROR = 8e-9  # of an integral: beyond it the promised 1e-8 cannot be kept
FLOORS = np.array([-72.0, -40.0])  # ln ahead, ln behind: below these (5e-32, and 1 - behind = 1) digits are moot
LARGEST_LOG = 690.0  # unit costs from e^-690 to e^690 fit a float64
CLOSEST = 1e-7  # how near the table comes to the end of a bounded support, where rounding of d takes over
MOST_NODES = 30_000
NODES, WEIGHTS = np.polynomial.legendre.leggauss(16)


class FromScipy(Prior):
    """Independent unit costs that follow any positive continuous scipy.stats distribution.

    The pair loss is found by adaptive quadrature, tabulated on first use (a fraction of a second for most
    distributions) and interpolated monotonically, to 1e-8 relative. The score is strictly proper
    if costs can come arbitrarily near to zero or to infinity. A density is taken to have no gap in its support.

    Parameters
    ----------
    dist
        A frozen distribution such as ``scipy.stats.weibull_min(1.5)``, with support within [0, inf) and a
        finite mean.

    Examples
    --------
    >>> from scipy import stats
    >>> prior = FromScipy(stats.expon())
    >>> prior
    FromScipy(expon())
    >>> prior.pair_loss([0.0, 1.0, 3.0]).round(8)
    array([1.    , 0.25  , 0.0625])
    """

    def __init__(self, dist: Any) -> None:
        self.dist = _frozen(dist)
        self._support = _positive_support(dist)
        self._mean = _finite_mean(dist)

    def __repr__(self) -> str:
        return f"FromScipy({_named(self.dist)})"

    @property
    def mean(self) -> float:
        """The distribution's mean."""
        return self._mean

    @property
    def strictly_proper(self) -> bool:
        """Whether the support reaches zero or infinity; otherwise no odds beyond b/a can change the order."""
        return self._support[0] == 0 or self._support[1] == np.inf

    def share(self, log_odds: FloatArray, i: Class = 0, j: Class = 1) -> FloatArray:
        """Interpolated: ``ahead(d)`` for odds above one, ``1 - behind(-d)`` below."""
        logs = self._table.look_up(log_odds)[1]
        return np.asarray(np.where(np.signbit(log_odds), -np.expm1(logs), np.exp(logs)))

    def share_slope(self, log_odds: FloatArray, i: Class = 0, j: Class = 1) -> FloatArray:
        """The derivative of the interpolated share."""
        place, logs, tilt = self._table.look_up(log_odds)
        with np.errstate(invalid="ignore"):  # beyond the support: inf - inf, set to zero below
            slope = -np.abs(tilt) * np.exp(logs + np.abs(place) / self._table.reach)
        return np.asarray(np.where(np.isinf(place), 0.0, slope))

    def draw(self, n_draws: int, n_classes: int, rng: np.random.Generator) -> FloatArray:
        """The distribution's own ``rvs``."""
        return np.asarray(self.dist.rvs(size=(n_draws, n_classes), random_state=rng), dtype=np.float64)

    @cached_property
    def _table(self) -> _Table:
        with np.errstate(
            all="ignore"
        ):  # densities at the ends of their support, survival functions that underflow
            return _tabulate(_Law.of(self.dist, self._support, self._mean))


@dataclass(frozen=True)
class _Table:
    """``ln behind`` at ``-d`` and ``ln ahead`` at d, side by side, over a place s in which both end as lines.

    ``s = -reach ln(1 - |d| / reach)`` with reach = ln(b/a): the power law near the end of a bounded support
    becomes a line, as the power law of a heavy tail is one in d. Without such an end, s = d.
    """

    curve: Any
    tilt: Any
    first: float
    last: float
    reach: float

    def look_up(self, log_odds: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The place, the logarithm there and its derivative in s; beyond the table along the last tangent."""
        place = np.abs(np.asarray(log_odds, dtype=np.float64))
        if self.reach < np.inf:
            with np.errstate(divide="ignore"):
                place = -self.reach * np.log1p(-np.minimum(place / self.reach, 1))
        place = np.copysign(np.maximum(place, self.first), log_odds)
        inside = np.clip(place, -self.last, self.last)
        tilt = self.tilt(inside)
        return place, self.curve(inside) + tilt * (place - inside), tilt


@dataclass(frozen=True)
class _Law:
    """The distribution of ``ln u``: where it lies, and the three integrands."""

    dist: Any
    log_mean: float
    low: float
    high: float
    centre: float
    width: float

    @classmethod
    def of(cls, dist: Any, support: tuple[float, float], mean: float) -> _Law:
        low, high = np.log(support)
        left, centre, right = np.clip(np.log(dist.ppf([0.16, 0.5, 0.84])), -LARGEST_LOG, LARGEST_LOG)
        return cls(dist, np.log(mean), low, high, centre, min((right - left) / 2, 20.0))

    def log_integrands(self, t: FloatArray, d: FloatArray) -> FloatArray:
        """Of ahead, behind and fall, stacked."""
        near, far = np.exp(t), np.exp(t + d)
        near_density = self.dist.logpdf(near) + 2 * t - self.log_mean
        far_density = self.dist.logpdf(far) + t + d
        behind = far_density + t + d - self.log_mean + self.dist.logcdf(near)
        logs = np.stack([near_density + self.dist.logsf(far), behind, near_density + far_density])
        return np.where(np.isfinite(logs), logs, -np.inf)

    def window(self, d: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """For each d the range of t outside which the integrands are below e^-50 of their peak, and the peaks."""
        low = np.full_like(d, max(self.low, -LARGEST_LOG))[:, None]
        high = np.minimum(self.high, LARGEST_LOG) - d[:, None]
        steps = self.centre + self.width * np.sinh(np.linspace(-7, 7, 57))
        mesh = np.clip(np.hstack([steps - 0 * high, steps - d[:, None]]), low, high)
        mesh = np.sort(np.hstack([low, mesh, low + (high - low) * np.linspace(0, 1, 18)]))
        logs = self.log_integrands(mesh, d[:, None])
        peaks = np.maximum(logs.max(axis=2), -1e300)
        active = (logs > peaks[..., None] - 50).any(axis=0)
        first = np.maximum(active.argmax(axis=1) - 1, 0)
        last = np.maximum(active[:, ::-1].argmax(axis=1) - 1, 0)
        rows = np.arange(len(d))
        return mesh[rows, first], mesh[rows, mesh.shape[1] - 1 - last], peaks

    def integrals(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The logarithms of ahead, behind and fall at each d, (3, n), and their relative errors.

        Panels are halved until the halves add up to the whole, so kinks of a density are found wherever they lie.
        """
        left, right, peaks = self.window(d)

        def panel_sums(owner: Any, start: FloatArray, size: FloatArray) -> FloatArray:
            step, pace = _smooth_step(start[:, None] + size[:, None] * (NODES + 1) / 2)
            span = (right - left)[owner, None]
            logs = self.log_integrands(left[owner, None] + span * step, d[owner, None])
            values = np.exp(logs - peaks[:, owner, None]) * pace * span
            return np.asarray(values @ WEIGHTS * size / 2)

        total, error = _bisect(panel_sums, len(d))
        return np.log(total) + peaks, error / total

    def rows(self, place: FloatArray) -> FloatArray:
        """A row for each place s: s, ln ahead, ln behind, and the derivatives of both in s."""
        reach = self.high - self.low
        d = place if reach == np.inf else -reach * np.expm1(-place / reach)
        parts = [self.integrals(some) for some in np.array_split(d, 1 + len(d) // 500)]
        logs, error = (np.hstack(each) for each in zip(*parts, strict=True))
        live = (logs[:2] > FLOORS[:, None]) & (logs[:2] < np.inf)
        self.check(np.max(np.where(live, np.maximum(error[:2], error[2]), 0)))
        slopes = -np.exp(logs[2] + [0 * d, d] - logs[:2] - place / reach)
        return np.column_stack([place, *logs[:2], *slopes])

    def check(self, error: float) -> None:
        if not error < WORST_ERROR:
            raise InputError(
                f"dist is {_named(self.dist)}, whose pair loss could be integrated to a relative error of "
                f"{error:.1g} only, not 1e-8: its density is too rough or its tail too heavy. "
                "Use a smoother distribution, or Empirical on a sample of it."
            )


def _smooth_step(v: FloatArray) -> tuple[FloatArray, FloatArray]:
    """A step from 0 to 1 and its derivative, flat enough at both ends to take the sting out of singular densities."""
    from_end = np.minimum(v, 1 - v)
    step = from_end**4 * (35 - from_end * (84 - from_end * (70 - 20 * from_end)))
    return np.where(v < 0.5, step, 1 - step), 140 * (v * (1 - v)) ** 3


def _bisect(panel_sums: Any, n: int, panels: int = 6, depth: int = 40) -> tuple[FloatArray, FloatArray]:
    """Integrals over [0, 1], (3, n), and bounds of their errors; all open panels of all n are halved together."""
    total, error = np.zeros((3, n)), np.zeros((3, n))
    owner, start = np.repeat(np.arange(n), panels), np.tile(np.arange(panels) / panels, n)
    size = np.full(len(owner), 1 / panels)
    values = panel_sums(owner, start, size)
    for level in range(depth):
        halves = np.repeat(size / 2, 2)
        starts = np.repeat(start, 2) + halves * np.tile([0, 1], len(owner))
        parts = panel_sums(np.repeat(owner, 2), starts, halves)
        better = parts.reshape(3, -1, 2).sum(axis=2)
        gap = np.abs(better - values)
        whole = total + _gathered(better, owner, n)
        still = (gap > PANEL_TOLERANCE * whole[:, owner]).any(axis=0)
        still &= (level < depth - 1) & (len(owner) < 100 * panels * n)  # rounding noise would be halved for ever
        total += _gathered(better * ~still, owner, n)
        error += _gathered(gap * ~still, owner, n)
        both = np.repeat(still, 2)
        owner, start, size, values = np.repeat(owner, 2)[both], starts[both], halves[both], parts[:, both]
        if not len(owner):
            break
    return total, error


def _gathered(values: FloatArray, owner: Any, n: int) -> FloatArray:
    return np.stack([np.bincount(owner, row, minlength=n) for row in values])


def _tabulate(law: _Law) -> _Table:
    from scipy.interpolate import CubicHermiteSpline

    rows = _refined(law, _first_rows(law))
    ahead_and_behind = np.logaddexp(rows[0, 1], rows[0, 2])  # at even odds they add up to one
    law.check(abs(ahead_and_behind))
    place, logs, slopes = rows[:, 0], rows[:, 1:3] - ahead_and_behind, rows[:, 3:]
    curve = CubicHermiteSpline(
        np.concatenate([-place[::-1], place]),
        np.concatenate([logs[::-1, 1], logs[:, 0]]),
        np.concatenate([-slopes[::-1, 1], slopes[:, 0]]),
    )
    return _Table(curve, curve.derivative(), place[0], place[-1], law.high - law.low)


def _first_rows(law: _Law) -> FloatArray:
    """From next to even odds, where the slope may be infinite, to where both functions are negligible."""
    limit = min(LARGEST_LOG - 90, -np.log(CLOSEST) * (law.high - law.low)) / law.width
    steps = np.concatenate([[1e-11], np.arange(1, 16) / 4, np.geomspace(4, limit, 60)])
    rows = law.rows(law.width * steps)
    over = ~np.isfinite(rows).all(axis=1)
    over[1:] |= (rows[:-1, 1:3] < FLOORS).all(axis=1)
    rows = rows[: np.argmax(over)] if over.any() else rows
    law.check(np.inf if over.any() and rows[-1, 2] > FLOORS[1] + 4 else 0)
    return rows


def _refined(law: _Law, rows: FloatArray) -> FloatArray:
    """Cells are halved until their cubic predicts the value at their midpoint and is monotone on both halves."""
    left, right, found = rows[:-1], rows[1:], rows
    while len(left):
        middle = law.rows((left[:, 0] + right[:, 0]) / 2)
        found = np.concatenate([found, middle])
        again = _missed(left, middle, right) | _wavy(left, middle) | _wavy(middle, right)
        left, right = (
            np.concatenate([left, middle])[np.tile(again, 2)],
            np.concatenate([middle, right])[np.tile(again, 2)],
        )
        if len(found) > MOST_NODES:
            law.check(np.inf)
    return found[np.argsort(found[:, 0])]


def _missed(left: FloatArray, middle: FloatArray, right: FloatArray) -> Any:
    bend = (right[:, :1] - left[:, :1]) * (left[:, 3:] - right[:, 3:]) / 8
    gap = np.abs((left[:, 1:3] + right[:, 1:3]) / 2 + bend - middle[:, 1:3])
    return (~(gap < TABLE_TOLERANCE) & (left[:, 1:3] > FLOORS)).any(axis=1)


def _wavy(left: FloatArray, right: FloatArray) -> Any:
    """Where the condition of Fritsch and Carlson for a monotone cubic fails."""
    secant = (right[:, 1:3] - left[:, 1:3]) / (right[:, :1] - left[:, :1])
    return (np.hypot(left[:, 3:], right[:, 3:]) > -3 * secant).any(axis=1)


def _frozen(dist: Any) -> Any:
    from scipy.stats import rv_continuous

    if not isinstance(getattr(dist, "dist", None), rv_continuous):
        raise InputTypeError(
            f"dist must be a frozen continuous scipy.stats distribution, such as scipy.stats.gamma(2.0), got {dist!r}."
        )
    return dist


def _positive_support(dist: Any) -> tuple[float, float]:
    low, high = (np.asarray(end, dtype=np.float64) for end in dist.support())
    if low.ndim or np.isnan(low) or np.isnan(high):
        raise InputError(
            f"dist is {_named(dist)}: pass one number for each of its parameters, within their domain."
        )
    if low < 0:
        raise InputError(
            f"dist is {_named(dist)}, whose support starts at {low:g}: costs are positive, so shift it with loc, "
            "truncate it, or choose a distribution on (0, inf)."
        )
    return float(low), float(high)


def _finite_mean(dist: Any) -> float:
    mean = float(dist.mean())
    if not 0 < mean < np.inf:
        raise InputError(
            f"dist is {_named(dist)}, whose mean is {mean:g}: the expected search cost needs a finite mean; "
            "choose a lighter tail or truncate it."
        )
    return mean


def _named(dist: Any) -> str:
    arguments = [f"{value!r}" for value in dist.args] + [f"{name}={value!r}" for name, value in dist.kwds.items()]
    return f"{dist.dist.name}({', '.join(arguments)})"
