"""Unit costs from any positive scipy.stats distribution: the pair loss by quadrature, tabulated once.

With f the density of u, independent costs have for ``d = ln r >= 0``

    fall(d)   = -share'(d)    = 1/E[u] * int e^(3t+d) f(e^t) f(e^(t+d)) dt,    share'(-d) = e^d share'(d),
    ahead(d)  = share(d)      = int_d^inf fall(x) dx,
    behind(d) = 1 - share(-d) = int_d^inf e^x fall(x) dx.

The symmetry on the first line is what makes the score proper. Only densities enter: scipy's distribution and
survival functions lose their digits in one tail or the other. The two decreasing functions are tabulated as
logarithms, over ``s = -reach ln(1 - d/reach)`` with reach = ln(b/a) for a support (a, b): s makes a line of the
power law near a bounded support's end; where there is no such end it is d, in which heavy tails are lines anyway.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pandora_regret.inputs.numbers import FloatArray, InputError, InputTypeError
from pandora_regret.priors.base import Class, Prior

TOLERANCE = 1e-9  # of a whole against its two halves, which are what is used, and are at least 16 times better
WORST_ERROR = 8e-9  # beyond it the promised 1e-8 cannot be kept
FLOORS = np.array([-72.0, -40.0])  # ln ahead, ln behind: below (5e-32, and 1 - behind = 1) digits are moot
LARGEST_LOG = 690.0  # e^-690 to e^690 fit a float64
CLOSEST = 1e-7  # how near the table comes to the end of a bounded support, where rounding of d takes over
MOST_NODES = 5_000


class FromScipy(Prior):
    """Independent unit costs that follow any positive continuous scipy.stats distribution.

    The pair loss is found by adaptive quadrature of the density, tabulated on first use (mostly well within a
    second) and interpolated monotonically, to 1e-8 relative. The score is strictly proper if costs can come
    arbitrarily near to zero or to infinity; a support is taken to have no gaps.

    Parameters
    ----------
    dist
        A frozen distribution such as ``scipy.stats.weibull_min(1.5)``, with support within [0, inf) and a
        finite mean.

    Examples
    --------
    >>> from scipy import stats
    >>> prior = FromScipy(stats.gamma(1.0, scale=2.0))
    >>> prior
    FromScipy(gamma(1.0, scale=2.0))
    >>> prior.pair_loss([0.0, 1.0, 3.0]).round(8)
    array([2.   , 0.5  , 0.125])
    """

    def __init__(self, dist: Any) -> None:
        self.dist = dist
        self._low, self._high, self._mean = _read_distribution(dist)

    def __repr__(self) -> str:
        return f"FromScipy({_named(self.dist)})"

    @property
    def mean(self) -> float:
        """The distribution's mean."""
        return self._mean

    @property
    def strictly_proper(self) -> bool:
        """Whether the support (a, b) reaches zero or infinity: odds beyond b/a change no order."""
        return self._low == 0 or self._high == np.inf

    def share(self, log_odds: FloatArray, i: Class = 0, j: Class = 1) -> FloatArray:
        """Interpolated: ``ahead(d)`` for odds above one, ``1 - behind(-d)`` below."""
        logs = self._table.look_up(log_odds)[1]
        return np.where(np.signbit(log_odds), -np.expm1(logs), np.exp(logs))

    def share_slope(self, log_odds: FloatArray, i: Class = 0, j: Class = 1) -> FloatArray:
        """The derivative of the interpolated share."""
        place, logs, tilt = self._table.look_up(log_odds)
        with np.errstate(invalid="ignore"):  # inf - inf beyond the support, where the slope is zero
            slope = -np.abs(tilt) * np.exp(logs + np.abs(place) / self._table.reach)
        return np.where(np.isinf(place), 0.0, slope)

    def draw(self, n_draws: int, n_classes: int, rng: np.random.Generator) -> FloatArray:
        """The distribution's own ``rvs``."""
        return np.asarray(self.dist.rvs(size=(n_draws, n_classes), random_state=rng), dtype=np.float64)

    @cached_property
    def _table(self) -> _Table:
        with np.errstate(all="ignore"):  # densities may be zero, infinite or undefined where a support ends
            return _tabulate(_Law(self.dist, *np.log([self._low, self._high, self._mean])))


