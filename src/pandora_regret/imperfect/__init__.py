"""Tests that miss, and tests that raise false alarms: the right order of tests and the right bill."""

from pandora_regret.imperfect.expenditure import (
    effective_costs,
    expected_expenditure,
    imperfect_order,
    keeps_strict_propriety,
    predicted_expenditure,
    simulate_expenditure,
    treatment_payoff,
)
from pandora_regret.inputs.tests import Tests

__all__ = [
    "Tests",
    "effective_costs",
    "expected_expenditure",
    "imperfect_order",
    "keeps_strict_propriety",
    "predicted_expenditure",
    "simulate_expenditure",
    "treatment_payoff",
]
