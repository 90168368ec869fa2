"""Diagnostic pathways as data: fee items and probabilities in a TOML file become what testing each class costs."""

from pandora_regret.costs.files import available_costs, load_costs
from pandora_regret.costs.pathways import Chance, Hypothesis, Item, Pathway, Pathways, Payment, Step

__all__ = [
    "Chance",
    "Hypothesis",
    "Item",
    "Pathway",
    "Pathways",
    "Payment",
    "Step",
    "available_costs",
    "load_costs",
]
