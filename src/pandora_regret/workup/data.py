"""What a work-up is, as plain data: classes, steps with their outcomes, what must come first, and ways to stop."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from graphlib import TopologicalSorter
from typing import Any, TypeAlias

import numpy as np

from pandora_regret.core.inputs import Fields, FloatArray, InputError, Names, as_outcome

Pair: TypeAlias = tuple[int, int | None]  # the numbers of a step and of its outcome; None for any outcome
ROUNDING = 1e-9  # how far probabilities may be off 1, as 1/3 written with ten digits is
HALF = 0.5  # a case of every outcome, before any was seen: Jeffreys' prior
TINY = 1e-300
FREE = 1e-100  # what a step costs that costs nothing, or has been made


@dataclass(frozen=True)
class WorkupStep:
    """Something that can be done once: a test, a visit, a question."""

    name: str
    cost: float
    outcomes: Names
    chances: tuple[tuple[float, ...], ...]  # (outcomes, K): how likely each outcome is if a class is the truth
    confirmed: tuple[int | None, ...]  # (outcomes,): the class that an outcome confirms
    requires: Names = ()  # other steps, perhaps with an outcome: "dermoscopy=suspicious"
    counts: tuple[tuple[float, ...], ...] = ()  # (outcomes, K) where chances were learned: cases that had each
    cuts: tuple[float, ...] = ()  # of a number: between the outcomes, which are then ranges in rising order
    normal: int = -1  # the outcome that is shown where no cause of a set is at work

    @property
    def is_certain(self) -> bool:
        """Whether the truth alone decides the outcome."""
        return all(chance in (0, 1) for row in self.chances for chance in row)

    @property
    def settles(self) -> frozenset[int]:
        """The classes that the step is certain to confirm where they are the truth."""
        confirmations = zip(self.confirmed, self.chances, strict=True)
        return frozenset(k for k, row in confirmations if k is not None and row[k] == 1)

    def outcome(self, value: Any) -> int | None:
        """The number of the outcome that a value stands for: its name, or a number that lies in its range.

        A visit has one outcome, and None stands for it. A value that stands for no outcome gives None.
        """
        if value is None and len(self.outcomes) == 1:
            return 0
        name = as_outcome(value)
        if name in self.outcomes:
            return self.outcomes.index(name)
        if not self.cuts:
            return None
        try:
            number = float(name)
        except ValueError:
            return None
        return int(np.searchsorted(self.cuts, number, "right"))


@dataclass(frozen=True)
class Stop:
    """A way to end without a confirmed class: what that loses if a class is the truth.

    Where the class is named on stopping (the one that loses least is), nothing is lost if the name is right.
    """

    name: str
    losses: tuple[float, ...]  # (K,)
    names_class: bool = False


@dataclass(frozen=True)
class WorkupData:
    """All that a work-up's file says, checked and by numbers: K classes and M steps in the order of the file."""

    classes: Names
    sets: tuple[tuple[int, tuple[int, ...]], ...]  # classes that are sets of causes, and these
    cases: tuple[float, ...]  # (K,) how many of each class there were, or what share; all 0 where it is not said
    steps: tuple[WorkupStep, ...]
    requires: tuple[tuple[Pair, ...], ...]  # the numbers of the steps that each requires, and of their outcomes
    stops: tuple[Stop, ...]
    confirm: bool
    budget: float | None
    unresolved: tuple[float, ...]  # (K,)
    fee: float  # of every round
    together: Names  # steps that can be ordered in one round
    title: str
    notes: str
    currency: str
    source: str
    document: Fields = field(compare=False)  # what the file says, as it is written

    @property
    def shares(self) -> dict[str, float]:
        """What share of the cases each class is."""
        if not any(self.cases):
            fix = "say how many cases of each class there are, or give a forecast"
            raise InputError("are missing, or all 0", argument="cases", fix=fix)
        return {name: n / sum(self.cases) for name, n in zip(self.classes, self.cases, strict=True)}

    @cached_property
    def costs(self) -> FloatArray:
        """What each step costs, (M,)."""
        return np.array([step.cost for step in self.steps])

    @cached_property
    def step_index(self) -> Mapping[str, int]:
        """The number of each step, by its name."""
        return {step.name: number for number, step in enumerate(self.steps)}

    @cached_property
    def before(self) -> list[set[Pair]]:
        """For each step all that must have come before it, directly or not; graphlib.CycleError in a circle."""
        before = [set(pairs) for pairs in self.requires]
        direct = {step: list(dict(pairs)) for step, pairs in enumerate(self.requires)}
        for step in TopologicalSorter(direct).static_order():
            for earlier in direct[step]:
                before[step] |= before[earlier]
        return before

    def likelihood(self, results: Iterable[Pair]) -> FloatArray:
        """How likely each class makes some outcomes of steps, (K,); any outcome, None, is certain."""
        likelihood = np.ones(len(self.classes))
        for step, outcome in results:
            if outcome is not None:
                likelihood *= self.steps[step].chances[outcome]
        return likelihood

    @property
    def endings(self) -> tuple[Stop, ...]:
        """The ways to stop; where there are none, what is left if nothing can be done."""
        return self.stops or (Stop("unresolved", self.unresolved),)


def noisy_or(chances: FloatArray, normal: int, causes: Sequence[int]) -> FloatArray:
    r"""How likely outcomes are if several causes are at work together.

    Each cause brings about what it would alone, independently of the others. The outcome is the normal one if
    none of them shows, with probability $\prod_c P(\text{normal} \mid c)$; otherwise it is one that some cause
    shows, the likelier the more these make it so. With two outcomes this is Pearl's noisy-OR.

    Parameters
    ----------
    chances
        Probabilities of O outcomes under K classes, shape (..., O, K).
    normal
        The number of the outcome that no cause brings about.
    causes
        The numbers of the classes that are at work.

    Returns
    -------
    array
        Probabilities of outcomes, shape (..., O).
    """
    alone = chances[..., list(causes)]
    nothing_shows = alone[..., normal, :].prod(axis=-1)
    shown = alone.sum(axis=-1)
    shown[..., normal] = 0.0
    scale = (1 - nothing_shows) / np.maximum(shown.sum(axis=-1), TINY)
    combined = np.asarray(shown * scale[..., None])
    combined[..., normal] = nothing_shows
    return combined
