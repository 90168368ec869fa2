"""Everything that is reported of a model, or ranks models: one `Metric`, one registry.

base.py       Metric: names, unit and bounds, the formula, and its values for many models and resamples at once
registry.py   the formulas; METRICS, and metrics by key, by name or from a study's file
auroc_loops.py   the one metric that is no function of means, compiled
fused.py      many metrics of many rows in one compiled pass, where there is enough of them
"""

from pandora_regret.lazy import lazy_exports

__all__, __getattr__, __dir__ = lazy_exports(__name__)
