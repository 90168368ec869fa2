"""What a work-up is: classes, steps that inform about them, and ways to stop."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pandora_regret.inputs import FloatArray, InputError

if TYPE_CHECKING:
    from pandora_regret.costs import Pathways
    from pandora_regret.workup.menu import Menu
    from pandora_regret.workup.policies import Policy
    from pandora_regret.workup.summary import Summary

MOST_STATES = 200_000  # of a state graph, unless another limit is asked for


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


@dataclass(frozen=True, init=False, repr=False)
class Workup:
    """Tests that inform about several classes, what must come before them, and ways to stop.

    Arguments are what the TOML file holds under the same keys, in dictionaries; docs/workups.md lists them.

    Parameters
    ----------
    classes
        The names of the classes; forecasts without names have their columns in this order.
    steps
        Tables by name: `cost` (or fee `items`), `requires`, and what the step tells: `confirms` a class,
        `tells_apart` classes (or "all"), is `positive_for` classes with `sensitivity` and `specificity`, or has
        `outcomes` with their probabilities per class. A step that tells nothing is a visit.
    hierarchy
        Nested tables of costs: each level is searched until one of its tests answers, then the next.
    stops
        Ways to end before a class is confirmed: `loss`, or `wrong` for naming a class that is not the truth.
    confirm
        Whether the truth must be confirmed by a test; otherwise being the only class left is enough.
    budget
        The most that a case may cost in steps.
    unresolved
        What it loses if nothing is left to do and no class is confirmed.
    rounds
        `fee` of every round, and which steps can be ordered `together` in one.

    See Also
    --------
    plan_workup : The best next step for one case.
    workup_cost : The score of many forecasts.

    Examples
    --------
    >>> workup = Workup(
    ...     classes=["melanoma", "nevus", "keratosis"],
    ...     steps={
    ...         "dermoscopy": {"cost": 52, "positive_for": ["melanoma"], "sensitivity": 0.9, "specificity": 0.8},
    ...         "biopsy": {"cost": 384, "tells_apart": "all"},
    ...     },
    ...     stops={"watch": {"loss": {"melanoma": 20000, "others": 30}}},
    ... )
    >>> workup
    Workup(3 classes, 2 steps, 1 way to stop; by the state graph)
    """

    classes: tuple[str, ...]
    steps: tuple[WorkupStep, ...]
    stops: tuple[Stop, ...]
    confirm: bool
    budget: float | None
    unresolved: tuple[float, ...]
    fee: float
    together: tuple[str, ...]
    title: str
    setting: str
    notes: str
    currency: str
    source: str
    year: int | None

    def __init__(
        self,
        classes: Any,
        steps: Any = None,
        *,
        hierarchy: Any = None,
        stops: Any = None,
        confirm: bool = True,
        budget: float | None = None,
        unresolved: Any = 0,
        rounds: Any = None,
        items: Any = None,
        **about: Any,
    ) -> None:
        document = {
            "classes": classes,
            "steps": steps,
            "hierarchy": hierarchy,
            "stops": stops,
            "confirm": confirm,
            "budget": budget,
            "unresolved": unresolved,
            "rounds": rounds,
            "items": items,
            **about,
        }
        self._read({key: value for key, value in document.items() if value is not None}, "Workup")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Workup:
        """Read and check a TOML file."""
        from pandora_regret.costs.section import parse_toml

        return cls.from_dict(parse_toml(read_bytes(path), str(path)), str(path))

    @classmethod
    def from_dict(cls, document: dict[str, Any], file: str = "Workup") -> Workup:
        """The work-up that a parsed file describes; `file` is what error messages call it."""
        workup = cls.__new__(cls)
        workup._read(document, file)
        return workup

    @classmethod
    def from_pathways(cls, pathways: str | os.PathLike[str] | Pathways) -> Workup:
        """A pathway file as it really is: what classes' pathways begin with is paid once, not once per class.

        Classes whose pathways are the same are told apart by the same step.

        Examples
        --------
        >>> for step in Workup.from_pathways("dermamnist").steps:
        ...     print(f"{step.name:22}{step.cost:9.4f}", *step.requires)
        visit                   75.1500
        basal_cell_carcinoma   165.6700 visit
        benign_keratosis        30.8625 visit
        melanoma               308.6250 visit
        """
        from pandora_regret.workup.pathways import shared_steps

        return cls.from_dict(shared_steps(pathways))

    def _read(self, document: dict[str, Any], file: str) -> None:
        from pandora_regret.workup.format import read_workup

        for name, value in read_workup(document, file).items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        stops = f", {_counted(len(self.stops), 'way')} to stop" if self.stops else ""
        return f"Workup({len(self.classes)} classes, {_counted(len(self.steps), 'step')}{stops}; by {self.policy})"

    @cached_property
    def policy(self) -> Policy:
        """The fastest exact method that applies, ready to be used."""
        from pandora_regret.workup.recognise import exact_policy

        return exact_policy(self)

    @property
    def method(self) -> str:
        """Which exact method applies: "search", "hierarchy", "forest", "prefix" or "graph"."""
        return self.policy.method

    @cached_property
    def costs(self) -> FloatArray:
        """What each step costs, (M,)."""
        return np.array([step.cost for step in self.steps])

    @cached_property
    def step_index(self) -> dict[str, int]:
        """The number of each step."""
        return {step.name: index for index, step in enumerate(self.steps)}

    def menu(self, protocols: Any) -> Menu:
        """A few decision trees that people wrote down; forecasts choose among these only.

        `protocols` is a mapping from names to trees, or the path of a TOML file with tables `[protocols.NAME]`.
        A tree is `{"step": ..., "then": {outcome: tree}}` or `{"stop": ...}`; an outcome that confirms a class
        needs no tree. The menu can be scored and planned with like a work-up, of any size.
        """
        from pandora_regret.workup.menu import read_menu

        return read_menu(self, protocols)

    def summary(self) -> Summary:
        """What was understood: classes, steps, the exact method, the number of states, the range of costs."""
        from pandora_regret.workup.summary import summarise

        return summarise(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain values under the keys of the file."""
        from pandora_regret.workup.writing import as_document

        return as_document(self)

    def to_toml(self) -> str:
        """The file that says the same; fee items are written as the costs they add up to."""
        from pandora_regret.workup.writing import as_toml

        return as_toml(self.to_dict())


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """The content of a file, or an error in one sentence."""
    try:
        return Path(path).read_bytes()
    except (OSError, ValueError, TypeError) as error:  # ValueError: a null character in the path
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{str(path)!r} cannot be read ({reason}): pass the path of a TOML file.") from None


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
