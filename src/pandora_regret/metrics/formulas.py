"""The metrics' formulas: one value per row, or the few columns whose means they are made of.

Ties: the class of highest probability, and the rank of the truth, go by class number among equals, as NumPy's
argmax and the paper's simulator do. So accuracy is top-1, and top-k and MRR see the same ranks.
"""

from collections.abc import Iterable

import numpy as np

from pandora_regret.decisions.label_metrics import place_of_truth
from pandora_regret.inputs import FloatArray, Forecast, IntArray
from pandora_regret.kernels.engine import in_threads, realised_costs, search_costs, total_losses, worth_compiling
from pandora_regret.kernels.reference import BROKEN_BY_INDEX, at_mean_costs, at_truth, rank_odds
from pandora_regret.priors import Exponential, Prior

BINS = 15  # of the calibration error
NO_SKILL = 0.5  # where only one class is left, and there is nothing to tell apart


def beta_score(alpha: float, forecast: Forecast, prior: Prior) -> FloatArray:
    """``S_alpha``, the mean loss per wrong class under uniform costs; Pandora's Regret at alpha 1."""
    return _joined(total_losses(forecast.with_costs(None), alpha)) / (3 * (forecast.n_classes - 1))


def excess_burden(forecast: Forecast, prior: Prior) -> FloatArray:
    """``(K - 1) S_1``: what is expected to be spent on wrong tests, where the most expensive test costs 1."""
    return beta_score(1.0, forecast, prior) * (forecast.n_classes - 1)


def expected_cost(forecast: Forecast, prior: Prior) -> FloatArray:
    """What the search is expected to cost."""
    return _joined(search_costs(forecast, prior))


def pairwise_brier(forecast: Forecast, prior: Prior) -> FloatArray:
    """The expected cost of a search under exponential costs."""
    return expected_cost(forecast.with_costs(None), Exponential())


def realised_cost(forecast: Forecast, prior: Prior) -> FloatArray:
    """What the search at the mean costs pays."""
    forecast, unit = at_mean_costs(forecast, prior)
    return unit * _joined(realised_costs(forecast, BROKEN_BY_INDEX))


def number_of_tests(forecast: Forecast, prior: Prior) -> FloatArray:
    """How many tests the search at the mean costs makes: the truth's place in its order."""
    places = []
    for block in at_mean_costs(forecast, prior)[0].blocks():
        odds, lower_number = rank_odds(block), np.arange(block.n_classes) < block.truth[:, None]
        places.append(1.0 + np.where(odds == 0, lower_number, odds < 0).sum(axis=1))
    return np.concatenate(places)


def log_loss(forecast: Forecast, prior: Prior) -> FloatArray:
    """``-ln p_i``; infinite where the truth was held to be impossible: nothing is clipped.

    From logits without their softmax, which may underflow.
    """
    losses = []
    for block in forecast.blocks():
        ours, largest = at_truth(block, block.values), block.values.max(axis=1)
        with np.errstate(divide="ignore"):
            if block.logits:
                losses.append(np.log(np.exp(block.values - largest[:, None]).sum(axis=1)) + (largest - ours))
            else:
                losses.append(0.0 - np.log(ours))
    return np.concatenate(losses)


def accuracy(forecast: Forecast, prior: Prior) -> FloatArray:
    """Whether the likeliest class is the truth."""
    return np.asarray(forecast.values.argmax(axis=1) == forecast.truth, dtype=np.float64)


def brier(truth: IntArray, proba: FloatArray) -> FloatArray:
    """``sum_k (p_k - 1(k = i))^2``."""
    return np.asarray(((proba - one_hot(truth, proba.shape[1])) ** 2).sum(axis=1))


def _joined(scored: Iterable[tuple[Forecast, FloatArray]]) -> FloatArray:
    return np.concatenate([values for _, values in scored])


def one_hot(classes: IntArray, n_classes: int) -> FloatArray:
    """1 in each row's class, 0 elsewhere: from (...) to (..., K)."""
    return np.asarray(classes[..., None] == np.arange(n_classes), dtype=np.float64)


def spherical(truth: IntArray, proba: FloatArray) -> FloatArray:
    """``p_i / |p|``."""
    return np.asarray(proba[np.arange(len(truth)), truth] / np.sqrt((proba**2).sum(axis=1)))


