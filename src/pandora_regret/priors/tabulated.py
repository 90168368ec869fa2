"""Unit costs from any positive scipy.stats distribution: the pair loss by quadrature, tabulated once.

With f the density of u, independent costs have for ``d = ln r >= 0``

    fall(d)   = -share'(d)    = 1/E[u] * int e^(3t+d) f(e^t) f(e^(t+d)) dt,    share'(-d) = e^d share'(d),
    ahead(d)  = share(d)      = int_d^inf fall(x) dx,
    behind(d) = 1 - share(-d) = int_d^inf e^x fall(x) dx.

The symmetry on the first line is what makes the score proper. Only densities enter: scipy's distribution and
survival functions lose their digits in one tail or the other. The table holds ``ln(share / (1 - share))``, so both
keep theirs, over ``s = -reach ln(1 - d/reach)`` with reach = ln(b/a) for a support (a, b): it makes a line of the
power law near a bounded support's end; where there is no such end s is d, in which heavy tails are lines anyway.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.random import Generator

from pandora_regret.inputs.errors import InputError, InputTypeError
from pandora_regret.inputs.numbers import FloatArray
from pandora_regret.priors.base import Class, Prior

CELL_TOLERANCE = 1e-9  # of a cell of the table against its two halves, which are what is used and are far better
PANEL_TOLERANCE = 3e-10  # the same for a panel of an integral; much smaller would be below rounding noise
WORST_ERROR = 8e-9  # of the whole, which is known; beyond it the promised 1e-8 cannot be kept
FLOORS = np.array([-72.0, -40.0])  # logits of ahead and behind below which digits are moot: 5e-32, and 4e-18 of 1
LARGEST_LOG = 690.0  # e^-690 to e^690 fit a float64
CLOSEST = 1e-7  # how near the table comes to the end of a bounded support, where rounding of d takes over
PANELS = 6  # of an integral, before any is halved
POINTS = 16  # of a panel
MANY = 400  # places at once are all over the table
MOST_NODES = 1_500


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

    mean = 0.0  # the distribution's, as is what follows
    strictly_proper = False  # unless the support (a, b) reaches zero or infinity: odds beyond b/a change no order

    def __init__(self, dist: Any) -> None:
        from scipy.stats import rv_continuous

        if not isinstance(getattr(dist, "dist", None), rv_continuous):
            problem = f"must be a frozen scipy.stats distribution such as gamma(2.0), got {dist!r:.200}"
            raise InputTypeError(problem, argument="dist", value=dist)
        self.dist = dist
        with np.errstate(all="ignore"):  # a mean that overflows is infinite, and refused below
            low, high, mean = (np.asarray(value, dtype=np.float64) for value in (*dist.support(), dist.mean()))
            self._log_low, self._log_high, self._log_mean = np.log(low), np.log(high), np.log(mean)
        if mean.ndim or np.isnan(low):
            raise self._refused("", "pass one number for each parameter, within the distribution's domain")
        if low < 0:
            fix = "costs are positive, so truncate or shift it"
            raise self._refused(f", whose support starts at {low:g}", fix)
        if not mean < np.inf:
            fix = "a mean cost must be finite; choose a lighter tail"
            raise self._refused(f", whose mean is {mean:g}", fix)
        self.mean, self.unbounded = float(mean), bool(high == np.inf)
        self._reach = float(self._log_high - self._log_low)
        self.strictly_proper = self._reach == np.inf

    def __repr__(self) -> str:
        arguments = [*map(repr, self.dist.args), *(f"{name}={value!r}" for name, value in self.dist.kwds.items())]
        return f"FromScipy({self.dist.dist.name}({', '.join(arguments)}))"

    def _refused(self, why: str, fix: str) -> InputError:
        problem = f"is {repr(self).removeprefix('FromScipy(')[:-1]}{why}"
        return InputError(problem, argument="dist", value=self.dist, fix=fix)

    def share(self, log_odds: FloatArray, i: Class = 0, j: Class = 1) -> FloatArray:
        """Interpolated, on the scale of its logit."""
        from scipy.special import expit

        return np.asarray(expit(self._look_up(log_odds)[1]))

    def share_slope(self, log_odds: FloatArray, i: Class = 0, j: Class = 1) -> FloatArray:
        """The derivative of the interpolated share."""
        from scipy.special import expit

        place, logit, tilt = self._look_up(log_odds)
        with np.errstate(invalid="ignore"):  # 0 * inf beyond the support, where the slope is zero
            slope = tilt * np.exp(np.abs(place) / self._reach) * expit(logit) * expit(-logit)
        return np.where(np.isinf(place), 0.0, slope)

    def draw(self, n_draws: int, n_classes: int, rng: Generator) -> FloatArray:
        """The distribution's own ``rvs``."""
        return np.asarray(self.dist.rvs(size=(n_draws, n_classes), random_state=rng), dtype=np.float64)

    def _look_up(self, log_odds: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The place s with the sign of d, the logit there and its derivative in s; far out along a tangent."""
        place, ends = np.abs(np.asarray(log_odds, dtype=np.float64)), self._curve.x
        if self._reach < np.inf:
            with np.errstate(divide="ignore"):
                place = -self._reach * np.log1p(-np.minimum(place / self._reach, 1))
        place = np.copysign(np.maximum(place, ends[len(ends) // 2]), log_odds)
        inside = np.clip(place, ends[0], ends[-1])
        tilt = self._curve(inside, 1)
        return place, self._curve(inside) + tilt * (place - inside), tilt

    @cached_property
    def _curve(self) -> Any:
        """The logit of the share over s, with the sign of d, as a piecewise cubic."""
        from scipy.interpolate import CubicHermiteSpline

        try:
            with np.errstate(all="ignore"):  # densities may be zero, infinite or undefined where a support ends
                place, logits, slopes = self._tabulated()
        except ArithmeticError:
            why = "cannot be tabulated to 1e-8 relative: its density is too rough or its tail too heavy"
            raise self._refused(
                f", whose pair loss {why}", "pass a smoother one, or use Empirical on a sample of it"
            ) from None
        places = np.concatenate([-place[::-1], place])
        tilts = np.concatenate([slopes[::-1, 1], slopes[:, 0]])
        return CubicHermiteSpline(places, np.concatenate([-logits[::-1, 1], logits[:, 0]]), tilts)

    def _tabulated(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Places, the logits of ahead and behind there, (n, 2), and their derivatives.

        Every interval carries its own integrals, so that a place's share is a running sum of them. An interval is
        halved as long as halving changes its integrals, or the cubic through its ends misses the logit in its
        middle, or that of a half has a wave (Fritsch and Carlson's test): nodes gather where the distribution
        bends, and the table is as exact between nodes as at them.
        """
        rows = self._first_rows()
        split = np.arange(len(rows) - 1)
        while len(split):
            left, right, whole = rows[split, 0], rows[split + 1, 0], rows[split, 1:3]
            rows[split] = self._rows(left, (left + right) / 2)
            rows = np.insert(rows, split + 1, self._rows((left + right) / 2, right), axis=0)
            parts = rows[:, 1:3]  # ahead and behind are sums of them, and so is one minus both, to lose no digits
            sums = np.cumsum(parts[::-1], axis=0)[::-1]
            rest = np.cumsum(np.vstack([sums[:1, ::-1], parts[:-1]]), axis=0)
            logits, slopes = np.log(sums / rest), -np.exp(rows[:, 3:]) * (1 / sums + 1 / rest)
            middle, size = split + 1 + np.arange(len(split)), np.diff(rows[:, :1], axis=0)
            before, after = middle - 1, middle + 1
            drift = (parts[before] + parts[middle] - whole) * slopes[before] / np.exp(rows[before, 3:])
            cubic = (logits[before] + logits[after]) / 2 + size[before] * (slopes[before] - slopes[after]) / 4
            exact = np.maximum(np.abs(drift), np.abs(cubic - logits[middle])) < CELL_TOLERANCE
            wavy = np.hypot(slopes[:-1], slopes[1:]) > -3 * np.diff(logits, axis=0) / size
            rough = ~exact & (logits[before] > FLOORS) | wavy[before] | wavy[middle]
            again = middle[rough.any(axis=1)]
            split = np.column_stack([again - 1, again]).ravel()
            if len(rows) > MOST_NODES:
                raise ArithmeticError
        if not abs(np.log(rows[:, 1:3].sum())) < WORST_ERROR:  # at even odds ahead and behind add up to one
            raise ArithmeticError
        return rows[:, 0], logits, slopes

    def _first_rows(self) -> FloatArray:
        """From next to even odds, where fall may be infinite, to where it is negligible, and a tail beyond."""
        width = self._bulk[1]
        limit = min(LARGEST_LOG - 90, -np.log(CLOSEST) * self._reach) / width
        place = width * np.concatenate([[1e-11], np.arange(1, 16) / 4, np.geomspace(4, limit, 60)])
        logs = self._densities(place)
        needed = np.append(True, (logs[:-1] > FLOORS - 12).any(axis=1))
        keep = np.logical_and.accumulate(needed & np.isfinite(logs).all(axis=1))
        if not keep[1]:
            raise ArithmeticError
        place, logs = place[keep], logs[keep]
        decay = (logs[-2] - logs[-1]) / (place[-1] - place[-2])
        tail = np.concatenate([place[-1:], np.exp(logs[-1]) / decay, logs[-1]])
        return np.vstack([self._rows(place[:-1], place[1:]), tail])

    def _rows(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """Of each cell of s: left end, both integrals over it, both log densities at the left."""
        nodes, weights = np.polynomial.legendre.leggauss(5)
        size = (right - left)[:, None] / 2
        logs = self._densities((left[:, None] + size * np.append(0, nodes + 1)).ravel()).reshape(-1, 6, 2)
        sums = (np.exp(logs) * (size * np.append(0, weights))[:, :, None]).sum(axis=1)
        return np.column_stack([left, sums, logs[:, 0]])

    def _densities(self, place: FloatArray) -> FloatArray:
        """The logarithms of fall and of ``e^x fall`` per unit of s, (n, 2)."""
        s = place[:, None]
        d = s if self._reach == np.inf else -self._reach * np.expm1(-s / self._reach)
        logs = np.concatenate([self._log_fall(some) for some in np.array_split(d, 1 + len(d) // 2000)])
        return np.asarray(logs - s / self._reach + d * [0, 1])

    @cached_property
    def _bulk(self) -> tuple[float, float]:
        """Where most of ln u lies: centre and half-width."""
        left, centre, right = np.clip(np.log(self.dist.ppf([0.16, 0.5, 0.84])), -LARGEST_LOG, LARGEST_LOG)
        return centre, min((right - left) / 2, 20.0)

    def _log_integrand(self, t: FloatArray, d: FloatArray) -> FloatArray:
        logs = self.dist.logpdf(np.exp(t)) + self.dist.logpdf(np.exp(t + d)) + (3 * t + d - self._log_mean)
        return np.where(np.isfinite(logs), logs, -np.inf)

    def _log_fall(self, d: FloatArray) -> FloatArray:
        """``ln fall`` at d, shape (n, 1), integrated from where to where it exceeds e^-50 of its peak."""
        from scipy.special import eval_legendre, roots_jacobi

        low, high = max(float(self._log_low), -LARGEST_LOG), np.minimum(self._log_high, LARGEST_LOG) - d
        steps = self._bulk[0] + self._bulk[1] * np.sinh(np.linspace(-7, 7, 49))
        mesh = np.hstack([steps - 0 * d, steps - d, low + (high - low) * np.linspace(0, 1, 18)])
        mesh = np.sort(np.clip(mesh, low, high))
        logs = self._log_integrand(mesh, d)
        peak = np.maximum(logs.max(axis=1, keepdims=True), -1e300)
        above = logs > peak - 50
        first = np.maximum(above.argmax(axis=1, keepdims=True) - 1, 0)
        last = mesh.shape[1] - np.maximum(above[:, ::-1].argmax(axis=1, keepdims=True), 1)
        left, right = np.take_along_axis(mesh, first, 1), np.take_along_axis(mesh, last, 1)
        # Gauss's rule with both ends among its nodes: it notices a kink that hides near the end of a panel.
        nodes = np.concatenate([[-1.0], roots_jacobi(POINTS - 2, 1, 1)[0], [1.0]])
        weights = 2 / (POINTS * (POINTS - 1) * eval_legendre(POINTS - 1, nodes) ** 2)

        def panel_sums(owner: Any, start: FloatArray, size: FloatArray) -> FloatArray:
            """From left to right as v goes from 0 to 1, so slowly at the ends that densities may be infinite.

            Each half is measured from its own end, where an infinite density magnifies rounding.
            """
            v, span = start[:, None] + size[:, None] * (nodes + 1) / 2, (right - left)[owner]
            near = np.minimum(v, 1 - v)
            step = span * near**4 * (35 - near * (84 - near * (70 - 20 * near)))
            t, pace = np.where(v < 0.5, left[owner] + step, right[owner] - step), span * 140 * (v * (1 - v)) ** 3
            values = np.exp(self._log_integrand(t, d[owner]) - peak[owner]) * pace
            return np.asarray(values @ weights * size / 2)

        return np.asarray(np.log(_bisect(panel_sums, len(d)))[:, None] + peak)


def _bisect(panel_sums: Callable[..., FloatArray], n: int) -> FloatArray:
    """Integrate n functions over [0, 1], halving panels until the halves add up to the whole.

    So kinks of a density are found wherever they are. More than 64 open panels of a function are rounding noise.
    """
    total, error = np.zeros(n), np.zeros(n)
    owner, start = np.repeat(np.arange(n), PANELS), np.tile(np.arange(PANELS) / PANELS, n)
    size = np.full(len(owner), 1 / PANELS)
    values = panel_sums(owner, start, size)
    while len(owner):
        size = np.repeat(size / 2, 2)
        start = np.repeat(start, 2) + size * np.tile([0, 1], len(owner))
        halves = panel_sums(np.repeat(owner, 2), start, size)
        better = halves.reshape(-1, 2).sum(axis=1)
        gap = np.abs(better - values)
        still = gap > PANEL_TOLERANCE * (total + np.bincount(owner, better, n))[owner]
        still &= (np.bincount(owner, still, n)[owner] <= 64) & (size[::2] > 1e-12)
        total += np.bincount(owner, better * ~still, n)
        error += np.bincount(owner, gap * ~still, n) / 3  # at a kink; where the function is smooth, far less
        both = np.repeat(still, 2)
        owner, start, size, values = np.repeat(owner, 2)[both], start[both], size[both], halves[both]
    if n > MANY and np.median(error / total) > WORST_ERROR:  # a few may be, where they hardly count
        raise ArithmeticError
    return total
