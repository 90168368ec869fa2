"""Random numbers of a seed and a generator that somebody named."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from pandora_regret.inputs import FloatArray, InputError

GENERATORS = {"default": "numpy.random.default_rng(SEED)", "legacy": "numpy.random.RandomState(SEED)"}
LARGEST_SEED = 2**32 - 1  # that both take


def named_generator(name: Any) -> np.random.Generator:
    """The generator that "legacy:42" or "default:42" names.

    Draws from the uniform prior are then the very numbers that ``numpy.random.RandomState(42).uniform(size=K)`` or
    ``numpy.random.default_rng(42).uniform(size=K)`` gives. Other priors draw from the same stream of bits.

    Examples
    --------
    >>> from pandora_regret import Uniform
    >>> Uniform().sample(1, 3, named_generator("legacy:42")).round(4)
    array([[0.3745, 0.9507, 0.732 ]])
    """
    kind, _, seed = name.partition(":") if isinstance(name, str) else ("", "", "")
    if kind not in GENERATORS or not (seed.isascii() and seed.isdigit()) or int(seed) > LARGEST_SEED:
        choices = ", ".join(f"'{known}:SEED' ({made})" for known, made in GENERATORS.items())
        raise InputError(argument="generator", value=name, fix=f"pass {choices}, SEED from 0 to {LARGEST_SEED}")
    if kind == "default":
        return _Generator(np.random.PCG64(int(seed)))
    bits = np.random.MT19937()
    bits.state = cast(Any, np.random.RandomState(int(seed)).get_state(legacy=False))
    return _Generator(bits)


class _Generator(np.random.Generator):
    """Uniform numbers U as 1 - U, which `Beta.draw` turns back: it takes 1 - U itself, so that no test is free."""

    def random(self, *args: Any, **options: Any) -> FloatArray:  # type: ignore[override]
        return np.asarray(1 - super().random(*args, **options))
