"""What a test costs, as a distribution over unit costs u: the test of class k costs C_k u_k."""

from pandora_regret.lazy import lazy_exports

__all__, __getattr__, __dir__ = lazy_exports(__name__)
