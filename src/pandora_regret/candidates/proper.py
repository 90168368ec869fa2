r"""The paper's scores of lists of probabilities with one truth each.

A list is a forecast over its candidates and elsewhere, which has the probability that the list leaves. Where it
leaves nothing, elsewhere is no alternative, unless the truth is there. So a list of all classes has the scores
of the dense forecast.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pandora_regret.candidates.search import BoolArray, sums_by_case
from pandora_regret.core.inputs import FloatArray, InputError, IntArray
from pandora_regret.core.kernels.reference import log_ratio
from pandora_regret.core.priors import Prior
from pandora_regret.core.priors.base import TIE, settle_ties
from pandora_regret.core.priors.beta import beta_loss
from pandora_regret.core.priors.names import spelled_prior


@dataclass(frozen=True)
class Alternatives:
    """The candidates of all cases and elsewhere where it is one, each beside the truth of its case; all (A,)."""

    case: IntArray
    probability: FloatArray
    price: FloatArray
    is_true: BoolArray
    n_cases: int

    @property
    def truths(self) -> IntArray:
        """The row of each case's one true alternative, (N,)."""
        rows = np.flatnonzero(self.is_true)
        by_case = np.empty(self.n_cases, dtype=np.intp)
        by_case[self.case[rows]] = rows
        return by_case

    def sums(self, values: FloatArray) -> FloatArray:
        """The sum of each case's values but that of its truth, (N,)."""
        return sums_by_case(np.where(self.is_true, 0.0, values), self.case, self.n_cases)


def expected_costs(alternatives: Alternatives, prior: Prior) -> FloatArray:
    r"""What the search of each case is expected to cost, :math:`c_i + \sum_j c_j L(q_i / q_j) / E[u]`, (N,).

    Prices are the means :math:`c = C\,E[u]`.
    """
    if prior.n_classes is not None:
        problem = f"{spelled_prior(prior)} is about {prior.n_classes} classes, and lists have names of their own"
        fix = "choose one under which unit costs of all candidates are alike"
        raise InputError(problem, argument="prior", value=prior, fix=fix)
    truth = alternatives.truths
    of_truth = truth[alternatives.case]
    odds = log_ratio(
        alternatives.probability[of_truth],
        alternatives.probability,
        alternatives.price[of_truth],
        alternatives.price,
        logits=False,
    )
    shares = prior.share_with_ties(odds, 0, 1, TIE)
    return np.asarray(alternatives.price[truth] + alternatives.sums(alternatives.price * shares))


def pandora_regrets(alternatives: Alternatives, alpha: float) -> FloatArray:
    r"""Pandora's Regret of each case, :math:`\sum_j L_\alpha(p_i / p_j) / (3 (K - 1))`, (N,).

    K is the number of the case's own alternatives; a case with one alternative has regret 0.
    """
    of_truth = alternatives.truths[alternatives.case]
    odds = log_ratio(alternatives.probability[of_truth], alternatives.probability, logits=False)
    if alpha == np.inf:
        odds = settle_ties(odds)
    n_others = np.bincount(alternatives.case, minlength=alternatives.n_cases) - 1
    return np.asarray(alternatives.sums(beta_loss(odds, alpha)) / (3 * np.maximum(n_others, 1)))


def log_losses(alternatives: Alternatives) -> FloatArray:
    """Minus the logarithm of the probability of each case's truth, (N,); infinite where that is 0."""
    with np.errstate(divide="ignore"):
        return np.asarray(-np.log(alternatives.probability[alternatives.truths]))
