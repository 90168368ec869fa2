"""The Beta family's scores of arrays of any library: NumPy, PyTorch, JAX, CuPy.

The result stays in the caller's library, on the caller's device, in the caller's precision (half precision is
computed in single); shapes are checked, values are not. `y_true` may hold votes, (N, K), too.
"""

from typing import Any

from pandora_regret.core.inputs import InputError, InputTypeError, check_shape, read_alpha
from pandora_regret.core.kernels.portable import Array, Namespace, device_of, total_loss
from pandora_regret.core.priors import Beta, Uniform


def pandora_regret(
    y_true: Array,
    y_proba: Array,
    *,
    alpha: float = 1.0,
    sample_weight: Array | None = None,
    logits: bool = False,
    per_instance: bool = False,
) -> Array:
    """Pandora's Regret as an array of the caller's library.

    Parameters
    ----------
    y_true, y_proba, alpha, sample_weight, logits, per_instance
        As in `pandora_regret.pandora_regret`, as arrays of one library; labels are column numbers.

    Returns
    -------
    array
        In the caller's library, on its device, and differentiable where the library is: the weighted mean, shape
        (), or one score per instance, (N,), if `per_instance`.

    Examples
    --------
    >>> import numpy as np
    >>> pandora_regret(np.array([0, 1]), np.array([[0.5, 0.25, 0.25], [0.5, 0.25, 0.25]]), per_instance=True)
    array([0.08333333, 0.5       ])
    """
    total = _scored(read_alpha(alpha), y_true, y_proba, sample_weight, per_instance, logits=logits)
    return total / (3 * (y_proba.shape[1] - 1))


def beta_score(
    y_true: Array,
    y_proba: Array,
    *,
    alpha: float = 1.0,
    max_costs: Any = None,
    sample_weight: Array | None = None,
    logits: bool = False,
    per_instance: bool = False,
) -> Array:
    """The weighted Beta score as an array of the caller's library.

    Parameters
    ----------
    y_true, y_proba, alpha, max_costs, sample_weight, logits, per_instance
        As in `pandora_regret.beta_score`, as arrays of one library.

    Returns
    -------
    array
        As for `pandora_regret` of this module, but in the costs' unit.

    Examples
    --------
    >>> import numpy as np
    >>> float(beta_score(np.array([0]), np.array([[0.5, 0.5]]), max_costs=[1.0, 2.0]))
    0.5
    """
    alpha = read_alpha(alpha)
    return _scored(alpha, y_true, y_proba, sample_weight, per_instance, costs=max_costs, logits=logits)


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
    """The expected cost of the search under a Beta prior.

    Parameters
    ----------
    y_true, y_proba, prior, costs, sample_weight, logits, per_instance
        As in `pandora_regret.expected_search_cost`, as arrays of one library; the prior is of the Beta family.

    Returns
    -------
    array
        In the costs' unit: the weighted mean, shape (), or one cost per instance, (N,), if `per_instance`.

    Examples
    --------
    >>> import numpy as np
    >>> round(float(expected_search_cost(np.array([0]), np.array([[0.5, 0.25, 0.25]]))), 6)
    0.583333
    """
    prior = read_beta(prior)
    options = {"costs": costs, "logits": logits, "share": prior.loss_to_share, "own": 1.0}
    paid = _scored(prior.alpha, y_true, y_proba, sample_weight, per_instance, **options)
    return paid * prior.mean if costs is None else paid  # in units of base costs, or of mean ones


def read_beta(prior: Any) -> Beta:
    """A prior whose closed form every library can compute; `Uniform()` if None."""
    prior = Uniform() if prior is None else prior
    if not isinstance(prior, Beta):
        problem = f"must be of the Beta family, such as Beta(0.5), got {prior!r}"
        raise InputTypeError(problem, argument="prior", value=prior)
    return prior


def _scored(
    alpha: float,
    y_true: Array,
    y_proba: Array,
    sample_weight: Array | None,
    per_instance: bool,
    **options: Any,
) -> Array:
    """A score of true classes, (N,), or averaged over votes, (N, K): of all rows, or their weighted mean.

    Votes are scored class by class, as many numbers at a time as there are forecasts.
    """
    xp, truth, values = _checked_arrays(y_true, y_proba)
    if len(truth.shape) == 1:
        rows = total_loss(truth, values, xp, alpha, **options)
    else:
        rows = xp.zeros_like(values[:, 0])
        for k in range(values.shape[1]):
            every = xp.full(values.shape[0], k, device=device_of(values))
            of_class = total_loss(every, values, xp, alpha, **options)
            rows = rows + truth[:, k] * xp.where(truth[:, k] == 0, 0.0, of_class)
    if per_instance:
        return rows
    if sample_weight is None:
        return xp.mean(rows)
    weights = xp.asarray(sample_weight, dtype=rows.dtype, device=device_of(rows))
    check_shape(weights, "sample_weight", f"pass one weight per row, {rows.shape}", tuple(rows.shape))
    return xp.sum(weights * rows) / xp.sum(weights)


def _checked_arrays(y_true: Array, y_proba: Array) -> tuple[Namespace, Array, Array]:
    """The library of the forecasts, the truth, and the forecasts in single or double precision; shapes checked.

    Class numbers become ordinary integers: a column number might not fit the type that they came in. Votes become
    shares of their row's, in the precision of the forecasts.
    """
    from array_api_compat import array_namespace

    xp = array_namespace(y_proba)
    shape = tuple(y_proba.shape)
    if len(shape) != 2 or shape[1] < 2 or tuple(y_true.shape) not in (shape[:1], shape):
        problem = f"has shape {tuple(y_true.shape)} and y_proba has shape {shape}"
        rows = "pass one class per row, (N,), or votes, (N, K)"
        fix = f"{rows}, and one column per class, (N, K) with K of at least two"
        raise InputError(problem, argument="y_true", value=tuple(y_true.shape), fix=fix)
    if not xp.isdtype(y_proba.dtype, "real floating"):
        fix = "forecasts must be floating point"
        raise InputTypeError(f"has dtype {y_proba.dtype}", argument="y_proba", value=y_proba.dtype, fix=fix)
    values = y_proba if y_proba.dtype in (xp.float32, xp.float64) else xp.astype(y_proba, xp.float32)
    if len(y_true.shape) == 2:
        votes = xp.astype(y_true, values.dtype)
        return xp, votes / xp.sum(votes, axis=1, keepdims=True), values
    truth = xp.astype(y_true, xp.arange(1).dtype) if xp.isdtype(y_true.dtype, "integral") else y_true
    return xp, truth, values
