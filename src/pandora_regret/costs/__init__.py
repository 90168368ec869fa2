"""Diagnostic pathways as data: fee items and probabilities in a TOML file become what testing each class costs."""

from pandora_regret.costs.pathway_file import available_costs, load_costs
from pandora_regret.costs.pathways import Hypothesis, Item, Pathways, Payment, Step

__all__ = ["Hypothesis", "Item", "Pathways", "Payment", "Step", "available_costs", "load_costs"]
