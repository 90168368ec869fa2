"""Pandora's Regret: score forecasts by what the search they order will cost.

Public names load when they are first asked for (PEP 562), so that importing the package costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pandora_regret._version import __version__
from pandora_regret.lazy import lazy_exports

if TYPE_CHECKING:
    from pandora_regret.calibrate import decompose
    from pandora_regret.costs import Pathways, available_costs, load_costs
    from pandora_regret.decisions import desiderata
    from pandora_regret.entropy import search_divergence, search_entropy
    from pandora_regret.imperfect import (
        effective_costs,
        expected_expenditure,
        imperfect_order,
        keeps_strict_propriety,
        predicted_expenditure,
        simulate_expenditure,
        treatment_payoff,
    )
    from pandora_regret.inputs import InputError, InputTypeError
    from pandora_regret.inputs.tests import Tests
    from pandora_regret.plan import Plan, plan_search
    from pandora_regret.priors import (
        Beta,
        Empirical,
        Exponential,
        Fixed,
        FromScipy,
        Gamma,
        LogNormal,
        Prior,
        Uniform,
    )
    from pandora_regret.report import write_report
    from pandora_regret.scores import (
        beta_score,
        excess_search_burden,
        expected_search_cost,
        pair_costs,
        pandora_regret,
        search_tally,
    )
    from pandora_regret.search import search_cost, search_order, simulate_search
    from pandora_regret.tally import Tally
    from pandora_regret.workup import Workup, plan_workup, workup_cost, workup_entropy, workup_regret

__all__ = [
    "Beta",
    "Empirical",
    "Exponential",
    "Fixed",
    "FromScipy",
    "Gamma",
    "InputError",
    "InputTypeError",
    "LogNormal",
    "Pathways",
    "Plan",
    "Prior",
    "Tally",
    "Tests",
    "Uniform",
    "Workup",
    "__version__",
    "available_costs",
    "beta_score",
    "decompose",
    "desiderata",
    "effective_costs",
    "excess_search_burden",
    "expected_expenditure",
    "expected_search_cost",
    "imperfect_order",
    "keeps_strict_propriety",
    "load_costs",
    "pair_costs",
    "pandora_regret",
    "plan_search",
    "plan_workup",
    "predicted_expenditure",
    "search_cost",
    "search_divergence",
    "search_entropy",
    "search_order",
    "search_tally",
    "simulate_expenditure",
    "simulate_search",
    "treatment_payoff",
    "workup_cost",
    "workup_entropy",
    "workup_regret",
    "write_report",
]

_MODULE_OF = {
    "decompose": "calibrate",
    "Pathways": "costs",
    "available_costs": "costs",
    "load_costs": "costs",
    "desiderata": "decisions",
    "Tests": "inputs.tests",
    "effective_costs": "imperfect",
    "expected_expenditure": "imperfect",
    "imperfect_order": "imperfect",
    "keeps_strict_propriety": "imperfect",
    "predicted_expenditure": "imperfect",
    "simulate_expenditure": "imperfect",
    "treatment_payoff": "imperfect",
    "search_divergence": "entropy",
    "search_entropy": "entropy",
    "InputError": "inputs",
    "InputTypeError": "inputs",
    "Plan": "plan",
    "plan_search": "plan",
    "write_report": "report",
    "Beta": "priors",
    "Empirical": "priors",
    "Exponential": "priors",
    "Fixed": "priors",
    "FromScipy": "priors",
    "Gamma": "priors",
    "LogNormal": "priors",
    "Prior": "priors",
    "Uniform": "priors",
    "beta_score": "scores",
    "excess_search_burden": "scores",
    "expected_search_cost": "scores",
    "pair_costs": "scores",
    "pandora_regret": "scores",
    "search_tally": "scores",
    "search_cost": "search",
    "search_order": "search",
    "simulate_search": "search",
    "Tally": "tally",
    "Workup": "workup",
    "plan_workup": "workup",
    "workup_cost": "workup",
    "workup_entropy": "workup",
    "workup_regret": "workup",
}

__getattr__, __dir__ = lazy_exports(__name__, _MODULE_OF)
