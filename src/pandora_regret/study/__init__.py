"""The paper's experiment as a tool: zoos of models, their predictions, and which metric picks the cheapest one.

Every public name is found here, `pandora_regret.study.Store` for one, and loads when it is first asked for; the
modules in which they live may change.
"""

from pandora_regret.lazy import lazy_exports

__all__, __getattr__, __dir__ = lazy_exports(__name__)
