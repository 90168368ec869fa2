"""The Beta family's formulas on arrays of any library: NumPy, PyTorch, JAX, CuPy.

They are those of reference.py, written so that automatic differentiation survives ties, zero probabilities and
infinite logits. The result stays in the caller's library, on the caller's device, in the caller's precision (half
precision is computed in single); shapes are checked, values are not.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from pandora_regret.inputs import InputError, InputTypeError, read_alpha
from pandora_regret.priors import Beta

Array: TypeAlias = Any  # of any array library
Namespace: TypeAlias = Any  # that library's module

SMALLEST_ALPHA, LARGEST_ALPHA = 1e-20, 1e20  # nearer to 0 and inf than this, an alpha is taken for them
FAR = 2.0**20  # quotients beyond this lose nothing as a difference of logarithms


def pandora_regret(
    y_true: Array,
    y_proba: Array,
    *,
    alpha: float = 1.0,
    sample_weight: Array | None = None,
    logits: bool = False,
    per_instance: bool = False,
) -> Array:
    """Pandora's Regret as an array of the caller's library; parameters as in `pandora_regret.pandora_regret`.

    Examples
    --------
    >>> import numpy as np
    >>> pandora_regret(np.array([0, 1]), np.array([[0.5, 0.25, 0.25], [0.5, 0.25, 0.25]]), per_instance=True)
    array([0.08333333, 0.5       ])
    """
    xp, values = read(y_true, y_proba)
    rows = total_loss(y_true, values, xp, read_alpha(alpha), logits=logits) / (3 * (values.shape[1] - 1))
    return rows if per_instance else mean(rows, sample_weight, xp)


def beta_score(
    y_true: Array,
    y_proba: Array,
    *,
    alpha: float = 1.0,
    costs: Any = None,
    sample_weight: Array | None = None,
    logits: bool = False,
    per_instance: bool = False,
) -> Array:
    """The weighted Beta score as an array of the caller's library; parameters as in `pandora_regret.beta_score`.

    Examples
    --------
    >>> import numpy as np
    >>> float(beta_score(np.array([0]), np.array([[0.5, 0.5]]), costs=[1.0, 2.0]))
    0.5
    """
    xp, values = read(y_true, y_proba)
    rows = total_loss(y_true, values, xp, read_alpha(alpha), costs=costs, logits=logits)
    return rows if per_instance else mean(rows, sample_weight, xp)


def expected_search_cost(
    y_true: Array,
    y_proba: Array,
    *,
    prior: Beta | None = None,
    costs: Any = None,
    sample_weight: Array | None = None,
    logits: bool = False,
    per_instance: bool = False,
) -> Array:
    """The expected cost of the search under a Beta prior; parameters as in `pandora_regret.expected_search_cost`.

    Mean costs, its `typical_costs`, are base costs once divided by ``prior.mean``.

    Examples
    --------
    >>> import numpy as np
    >>> round(float(expected_search_cost(np.array([0]), np.array([[0.5, 0.25, 0.25]]))), 6)
    0.583333
    """
    xp, values = read(y_true, y_proba)
    rows = search_cost(y_true, values, xp, Beta(1.0) if prior is None else prior, costs=costs, logits=logits)
    return rows if per_instance else mean(rows, sample_weight, xp)


def read(y_true: Array, y_proba: Array) -> tuple[Namespace, Array]:
    """The library of the forecasts, and the forecasts in single or double precision, once their shapes fit."""
    xp = namespace_of(y_proba)
    if len(y_proba.shape) != 2 or y_proba.shape[1] < 2 or tuple(y_true.shape) != (y_proba.shape[0],):
        raise InputError(
            f"y_true has shape {tuple(y_true.shape)} and y_proba has shape {tuple(y_proba.shape)}: "
            "pass one class per row, (N,), and one column per class, (N, K) with K of at least two."
        )
    if not xp.isdtype(y_proba.dtype, "real floating"):
        raise InputTypeError(f"y_proba has dtype {y_proba.dtype}: forecasts must be floating point.")
    return xp, y_proba if y_proba.dtype in (xp.float32, xp.float64) else xp.astype(y_proba, xp.float32)


def namespace_of(array: Array) -> Namespace:
    """The library an array belongs to, under the names of the array API standard."""
    try:
        from array_api_compat import array_namespace
    except ModuleNotFoundError:
        raise ImportError(
            "arrays other than NumPy's need array-api-compat: pip install array-api-compat"
        ) from None
    return array_namespace(array)


def mean(rows: Array, sample_weight: Array | None, xp: Namespace) -> Array:
    """The weighted mean of the rows, shape ()."""
    if sample_weight is None:
        return xp.mean(rows)
    weights = xp.asarray(sample_weight, dtype=rows.dtype, device=_device_of(rows))
    if weights.shape != rows.shape:
        raise InputError(f"sample_weight has shape {tuple(weights.shape)}: pass one weight per row, {rows.shape}.")
    return xp.sum(weights * rows) / xp.sum(weights)


def search_cost(
    y_true: Array, values: Array, xp: Namespace, prior: Beta, *, costs: Any = None, logits: bool = False
) -> Array:
    """``C_i E[u_i] + sum_j C_j L(r_ij)`` of every row, shape (N,)."""
    wasted = total_loss(y_true, values, xp, prior.alpha, costs=costs, logits=logits) * prior.loss_to_share
    costs = _costs_of(values, costs, xp)
    return prior.mean * (
        wasted + (1.0 if costs is None else of_truth(costs, is_truth(y_true, values, xp), xp)[:, 0])
    )


def total_loss(
    y_true: Array, values: Array, xp: Namespace, alpha: float, *, costs: Any = None, logits: bool = False
) -> Array:
    """``sum_j C_j L_alpha(q_i / q_j)`` of every row, shape (N,)."""
    true, costs, alpha = is_truth(y_true, values, xp), _costs_of(values, costs, xp), settled(alpha)
    with np.errstate(all="ignore"):
        odds = _log_odds_of_logits(values, costs, true, xp) if logits else _log_odds(values, costs, true, xp)
        losses = beta_loss(odds, alpha, xp)
        return xp.sum(xp.where(true, 0.0, losses if costs is None else costs * losses), axis=1)


def is_truth(y_true: Array, values: Array, xp: Namespace) -> Array:
    """Where in each row the truth stands, (N, K)."""
    columns = xp.arange(values.shape[1], dtype=y_true.dtype, device=_device_of(values))
    return y_true[:, None] == columns[None, :]


def _device_of(array: Array) -> Any:
    """Where what an array meets must live; JAX sees to that itself, and while it traces there is no device."""
    return None if hasattr(array, "devices") else getattr(array, "device", None)


def of_truth(table: Array, true: Array, xp: Namespace) -> Array:
    """The entry of the truth, (N, 1)."""
    return xp.sum(xp.where(true, table, 0.0), axis=1, keepdims=True)


def _costs_of(values: Array, costs: Any, xp: Namespace) -> Array | None:
    """C_k of every row, (N, K); None where every test costs 1."""
    if costs is None:
        return None
    costs = xp.asarray(costs, dtype=values.dtype, device=_device_of(values))
    if tuple(costs.shape) not in (tuple(values.shape[1:]), tuple(values.shape)):
        raise InputError(
            f"costs has shape {tuple(costs.shape)}: pass one cost per class, shape ({values.shape[1]},), "
            f"or one per class and instance, shape {tuple(values.shape)}."
        )
    return xp.broadcast_to(costs, values.shape)


def _log_odds_of_logits(logits: Array, costs: Array | None, true: Array, xp: Namespace) -> Array:
    """``ln r_ij`` of the truth against every class, (N, K); two impossible classes are equally likely."""
    ours = of_truth(logits, true, xp)
    both_impossible = (ours == -float("inf")) & (logits == -float("inf"))
    gap = xp.where(both_impossible, 0.0, ours - logits)
    return gap if costs is None else gap + log_quotient(costs, of_truth(costs, true, xp), xp)


def _log_odds(proba: Array, costs: Array | None, true: Array, xp: Namespace) -> Array:
    """The same from probabilities."""
    ours = of_truth(proba, true, xp)
    both_zero = (ours == 0) & (proba == 0)
    rivals = xp.where(both_zero, 1.0, proba)
    if costs is None:
        return log_quotient(xp.where(both_zero, 1.0, ours), rivals, xp)
    our_cost = of_truth(costs, true, xp)  # divided by before it is spread: XLA would multiply by its reciprocal
    return log_quotient(xp.where(both_zero, 1 / our_cost, ours / our_cost), rivals / costs, xp)


def log_quotient(a: Array, b: Array, xp: Namespace) -> Array:
    """``ln(a / b)``, exact in its sign and precise next to a = b; its slope is right there, too.

    One of the two terms is zero, and so is its slope: no case hides a 0 / 0 from automatic differentiation.
    """
    ahead, nil = a > b, (a == 0) | (b == 0)
    high, low = xp.where(ahead, a, b), xp.where(ahead, b, a)
    high, low = xp.where(nil, 1.0, high), xp.where(nil, 1.0, low)
    near = high < low * FAR
    low_if_near, low_if_far = xp.where(near, low, high), xp.where(near, high, low)
    logs = xp.log1p((high - low_if_near) / low_if_near) + (xp.log(high) - xp.log(low_if_far))
    logs = xp.where(nil, float("inf"), logs)
    return xp.where(ahead, logs, -logs)


def settled(alpha: float) -> float:
    """Alpha, or the limit that it cannot be told from in single precision, where 1/alpha or alpha overflow."""
    if alpha < SMALLEST_ALPHA:
        return 0.0
    return alpha if alpha < LARGEST_ALPHA else float("inf")


def beta_loss(odds: Array, alpha: float, xp: Namespace) -> Array:
    """L_alpha at ``ln r``; see `pandora_regret.priors.beta`."""
    ahead, behind = split(odds, xp)
    return power(-ahead, alpha + 1, xp) + rise(behind, alpha, xp)


def split(odds: Array, xp: Namespace) -> tuple[Array, Array]:
    """The positive and the negative part; a tie is in one of them only, so that its slope is not counted twice."""
    return xp.where(odds > 0, odds, 0.0), xp.where(odds > 0, 0.0, odds)


def rise(behind: Array, alpha: float, xp: Namespace) -> Array:
    """``(1 + 1/alpha)(1 - r^alpha)`` at ``ln r <= 0``."""
    if alpha == 0:
        return -behind
    if alpha == float("inf"):
        return -xp.sign(behind)
    return (1 + 1 / alpha) * -xp.expm1(alpha * behind)


def power(behind: Array, exponent: float, xp: Namespace) -> Array:
    """``r^exponent`` at ``ln r <= 0``, with ``1^inf = 0^0 = 1``."""
    if exponent == 0:
        return xp.ones_like(behind)
    if exponent == float("inf"):
        return 1 + xp.sign(behind)
    return xp.exp(exponent * behind)
