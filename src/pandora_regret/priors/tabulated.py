"""Unit costs from any positive scipy.stats distribution: the pair loss by quadrature, tabulated once.

With f the density of u and t = ln u, independent costs have

    share(d)     = 1/E[u] * int e^(2t) f(e^t) S(t + d) dt,    S(x) = int_x^inf e^s f(e^s) ds,
    1 - share(d) = 1/E[u] * int e^(2t) f(e^t) F(t + d) dt,    F(x) = int_-inf^x e^s f(e^s) ds,
    -share'(d)   = 1/E[u] * int e^(2t) f(e^t) e^(t+d) f(e^(t+d)) dt.

Only densities enter: scipy's distribution and survival functions lose their digits in one tail or the other. The
axis of t is cut, once, into cells in which f is as good as a polynomial; at every d these cells and the same moved
by d serve for all three integrals. The table holds ``ln(share / (1 - share))``, so both keep their digits, over
``s = -reach ln(1 - d/reach)`` with reach = ln(b/a) for a support (a, b): it makes a line of the power law near a
bounded support's end; where there is no such end s is d, in which heavy tails are lines anyway.
"""

from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.polynomial import legendre
from numpy.random import Generator

from pandora_regret.inputs import FloatArray, InputError, InputTypeError
from pandora_regret.priors.base import Class, Prior

CELL_TOLERANCE = 1e-12  # of a cell's integrals, relative to all that lies beyond it
TABLE_TOLERANCE = 1e-8  # of a cubic between two nodes before there is a third: those that are used err far less
WORST_ERROR = 8e-9  # of the whole, which is known; beyond it the promised 1e-8 cannot be kept
LEAST_BEYOND = 1e-44  # probability, or share of the mean cost: where less lies beyond a cell, its digits are moot
FLOOR, CEILING = -100.0, 40.0  # of logits: 4e-44, and 4e-18 below 1
LARGEST_LOG = 690.0  # e^-690 to e^690 fit a float64
FARTHEST = 600.0  # how far out the table reaches
CLOSEST = 1e-7  # how near the table comes to the end of a bounded support, where rounding of d takes over
SMALLEST_STEP = 1e-9  # of d, and of cells where a density jumps or is infinite, relative to the width of the bulk
POINTS = 12  # of a cell
MOST_CELLS, MOST_NODES = 1_000, 3_000


