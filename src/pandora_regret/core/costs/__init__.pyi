from pandora_regret.core.costs.pathways import Hypothesis as Hypothesis
from pandora_regret.core.costs.pathways import Item as Item
from pandora_regret.core.costs.pathways import Pathways as Pathways
from pandora_regret.core.costs.pathways import Payment as Payment
from pandora_regret.core.costs.pathways import Step as Step
from pandora_regret.core.costs.pathways import available_costs as available_costs
from pandora_regret.core.costs.pathways import load_costs as load_costs
