"""Pandora's Regret: score forecasts by what the search they order will cost.

Public names load when they are first asked for (PEP 562), so that importing the package costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pandora_regret._version import __version__
from pandora_regret.lazy import lazy_exports

if TYPE_CHECKING:
    from pandora_regret.calibrate import decompose as decompose
    from pandora_regret.costs import Pathways as Pathways
    from pandora_regret.costs import available_costs as available_costs
    from pandora_regret.costs import load_costs as load_costs
    from pandora_regret.decisions import desiderata as desiderata
    from pandora_regret.entropy import search_divergence as search_divergence
    from pandora_regret.entropy import search_entropy as search_entropy
    from pandora_regret.imperfect import effective_costs as effective_costs
    from pandora_regret.imperfect import expected_expenditure as expected_expenditure
    from pandora_regret.imperfect import imperfect_order as imperfect_order
    from pandora_regret.imperfect import keeps_strict_propriety as keeps_strict_propriety
    from pandora_regret.imperfect import predicted_expenditure as predicted_expenditure
    from pandora_regret.imperfect import simulate_expenditure as simulate_expenditure
    from pandora_regret.imperfect import treatment_payoff as treatment_payoff
    from pandora_regret.inputs import InputError as InputError
    from pandora_regret.inputs import InputTypeError as InputTypeError
    from pandora_regret.inputs.tests import Tests as Tests
    from pandora_regret.priors import Beta as Beta
    from pandora_regret.priors import Empirical as Empirical
    from pandora_regret.priors import Exponential as Exponential
    from pandora_regret.priors import Fixed as Fixed
    from pandora_regret.priors import FromScipy as FromScipy
    from pandora_regret.priors import Gamma as Gamma
    from pandora_regret.priors import LogNormal as LogNormal
    from pandora_regret.priors import Prior as Prior
    from pandora_regret.priors import Uniform as Uniform
    from pandora_regret.report import write_report as write_report
    from pandora_regret.scores import beta_score as beta_score
    from pandora_regret.scores import excess_search_burden as excess_search_burden
    from pandora_regret.scores import expected_search_cost as expected_search_cost
    from pandora_regret.scores import pair_costs as pair_costs
    from pandora_regret.scores import pandora_regret as pandora_regret
    from pandora_regret.scores import search_tally as search_tally
    from pandora_regret.search import search_cost as search_cost
    from pandora_regret.search import search_order as search_order
    from pandora_regret.search import simulate_search as simulate_search
    from pandora_regret.tally import Tally as Tally
    from pandora_regret.workup import Plan as Plan
    from pandora_regret.workup import Workup as Workup
    from pandora_regret.workup import plan_search as plan_search
    from pandora_regret.workup import plan_workup as plan_workup
    from pandora_regret.workup import workup_cost as workup_cost
    from pandora_regret.workup import workup_entropy as workup_entropy
    from pandora_regret.workup import workup_regret as workup_regret

__all__, __getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "calibrate": ("decompose",),
        "costs": ("Pathways", "available_costs", "load_costs"),
        "decisions": ("desiderata",),
        "entropy": ("search_divergence", "search_entropy"),
        "imperfect": (
            "effective_costs",
            "expected_expenditure",
            "imperfect_order",
            "keeps_strict_propriety",
            "predicted_expenditure",
            "simulate_expenditure",
            "treatment_payoff",
        ),
        "inputs": ("InputError", "InputTypeError"),
        "inputs.tests": ("Tests",),
        "priors": (
            "Beta",
            "Empirical",
            "Exponential",
            "Fixed",
            "FromScipy",
            "Gamma",
            "LogNormal",
            "Prior",
            "Uniform",
        ),
        "report": ("write_report",),
        "scores": (
            "beta_score",
            "excess_search_burden",
            "expected_search_cost",
            "pair_costs",
            "pandora_regret",
            "search_tally",
        ),
        "search": ("search_cost", "search_order", "simulate_search"),
        "tally": ("Tally",),
        "workup": (
            "Plan",
            "Workup",
            "plan_search",
            "plan_workup",
            "workup_cost",
            "workup_entropy",
            "workup_regret",
        ),
    },
)
__all__ += ["__version__"]
