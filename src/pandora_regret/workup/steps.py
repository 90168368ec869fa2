"""What a work-up is made of: steps that tell something, what they require, and ways to stop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple


class Requirement(NamedTuple):
    """A step that must have been made before another, perhaps with a certain outcome."""

    step: str
    outcome: str | None = None

    def __str__(self) -> str:
        return self.step if self.outcome is None else f"{self.step}={self.outcome}"


@dataclass(frozen=True)
class WorkupStep:
    """Something that can be done once: a test, a visit, a question."""

    name: str
    cost: float
    outcomes: tuple[str, ...]
    chances: tuple[tuple[float, ...], ...]  # (outcomes, K): how likely each outcome is if a class is the truth
    confirmed: tuple[int | None, ...]  # (outcomes,): the class that an outcome confirms
    requires: tuple[Requirement, ...] = ()

    @property
    def is_certain(self) -> bool:
        """Whether the truth alone decides the outcome."""
        return all(chance in (0, 1) for row in self.chances for chance in row)

    @property
    def settles(self) -> frozenset[int]:
        """The classes that the step is certain to confirm where they are the truth."""
        pairs = zip(self.confirmed, self.chances, strict=True)
        return frozenset(k for k, row in pairs if k is not None and row[k] == 1)


@dataclass(frozen=True)
class Stop:
    """A way to end without a confirmed class: what that loses if a class is the truth.

    Where the class is named on stopping (the one that loses least is), nothing is lost if the name is right.
    """

    name: str
    losses: tuple[float, ...]  # (K,)
    names_class: bool = False

    @property
    def is_constant(self) -> bool:
        """Whether stopping loses the same whatever the truth is."""
        return not self.names_class and len(set(self.losses)) == 1


def requirements(step: WorkupStep, steps: Mapping[str, WorkupStep]) -> set[Requirement]:
    """Everything that must have come before a step, directly or not."""
    needed: set[Requirement] = set()
    for one in step.requires:
        needed |= {one} | requirements(steps[one.step], steps)
    return needed