def ranked_probability(truth: IntArray, proba: FloatArray) -> FloatArray:
    """``sum_k (P_k - 1(k >= i))^2 / (K - 1)``, P the cumulative forecast: classes in column order."""
    n_classes = proba.shape[1]
    steps = np.arange(n_classes - 1) >= truth[:, None]
    return np.asarray(((np.cumsum(proba[:, :-1], axis=1) - steps) ** 2).sum(axis=1) / (n_classes - 1))


def reciprocal_rank(truth: IntArray, proba: FloatArray) -> FloatArray:
    """One over the place of the truth."""
    return 1 / place_of_truth(truth, proba)


def found_in_top(k: int, truth: IntArray, proba: FloatArray) -> FloatArray:
    """Whether the truth is among the k classes of highest probability."""
    return np.asarray(place_of_truth(truth, proba) <= k, dtype=np.float64)


def macro_f1(occurs: FloatArray, named: FloatArray, right: FloatArray) -> FloatArray:
    """scikit-learn's ``f1_score(average="macro")``: ``2 right / (occurs + named)``, averaged over classes.

    A class that neither occurs nor is predicted does not count.
    """
    size = occurs + named
    f1 = np.divide(2 * right, size, out=np.zeros(size.shape), where=size > 0)
    return np.asarray(f1.sum(axis=-1) / (size > 0).sum(axis=-1))


def macro_f1_gradient(occurs: FloatArray, named: FloatArray, right: FloatArray) -> FloatArray:
    """Derivatives by `occurs`, `named` and `right`, (3, K), while the classes that count stay the same."""
    size, counted = np.where(occurs + named > 0, occurs + named, np.inf), (occurs + named > 0).sum()
    loss = -2 * right / size**2
    return np.asarray(np.stack([loss, loss, 2 / size]) / counted)


def top_label_errors(truth: IntArray, proba: FloatArray) -> FloatArray:
    """Right or not minus confidence, in the column of the confidence's bin: [0, 1/15), ..., [14/15, 1]."""
    confidence, predicted = proba.max(axis=1), proba.argmax(axis=1)
    bins = np.minimum((confidence * BINS).astype(np.intp), BINS - 1)
    return np.asarray(one_hot(bins, BINS) * ((predicted == truth) - confidence)[:, None])


def calibration_error(means: FloatArray) -> FloatArray:
    """``sum_b |mean of bin b's errors|``: each bin weighted by how many instances it holds."""
    return np.asarray(np.abs(means).sum(axis=-1))


def macro_auroc(truth: IntArray, proba: FloatArray, weights: FloatArray) -> FloatArray:
    """The chance that a class's instance scores higher than another's, averaged over classes; a tie is one half.

    Under every row of weights, (R, N): (R,). The average is over classes that have both instances and others, and
    1/2 if there are none. Instances are sorted once, their weights summed along the way.
    """
    order = np.argsort(proba.T, axis=1)
    scores = np.take_along_axis(proba.T, order, axis=1)
    areas, defined = np.zeros((2, len(weights)))
    if worth_compiling(order.size * len(weights)):
        from pandora_regret.metrics.auroc_loops import add_aurocs

        def add(some: slice) -> None:
            add_aurocs(order, scores, truth, weights, some.start, some.stop, areas, defined)

        in_threads(add, len(areas), order.size * len(areas))
    else:
        for k, (instances, values) in enumerate(zip(order, scores, strict=True)):
            above, beside = weights[:, instances], weights[:, instances]
            above[:, truth[instances] != k] = beside[:, truth[instances] == k] = 0.0
            starts = np.flatnonzero(np.diff(values, prepend=-1.0))  # of runs of equal scores
            above, beside = (np.add.reduceat(part, starts, axis=1) for part in (above, beside))
            right = (above * (np.cumsum(beside, axis=1) - beside / 2)).sum(axis=1)
            pairs = right + (beside * (np.cumsum(above, axis=1) - above / 2)).sum(axis=1)
            areas += np.divide(right, pairs, out=np.zeros_like(right), where=pairs > 0)
            defined += pairs > 0
    return np.asarray(np.divide(areas, defined, out=np.full(len(weights), NO_SKILL), where=defined > 0))
