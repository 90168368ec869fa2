"""An alpha that changes while a model trains."""

from __future__ import annotations

from math import cos, pi
from typing import Literal, get_args

import torch

from pandora_regret.inputs import InputError, read_alpha, read_count

Shape = Literal["cosine", "linear"]


class AlphaSchedule:
    """An alpha that moves from `start` to `end` in a number of steps, and stays there.

    At alpha = 0 the loss is convex in the logits and does not saturate: a class that is far ahead of the truth is
    pushed back as hard as one that is level with it. That is what makes training from scratch work. For alpha > 0
    the push fades like ``e^(alpha gap)`` with the gap in logits, and a model that starts out badly wrong may
    never learn; so whoever trains with an alpha above 0 should reach it from 0.

    Parameters
    ----------
    start, end
        The first and the last alpha, finite and not negative.
    steps
        How many calls of `step` lead from one to the other.
    shape
        "cosine" starts and ends gently; "linear" moves evenly.

    Examples
    --------
    >>> alpha = AlphaSchedule(start=0.0, end=1.0, steps=4, shape="linear")
    >>> for batch in range(6):
    ...     print(float(alpha), end=" ")
    ...     alpha.step()
    0.0 0.25 0.5 0.75 1.0 1.0
    """

    def __init__(self, start: float = 0.0, end: float = 1.0, steps: int = 1000, shape: Shape = "cosine") -> None:
        self.start, self.end = (_read_finite(alpha, name) for alpha, name in ((start, "start"), (end, "end")))
        self.steps = read_count(steps, "steps")
        if shape not in get_args(Shape):
            raise InputError(f"shape is {shape!r}: it must be one of {get_args(Shape)}.")
        self.shape = shape
        self.value = torch.zeros((), dtype=torch.float64)  # alpha, where compiled code reads it
        self.steps_taken = 0

    @property
    def steps_taken(self) -> int:
        """How many steps it has come."""
        return self._steps_taken

    @steps_taken.setter
    def steps_taken(self, steps: int) -> None:
        self._steps_taken = steps
        self.value.fill_(self.alpha)

    @property
    def alpha(self) -> float:
        """What alpha is now."""
        part = min(self.steps_taken / self.steps, 1.0)
        part = (1 - cos(pi * part)) / 2 if self.shape == "cosine" else part
        return (1 - part) * self.start + part * self.end

    def __float__(self) -> float:
        return self.alpha

    def __repr__(self) -> str:
        return (
            f"AlphaSchedule(start={self.start:g}, end={self.end:g}, steps={self.steps}, shape={self.shape!r}), "
            f"now {self.alpha:g}"
        )

    def step(self) -> None:
        """Move on by one step: call it once per batch, where the optimizer steps."""
        self.steps_taken += 1

    def state_dict(self) -> dict[str, int]:
        """How far it has come; what it was built from is not saved, as in a learning-rate schedule's `steps`."""
        return {"steps_taken": self.steps_taken}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Go on from where a saved schedule was."""
        self.steps_taken = read_count(state["steps_taken"], "steps_taken", least=0)


def _read_finite(alpha: float, name: str) -> float:
    number = read_alpha(alpha)
    if number == float("inf"):
        raise InputError(f"{name} is inf: a schedule cannot get there, choose a finite alpha.")
    return number
