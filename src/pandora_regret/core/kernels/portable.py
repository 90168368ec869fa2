"""The Beta family's formulas on arrays of any library: NumPy, PyTorch, JAX, CuPy.

They are those of reference.py, written so that automatic differentiation survives ties, zero probabilities and
infinite logits. Every function takes the library as `xp`.
"""

from typing import Any, TypeAlias

import numpy as np

from pandora_regret.core.inputs import InputError
from pandora_regret.core.priors.base import TIE, TIE_IN_SINGLE

Array: TypeAlias = Any  # of any array library
Namespace: TypeAlias = Any  # that library's module

SMALLEST_ALPHA = 1e-20  # nearer to 0 and inf than this, an alpha is taken for them
LARGEST_ALPHA = 1e20
FAR_QUOTIENT = 2.0**20  # quotients beyond this lose nothing as a difference of logarithms


def total_loss(
    truth: Array,
    values: Array,
    xp: Namespace,
    alpha: float,
    *,
    costs: Any = None,
    logits: bool = False,
    tie: float | None = None,
    share: float = 1.0,
    own: float = 0.0,
) -> Array:
    """``own C_i + share sum_j C_j L_alpha(q_i / q_j)`` of every row, shape (N,).

    Times the prior's mean, that is the search's cost where `own` is 1 and `share` the prior's `loss_to_share`.
    `tie` is how far apart quotients may be in a tie, relatively: what their precision makes of it, unless given.
    """
    true = _is_truth(truth, values, xp)
    costs = costs_of(values, costs, xp)
    alpha = limit_of(alpha)
    with np.errstate(all="ignore"):
        odds = _log_odds(values, costs, true, xp, logits)
        if alpha == float("inf"):
            tie = tie_of(values.dtype, xp) if tie is None else tie
            size = finite_size(values, xp) if logits else None
            odds = settle_ties(odds, tie if size is None else tie * (1 + size + _of_truth(size, true, xp)), xp)
            losses = 1 - xp.sign(odds)
        else:  # L_alpha: see `pandora_regret.core.priors.beta`
            ahead = xp.where(odds > 0, odds, 0.0)  # a tie is in one part only: its slope is not counted twice
            behind = xp.where(odds > 0, 0.0, odds)
            rise = -behind if alpha == 0 else (1 + 1 / alpha) * -xp.expm1(alpha * behind)
            losses = xp.exp(-(alpha + 1) * ahead) + rise
        losses = xp.where(true, own, share * losses)
        return xp.sum(losses if costs is None else costs * losses, axis=1)


def tie_of(dtype: Any, xp: Namespace) -> float:
    """How far apart, relatively, quotients of that type may be in a tie; see reference.py."""
    return TIE if dtype == xp.float64 else TIE_IN_SINGLE


def finite_size(logits: Array, xp: Namespace) -> Array:
    """The size of a logit, by which its rounding grows; that of an impossible class is 0."""
    return xp.where(xp.isfinite(logits), xp.abs(logits), 0.0)


def settle_ties(odds: Array, width: Array | float, xp: Namespace) -> Array:
    """``ln r``, exactly 0 where it is within `width` of 0."""
    return xp.where(xp.abs(odds) <= width, 0.0, odds)


def _is_truth(truth: Array, values: Array, xp: Namespace) -> Array:
    """Where in each row the truth stands, (N, K)."""
    columns = xp.arange(values.shape[1], dtype=truth.dtype, device=device_of(values))
    return truth[:, None] == columns[None, :]


def device_of(array: Array) -> Any:
    """Where what an array meets must live; JAX sees to that itself, and while it traces there is no device."""
    return None if hasattr(array, "devices") else getattr(array, "device", None)


def _of_truth(table: Array, true: Array, xp: Namespace) -> Array:
    """The entry of the truth, (N, 1)."""
    return xp.sum(xp.where(true, table, 0.0), axis=1, keepdims=True)


def costs_of(values: Array, costs: Any, xp: Namespace) -> Array | None:
    """C_k of every row, (N, K); None where every test costs 1."""
    if costs is None:
        return None
    costs = xp.asarray(costs, dtype=values.dtype, device=device_of(values))
    if tuple(costs.shape) not in (tuple(values.shape[1:]), tuple(values.shape)):
        one_each = f"pass one cost per class, shape ({values.shape[1]},)"
        fix = f"{one_each}, or one per class and instance, shape {tuple(values.shape)}"
        raise InputError(f"has shape {tuple(costs.shape)}", argument="costs", fix=fix)
    return xp.broadcast_to(costs, values.shape)


def _log_odds(values: Array, costs: Array | None, true: Array, xp: Namespace, logits: bool) -> Array:
    """``ln r_ij`` of the truth against every class, (N, K); two impossible classes are equally likely."""
    ours = _of_truth(values, true, xp)
    never = -float("inf") if logits else 0.0
    both_impossible = (ours == never) & (values == never)
    own_cost = None if costs is None else _of_truth(costs, true, xp)
    if logits:
        gap = xp.where(both_impossible, 0.0, ours - values)
        return gap if costs is None else gap + log_quotient(costs, own_cost, xp)
    ours = xp.where(both_impossible, 1.0, ours)
    rivals = xp.where(both_impossible, 1.0, values)
    if costs is not None:
        ours = ours / own_cost
        rivals = rivals / costs
    return log_quotient(ours, rivals, xp)


def log_quotient(a: Array, b: Array, xp: Namespace) -> Array:
    """``ln(a / b)``, precise next to a = b; its slope is right there, too.

    One of the two terms is zero, and so is its slope: no case hides a 0 / 0 from automatic differentiation.
    """
    ahead = a > b
    nil = (a == 0) | (b == 0)
    high = xp.where(ahead, a, b)
    low = xp.where(ahead, b, a)
    high = xp.where(nil, 1.0, high)
    low = xp.where(nil, 1.0, low)
    near = high < low * FAR_QUOTIENT
    low_if_near = xp.where(near, low, high)
    low_if_far = xp.where(near, high, low)
    logs = xp.log1p((high - low_if_near) / low_if_near) + (xp.log(high) - xp.log(low_if_far))
    logs = xp.where(nil, float("inf"), logs)
    return xp.where(ahead, logs, -logs)


def limit_of(alpha: float) -> float:
    """Alpha, or the limit that it cannot be told from in single precision, where 1/alpha or alpha overflow."""
    if alpha < SMALLEST_ALPHA:
        return 0.0
    return alpha if alpha < LARGEST_ALPHA else float("inf")
