"""Unit costs from any positive scipy.stats distribution: the pair loss by quadrature, tabulated once.

With f the density of u and t = ln u, independent costs have, at e = -ln r,

    share(e)  = int_-inf^e share'(x) dx,
    share'(e) = 1/E[u] * int e^(2t) f(e^t) e^(t-e) f(e^(t-e)) dt.

Only densities enter, all terms are positive, and sums begin where the share is smallest, so it keeps its digits;
scipy's distribution and survival functions lose theirs in one tail or the other. The axis of t is cut, once, into
cells in which the density is as good as a polynomial; at every e these cells, and the same moved by e, serve for
the integral. The axis of e is cut in the same way, into the pieces of the table.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pandora_regret.core.inputs import FloatArray, InputError, InputTypeError
from pandora_regret.core.priors.base import Class, Prior

if TYPE_CHECKING:
    from numpy.random import Generator  # loaded where something is drawn
    from scipy.interpolate import PPoly

CELL_TOLERANCE = 1e-8  # of the last terms of a cell's polynomial, relative to all that lies beyond it
WORST_ERROR = 8e-9  # of the whole, which is known; beyond it the promised 1e-8 cannot be kept
LEAST_BEYOND = 1e-44  # probability, or share of the mean cost: where less lies beyond a cell, its digits are moot
LEAST_TABULATED = 1e-34  # share below which the table follows a power law
LARGEST_LOG = 690.0  # e^-690 to e^690 fit a float64
FARTHEST = 600.0  # how far out the table reaches
SMALLEST_CELL = 1e-9  # where a density jumps or is infinite, relative to the width of the bulk
POINTS = 16  # of a cell
MOST_CELLS = 1_000


class Curve(NamedTuple):
    """The share over -ln r: a piecewise polynomial, and below its first place a power law."""

    polynomial: PPoly
    first: float  # from where on the polynomial is used
    rate: float  # of growth there


class FromScipy(Prior):
    """Independent unit costs that follow any positive continuous scipy.stats distribution.

    The pair loss is found by adaptive quadrature of densities, tabulated on first use (mostly well within a
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

    def __init__(self, dist: Any) -> None:  # scipy's frozen distributions have no public type
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
        self.mean = float(mean)
        self.unbounded = bool(high == np.inf)
        self._reach = float(self._ends[1] - self._ends[0])
        self.strictly_proper = self._reach == np.inf

    def __repr__(self) -> str:
        arguments = [*map(repr, self.dist.args), *(f"{name}={value!r}" for name, value in self.dist.kwds.items())]
        return f"FromScipy({self.dist.dist.name}({', '.join(arguments)}))"

    def _refused(self, why: str, fix: str) -> InputError:
        problem = f"is {repr(self).removeprefix('FromScipy(')[:-1]}{why}"
        return InputError(problem, argument="dist", value=self.dist, fix=fix)

    def share(self, log_odds: FloatArray, i: Class = 0, j: Class = 1) -> FloatArray:
        """From the table, at -ln r; below it along a power law, up to the end of the support."""
        table = self._table
        place = -np.asarray(log_odds, dtype=np.float64)
        last = table.polynomial.x[-1]
        within = np.minimum(table.polynomial(np.clip(place, table.first, last)), 1)
        below = np.exp(table.rate * np.minimum(place - table.first, 0))  # 1 from the first place on
        share = np.where(place <= -self._reach, 0.0, within * below)
        return np.where(place >= last, 1.0, share)

    def draw(self, n_draws: int, n_classes: int, rng: Generator) -> FloatArray:
        """The distribution's own ``rvs``."""
        return np.asarray(self.dist.rvs(size=(n_draws, n_classes), random_state=rng), dtype=np.float64)

    @cached_property
    def _table(self) -> Curve:
        """The share over -ln r; an error where it cannot be tabulated."""
        try:
            with np.errstate(all="ignore"):  # densities may be zero, infinite or undefined where a support ends
                return self._tabulated()
        except ArithmeticError:
            why = "cannot be tabulated to 1e-8 relative: its density is too rough or its tail too heavy"
            fix = "pass a smoother one, or use Empirical on a sample of it"
            raise self._refused(f", whose pair loss {why}", fix) from None

    def _tabulated(self) -> Curve:
        """The integral of the share's slope, as a polynomial in each of some cells along -ln r."""
        from scipy.interpolate import PPoly

        bulk = np.log(self.dist.ppf([0.16, 0.5, 0.84]))  # a standard deviation to both sides, if it were normal
        left, centre, right = np.clip(bulk, -LARGEST_LOG, LARGEST_LOG)
        width = min((right - left) / 2, 20.0)
        mesh = width * np.sinh(np.linspace(-7, 7, 33))  # about 0: fine there, and coarse far out
        least, most = np.clip(self._ends, -LARGEST_LOG, LARGEST_LOG)
        cost_mesh = np.clip([least, *(centre + mesh), most], least, most)
        cost_cuts, _ = _cells(self._densities, cost_mesh, width)
        reach = min(self._reach, FARTHEST)
        share_mesh = np.clip([-reach, *mesh, reach], -reach, reach)
        cuts, values = _cells(partial(self._slopes, cost_cuts), share_mesh, width, from_left=True)
        curve = PPoly(_coefficients(values[0], np.diff(cuts)), cuts).antiderivative()
        if not abs(curve(cuts[-1]) - 1) < WORST_ERROR:
            raise ArithmeticError
        first = cuts[np.searchsorted(curve(cuts), LEAST_TABULATED)]
        return Curve(curve, float(first), float(curve(first, 1) / curve(first)))

    def _slopes(self, cost_cuts: FloatArray, places: FloatArray) -> FloatArray:
        """The derivative of the share at places along -ln r, (POINTS,): (1, POINTS).

        `cost_cuts` are those of the axis of ln u, (n + 1,); they serve as they are, and moved by each place.
        """
        v, weights, _ = _rule()
        points = v**2 * (3 - 2 * v)  # of a cell from 0 to 1, many near its ends, where densities may be infinite
        weights_of_points = weights * (6 * v * (1 - v))  # by the derivative of the points in v
        fixed_cuts = np.broadcast_to(cost_cuts, (len(places), len(cost_cuts)))
        moved_cuts = cost_cuts + places[:, None]
        edges = np.sort(np.hstack([fixed_cuts, moved_cuts]), axis=1)
        size = np.diff(edges)
        t = edges[:, :-1, None] + size[:, :, None] * points  # (POINTS of the table, cells, points of a cell)
        cost = self._densities(t)[1]
        rival = self._densities(t - places[:, None, None])[0]
        integrals = (cost * rival) @ weights_of_points * size
        return np.asarray(integrals.sum(axis=1)[None])

    def _densities(self, t: FloatArray) -> FloatArray:
        """The density of t = ln u, and that weighted by cost, (2, ...); what scipy cannot state is zero."""
        logs = self.dist.logpdf(np.exp(t))
        logs = np.where(np.maximum(np.abs(logs), np.abs(t)) < LARGEST_LOG, logs, -np.inf) + t
        return np.exp([logs, logs + t - np.log(self.mean)])


def _coefficients(values: FloatArray, sizes: FloatArray) -> FloatArray:
    """Polynomials through values at the points of n cells, (POINTS, n), highest power first, of sizes (n,).

    In powers of the distance from a cell's start, as SciPy has them: those of the share of the cell that lies
    behind, divided by powers of its size.
    """
    points, _, _ = _rule()
    in_shares = np.linalg.solve(np.vander(points), values)
    powers = np.arange(POINTS)[::-1, None]
    return np.asarray(in_shares / sizes**powers)


def _cells(
    function: Callable[[FloatArray], FloatArray], mesh: FloatArray, width: float, from_left: bool = False
) -> tuple[FloatArray, FloatArray]:
    """Where an axis is cut, (n + 1,), and the function's values in the cells, (rows, POINTS, n).

    A cell is halved as long as the last terms of the polynomial through its points matter beside the integral of
    all that lies beyond, on the side where less does; or, from the left, of all that lies before.
    """
    points, _, to_legendre = _rule()
    cuts = np.unique(mesh)

    @cache
    def of_cell(start: float, stop: float) -> FloatArray:
        return function(start + (stop - start) * points)

    while 1 < len(cuts) <= MOST_CELLS:
        values = np.stack([of_cell(*ends) for ends in pairwise(cuts.tolist())], axis=2)
        size = np.diff(cuts)
        terms = to_legendre @ values  # of Legendre's series, (rows, POINTS, n): the first is the mean of a cell
        integrals = terms[:, 0] * size
        beyond = _integrals_beyond(integrals, from_left)
        matters = beyond + integrals > LEAST_BEYOND
        if not matters.any():
            break
        last_terms = np.abs(terms[:, -2:]).max(axis=1) * size
        is_unsure = (last_terms > CELL_TOLERANCE * beyond) & matters
        is_split = is_unsure.any(axis=0) & (size > SMALLEST_CELL * width)
        if not is_split.any():
            is_used = matters.any(axis=0)
            is_end = np.append(is_used, False) | np.append(False, is_used)
            return cuts[is_end], values[:, :, is_used]
        middles = cuts[:-1] + size / 2
        cuts = np.sort(np.append(cuts, middles[is_split]))
    raise ArithmeticError


def _integrals_beyond(integrals: FloatArray, from_left: bool) -> FloatArray:
    """Of the integrals of cells, (rows, n): those of all before each; else of it and all on its smaller side."""
    below = np.cumsum(integrals, axis=1)
    if from_left:
        return np.asarray(below - integrals)
    above = np.cumsum(integrals[:, ::-1], axis=1)[:, ::-1]
    return np.minimum(below, above)


@cache
def _rule() -> tuple[FloatArray, FloatArray, FloatArray]:
    """Gauss's points of a cell from 0 to 1, their weights, and what turns values there into Legendre's series."""
    from numpy.polynomial import legendre

    x, weights = legendre.leggauss(POINTS)
    to_legendre = np.asarray(legendre.legfit(x, np.eye(POINTS), POINTS - 1), np.float64)
    return (x + 1) / 2, weights / 2, to_legendre