class FromScipy(Prior):
    """Independent unit costs that follow any positive continuous scipy.stats distribution.

    The pair loss is found by adaptive quadrature of the density, tabulated on first use (mostly well within a
    second) and interpolated, to 1e-8 relative. The score is strictly proper if costs can come arbitrarily near to
    zero or to infinity; a support is taken to have no gaps.

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
            self._ends = np.log([low, high])
        if mean.ndim or not (low >= 0 and mean < np.inf):
            fix = "pass one number for each parameter; costs are positive, and their mean is finite"
            raise self._refused(f", which starts at {low} and has mean {mean}", fix)
        self.mean, self.unbounded = float(mean), bool(high == np.inf)
        self._reach = float(self._ends[1] - self._ends[0])
        self.strictly_proper = self._reach == np.inf

    def __repr__(self) -> str:
        arguments = [*map(repr, self.dist.args), *(f"{name}={value!r}" for name, value in self.dist.kwds.items())]
        return f"FromScipy({self.dist.dist.name}({', '.join(arguments)}))"

    def _refused(self, why: str, fix: str) -> InputError:
        problem = f"is {repr(self).removeprefix('FromScipy(')[:-1]}{why}"
        return InputError(problem, argument="dist", value=self.dist, fix=fix)

    def share(self, log_odds: FloatArray, i: Class = 0, j: Class = 1) -> FloatArray:
        """Interpolated, on the scale of its logit, at the place s with the sign of d; far out along a tangent."""
        from scipy.special import expit

        place, curve = np.abs(np.asarray(log_odds, dtype=np.float64)), self._curve
        if self._reach < np.inf:
            with np.errstate(divide="ignore"):
                place = -self._reach * np.log1p(-np.minimum(place / self._reach, 1))
        place = np.copysign(place, log_odds)
        inside = np.clip(place, curve.x[0], curve.x[-1])
        return np.asarray(expit(curve(inside) + curve(inside, 1) * (place - inside)))

    def draw(self, n_draws: int, n_classes: int, rng: Generator) -> FloatArray:
        """The distribution's own ``rvs``."""
        return np.asarray(self.dist.rvs(size=(n_draws, n_classes), random_state=rng), dtype=np.float64)

    @cached_property
    def _curve(self) -> Any:
        """The logit of the share over s, with the sign of d, as a piecewise cubic."""
        from scipy.interpolate import CubicHermiteSpline

        try:
            with np.errstate(all="ignore"):  # densities may be zero, infinite or undefined where a support ends
                return CubicHermiteSpline(*self._tabulated())
        except ArithmeticError:
            why = "cannot be tabulated to 1e-8 relative: its density is too rough or its tail too heavy"
            raise self._refused(
                f", whose pair loss {why}", "pass a smoother one, or use Empirical on a sample of it"
            ) from None

    def _tabulated(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Places, logits of the share there, and their derivatives in s.

        Two nodes get a third between them as long as their cubic misses it: nodes gather where the distribution
        bends, and the table is as exact between nodes as at them.
        """
        left, centre, right = np.clip(np.log(self.dist.ppf([0.16, 0.5, 0.84])), -LARGEST_LOG, LARGEST_LOG)
        width = min((right - left) / 2, 20.0)  # of the bulk of ln u
        cuts = self._cells(centre, width)
        limit = min(FARTHEST, -np.log(CLOSEST) * self._reach) / width
        half = width * np.append(SMALLEST_STEP, np.sinh(np.linspace(0, np.arcsinh(limit), 80)[1:]))
        place = np.append(-half[::-1], half)
        nodes = self._nodes(place, cuts)
        keep = np.isfinite(nodes).all(axis=0) & (nodes[0] > FLOOR) & (nodes[0] < CEILING)
        place, nodes = place[keep], nodes[:, keep]
        split = np.arange(len(place) - 1)
        while len(split):
            size, (logits, slopes, _) = np.diff(place)[split], nodes
            cubic = (logits[split] + logits[split + 1]) / 2 + size * (slopes[split] - slopes[split + 1]) / 8
            middle = place[split] + size / 2
            between = self._nodes(middle, cuts)
            place, nodes = np.insert(place, split + 1, middle), np.insert(nodes, split + 1, between, axis=1)
            again = (split + np.arange(len(split)))[np.abs(cubic - between[0]) > TABLE_TOLERANCE]
            split = np.column_stack([again, again + 1]).ravel()
            if len(place) > MOST_NODES:
                raise ArithmeticError
        if not (len(place) and np.abs(nodes[2] - 1).max() < WORST_ERROR):
            raise ArithmeticError
        return place, nodes[0], nodes[1]

    def _densities(self, t: FloatArray) -> FloatArray:
        """Of t = ln u, and of it weighted by cost, (2, ...); what scipy cannot state is zero."""
        logs = self.dist.logpdf(np.exp(t))
        logs = np.where(np.maximum(np.abs(logs), np.abs(t)) < LARGEST_LOG, logs, -np.inf) + t
        return np.exp([logs, logs + t - np.log(self.mean)])

    def _cells(self, centre: float, width: float) -> FloatArray:
        """Where the axis of t is cut.

        A cell is halved as long as its integrals and those of its halves differ by more than rounding. Rules of
        two kinds are compared, so that cells gather where a density is infinite.
        """
        v, weights, dense, pace, _ = _rule()
        low, high = np.clip(self._ends, -LARGEST_LOG, LARGEST_LOG)
        mesh = centre + width * np.sinh(np.linspace(-7, 7, 49))
        cuts = np.unique(np.clip([low, *mesh, high], low, high))
        split = np.ones(1, np.bool_)
        while split.any():
            start, size = cuts[:-1], np.diff(cuts)
            whole = self._densities(start[:, None] + size[:, None] * dense) @ (weights * pace) * size
            halves = self._densities(start[:, None] + size[:, None] * np.append(v, 1 + v) / 2)
            sums = halves @ np.append(weights, weights) * size / 2
            below, above = np.cumsum(sums, axis=1), np.cumsum(sums[:, ::-1], axis=1)[:, ::-1]
            matters = np.minimum(below, above) > LEAST_BEYOND
            rounding = np.finfo(np.float64).eps * (1 + np.abs(start)) / size * sums
            unsure = np.abs(sums - whole) > CELL_TOLERANCE * np.minimum(below, above) + rounding
            split = (unsure & matters).any(axis=0) & (size > SMALLEST_STEP * width)
            cuts = np.sort(np.append(cuts, (start + size / 2)[split]))
            if len(cuts) > MOST_CELLS:
                raise ArithmeticError
        if not (np.abs(1 - whole.sum(axis=1)) < WORST_ERROR).all():  # the rest lies beyond all numbers
            raise ArithmeticError
        used = matters.any(axis=0)
        return np.asarray(cuts[np.append(used, False) | np.append(False, used)])

    def _nodes(self, place: FloatArray, cuts: FloatArray) -> FloatArray:
        """The logit of the share, its derivative in s, and what the share and its complement sum to, (3, n)."""
        _, weights, dense, pace, up_to = _rule()
        shrink = -np.abs(place) / self._reach
        d = place if self._reach == np.inf else np.copysign(self._reach * np.expm1(shrink), place)
        parts = []
        for some in np.array_split(d[:, None], 1 + len(d) // 100):
            edges = np.sort(np.hstack([cuts + 0 * some, cuts - some]), axis=1)
            size = np.diff(edges)[:, :, None]
            t = edges[:, :-1, None] + size * dense
            cost, rival = self._densities(t)[1], self._densities(t + some[:, :, None])[0]
            inside = rival * pace @ up_to * size  # of each cell, from its left end to each point
            cells = rival @ (weights * pace)[:, None] * size
            before = np.cumsum(np.pad(cells, ((0, 0), (1, 0), (0, 0))), axis=1)[:, :-1]
            after = np.cumsum(np.pad(cells[:, ::-1], ((0, 0), (1, 0), (0, 0))), axis=1)[:, -2::-1]
            factors = np.stack([after + (cells - inside), before + inside, rival])
            parts.append((cost * factors @ (weights * pace) * size[:, :, 0]).sum(axis=2))
        share, rest, fall = np.hstack(parts)
        return np.stack([np.log(share / rest), -fall * (1 / share + 1 / rest) * np.exp(shrink), share + rest])


@cache
def _rule() -> tuple[FloatArray, ...]:
    """Of a cell from 0 to 1: Gauss's points and weights, and what integrates up to each point, (POINTS, POINTS).

    Third and fourth, points that lie so dense at both ends that a density may be infinite there, and their pace.
    """
    x, weights = legendre.leggauss(POINTS)
    v = (x + 1) / 2
    up_to = legendre.legval(x, legendre.legint(legendre.legfit(x, np.eye(POINTS), POINTS - 1), lbnd=-1)) / 2
    return v, weights / 2, v**2 * (3 - 2 * v), 6 * v * (1 - v), up_to