@dataclass(frozen=True)
class _Table:
    """``ln behind`` over -s and ``ln ahead`` over s, from the first to the last place s of the table."""

    curve: Any
    tilt: Any
    first: float
    last: float
    reach: float

    def look_up(self, log_odds: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The signed place, the logarithm there and its derivative; beyond the table along the last tangent."""
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
    """The density, and in logarithms the ends of its support and its mean."""

    dist: Any
    low: float
    high: float
    log_mean: float

    @cached_property
    def bulk(self) -> tuple[float, float]:
        """Where most of ln u lies: centre and half-width."""
        left, centre, right = np.clip(np.log(self.dist.ppf([0.16, 0.5, 0.84])), -LARGEST_LOG, LARGEST_LOG)
        return centre, min((right - left) / 2, 20.0)

    def log_integrand(self, t: FloatArray, d: FloatArray) -> FloatArray:
        logs = self.dist.logpdf(np.exp(t)) + self.dist.logpdf(np.exp(t + d)) + (3 * t + d - self.log_mean)
        return np.where(np.isfinite(logs), logs, -np.inf)

    def window(self, d: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """For each d: from where to where the integrand exceeds e^-50 of its peak, and the peak's logarithm."""
        low, high = max(self.low, -LARGEST_LOG), np.minimum(self.high, LARGEST_LOG) - d
        steps = self.bulk[0] + self.bulk[1] * np.sinh(np.linspace(-7, 7, 49))
        mesh = np.hstack([steps - 0 * d, steps - d, low + (high - low) * np.linspace(0, 1, 18)])
        mesh = np.sort(np.clip(mesh, low, high))
        logs = self.log_integrand(mesh, d)
        peak = np.maximum(logs.max(axis=1, keepdims=True), -1e300)
        above = logs > peak - 50
        first = np.maximum(above.argmax(axis=1, keepdims=True) - 1, 0)
        last = mesh.shape[1] - np.maximum(above[:, ::-1].argmax(axis=1, keepdims=True), 1)
        return np.take_along_axis(mesh, first, 1), np.take_along_axis(mesh, last, 1), peak

    def log_fall(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        """``ln fall`` at d, shape (n, 1), and its errors."""
        left, right, peak = self.window(d)
        nodes, weights = np.polynomial.legendre.leggauss(16)

        def panel_sums(owner: Any, start: FloatArray, size: FloatArray) -> FloatArray:
            t, pace = _eased(start[:, None] + size[:, None] * (nodes + 1) / 2, left[owner], right[owner])
            logs = self.log_integrand(t, d[owner]) - peak[owner]
            return np.asarray((np.exp(logs) * pace) @ weights * size / 2)

        total, error = _bisect(panel_sums, len(d))
        return np.log(total)[:, None] + peak, (error / total)[:, None]

    def densities(self, place: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The logarithms of fall and of ``e^x fall`` per unit of s, (n, 2), and the errors of both."""
        s, reach = place[:, None], self.high - self.low
        d = s if reach == np.inf else -reach * np.expm1(-s / reach)
        parts = [self.log_fall(some) for some in np.array_split(d, 1 + len(d) // 2000)]
        logs, error = (np.concatenate(each) for each in zip(*parts, strict=True))
        return logs - s / reach + d * [0, 1], error

    def rows(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """For each cell of s its left end, both integrals over it, their errors, both log densities on the left."""
        nodes, weights = np.polynomial.legendre.leggauss(5)
        size = (right - left)[:, None] / 2
        logs, error = self.densities(np.hstack([left[:, None], left[:, None] + size * (nodes + 1)]).ravel())
        both = np.exp(logs) * (size * np.append(0, weights)).reshape(-1, 1)
        sums = np.hstack([both, both * error]).reshape(-1, 6, 4).sum(axis=1)
        return np.column_stack([left, sums, logs[::6]])

    def first_rows(self) -> FloatArray:
        """From next to even odds, where fall may be infinite, to where it is negligible, and a tail beyond."""
        width = self.bulk[1]
        limit = min(LARGEST_LOG - 90, -np.log(CLOSEST) * (self.high - self.low)) / width
        place = width * np.concatenate([[1e-11], np.arange(1, 16) / 4, np.geomspace(4, limit, 60)])
        logs = self.densities(place)[0]
        keep = np.logical_and.accumulate(np.isfinite(logs).all(axis=1) & (logs > FLOORS - 12).any(axis=1))
        place, logs = place[keep], logs[keep]
        decay = (logs[-2] - logs[-1]) / (place[-1] - place[-2])
        tail = np.concatenate([place[-1:], np.exp(logs[-1]) / decay, [0, 0], logs[-1]])
        return np.vstack([self.rows(place[:-1], place[1:]), tail])

    def check(self, error: float) -> None:
        if not error < WORST_ERROR:
            raise InputError(
                f"dist is {_named(self.dist)}, whose pair loss could not be integrated to 1e-8 relative (but to "
                f"{error:.1g}): its density is too rough or its tail too heavy. Pass a smoother distribution, or "
                "use Empirical on a sample of it."
            )


def _eased(v: FloatArray, left: FloatArray, right: FloatArray) -> tuple[FloatArray, FloatArray]:
    """From left to right as v goes from 0 to 1, and its pace: so slow at the ends that a density may be infinite there.

    Each half is measured from its own end, where a singular density magnifies rounding.
    """
    near = np.minimum(v, 1 - v)
    step = (right - left) * near**4 * (35 - near * (84 - near * (70 - 20 * near)))
    return np.where(v < 0.5, left + step, right - step), (right - left) * 140 * (v * (1 - v)) ** 3


def _bisect(panel_sums: Any, n: int, panels: int = 6) -> tuple[FloatArray, FloatArray]:
    """N integrals over [0, 1] and their errors: panels are halved until the halves add up to the whole.

    So kinks and jumps of a density are found wherever they are. More than 64 open panels are rounding noise.
    """
    total, error = np.zeros(n), np.zeros(n)
    owner, start = np.repeat(np.arange(n), panels), np.tile(np.arange(panels) / panels, n)
    size = np.full(len(owner), 1 / panels)
    values = panel_sums(owner, start, size)
    while len(owner):
        size = np.repeat(size / 2, 2)
        start = np.repeat(start, 2) + size * np.tile([0, 1], len(owner))
        halves = panel_sums(np.repeat(owner, 2), start, size)
        better = halves.reshape(-1, 2).sum(axis=1)
        gap = np.abs(better - values)
        still = gap > TOLERANCE * (total + np.bincount(owner, better, n))[owner]
        still &= (np.bincount(owner, still, n)[owner] <= 64) & (size[::2] > 1e-12)
        total += np.bincount(owner, better * ~still, n)
        error += np.bincount(owner, gap * ~still, n)
        both = np.repeat(still, 2)
        owner, start, size, values = np.repeat(owner, 2)[both], start[both], size[both], halves[both]
    return total, error


def _tabulate(law: _Law) -> _Table:
    from scipy.interpolate import CubicHermiteSpline

    rows = _refined(law)
    logs, slopes = _levels(rows)
    at_even_odds = np.logaddexp(*logs[0])  # ahead and behind add up to one there
    law.check(abs(at_even_odds))
    place, logs = rows[:, 0], logs - at_even_odds
    curve = CubicHermiteSpline(
        np.concatenate([-place[::-1], place]),
        np.concatenate([logs[::-1, 1], logs[:, 0]]),
        np.concatenate([-slopes[::-1, 1], slopes[:, 0]]),
    )
    return _Table(curve, curve.derivative(), place[0], place[-1], law.high - law.low)


def _refined(law: _Law) -> FloatArray:
    """Cells are halved until the halves add up, the cubic predicts the middle, and both halves are monotone."""
    rows = law.first_rows()
    split = np.arange(len(rows) - 1)
    while len(split):
        left, right, whole = rows[split, 0], rows[split + 1, 0], rows[split, 1:3]
        rows[split] = law.rows(left, (left + right) / 2)
        rows = np.insert(rows, split + 1, law.rows((left + right) / 2, right), axis=0)
        law.check(_error(rows) if len(rows) < MOST_NODES else np.inf)
        middle = split + 1 + np.arange(len(split))
        again = middle[_is_rough(rows, middle, whole)]
        split = np.column_stack([again - 1, again]).ravel()
    return rows


def _is_rough(rows: FloatArray, middle: Any, whole: FloatArray) -> Any:
    logs, slopes = _levels(rows)
    size, (left, right) = np.diff(rows[:, :1], axis=0), (middle - 1, middle + 1)
    cubic = (logs[left] + logs[right]) / 2 + size[left] * (slopes[left] - slopes[right]) / 4
    off = ~(np.abs(cubic - logs[middle]) < TOLERANCE)
    off |= np.abs(rows[left, 1:3] + rows[middle, 1:3] - whole) > TOLERANCE * np.exp(logs[left])
    wavy = np.hypot(slopes[:-1], slopes[1:]) > -3 * np.diff(logs, axis=0) / size  # Fritsch and Carlson
    return (off & (logs[left] > FLOORS) | wavy[left] | wavy[middle]).any(axis=1)


def _levels(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """``ln ahead`` and ``ln behind`` at each place, (n, 2), summed up from the far end; and their derivatives."""
    logs = np.log(np.cumsum(rows[::-1, 1:3], axis=0)[::-1])
    return logs, -np.exp(rows[:, 5:] - logs)


def _error(rows: FloatArray) -> float:
    logs = _levels(rows)[0]
    return float(np.max(np.cumsum(rows[::-1, 3:5], axis=0)[::-1] / np.exp(logs), where=logs > FLOORS, initial=0))


def _read_distribution(dist: Any) -> tuple[float, float, float]:
    """The ends of the support and the mean of a frozen positive distribution."""
    from scipy.stats import rv_continuous

    if not isinstance(getattr(dist, "dist", None), rv_continuous):
        raise InputTypeError(f"dist must be a frozen scipy.stats distribution such as gamma(2.0), got {dist!r}.")
    low, high, mean = (np.asarray(value, dtype=np.float64) for value in (*dist.support(), dist.mean()))
    name = f"dist is {_named(dist)}"
    if mean.ndim or np.isnan(low):
        raise InputError(f"{name}: pass one number for each parameter, within the distribution's domain.")
    if low < 0:
        raise InputError(f"{name}, whose support starts at {low:g}: costs are positive, so truncate or shift it.")
    if not mean < np.inf:
        raise InputError(f"{name}, whose mean is {mean:g}: a mean cost must be finite; choose a lighter tail.")
    return float(low), float(high), float(mean)


def _named(dist: Any) -> str:
    arguments = [*map(repr, dist.args), *(f"{name}={value!r}" for name, value in dist.kwds.items())]
    return f"{dist.dist.name}({', '.join(arguments)})"
