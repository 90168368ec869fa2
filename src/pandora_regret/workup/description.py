"""A work-up as people describe it: in a TOML file, in Python, or by pathways."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from pandora_regret.core.atomic import Place, write_atomically
from pandora_regret.core.costs import Pathways
from pandora_regret.core.costs.pathways import as_workup_fields
from pandora_regret.core.inputs import InputError
from pandora_regret.core.records import read_toml, to_toml
from pandora_regret.text import counted
from pandora_regret.workup.data import WorkupData
from pandora_regret.workup.possible import check_possible
from pandora_regret.workup.reading import read_workup
from pandora_regret.workup.structure import Method, Structure, find_structure


class Workup(WorkupData):
    """Tests that inform about several classes, what must come before them, and ways to stop.

    Arguments are what the TOML file holds under the same keys (docs/reference/formats.md), in dictionaries.

    Parameters
    ----------
    classes
        The names of the classes; forecasts without names have their columns in this order.
    steps
        Tables by name: `cost` (or fee `items`), `requires`, and what the step tells: `confirms` a class,
        `tells_apart` classes (or "all"), is `positive_for` classes with `sensitivity` and `specificity`, or has
        `outcomes` with their probabilities per class. A step that tells nothing is a visit.
    keys
        Everything else under the file's keys. `hierarchy`: nested tables of costs; each level is searched until
        one of its tests answers, then the next. `stops`: ways to end before a class is confirmed, with a `loss`,
        or `wrong` for naming a class that is not the truth. `confirm`: whether the truth must be confirmed by a
        test; otherwise being the only class left is enough. `budget`: the most that a case may cost in steps.
        `unresolved`: without `stops`, what it loses once no class can be found any more. `rounds`: the `fee` of
        every round, and which steps can be ordered `together` in one. `items`, `title`, `currency` and so on.

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
    Workup(3 classes, 2 steps, 1 way to stop; method='graph')
    """

    def __init__(self, classes: Any, steps: Any = None, **keys: Any) -> None:
        self._describe({"classes": classes, "steps": steps, **keys}, "Workup")

    @classmethod
    def load(cls, path: Place) -> Workup:
        """Read and check a TOML file."""
        document = read_toml(path, "pass the path of a TOML file")
        workup = cls.__new__(cls)
        workup._describe(document, str(path))
        return workup

    def _describe(self, document: Mapping[str, Any], file: str) -> None:
        """Hold all that a document says; `file` is what error messages call it."""
        try:
            super().__init__(**read_workup(document))
            check_possible(self)
        except InputError as error:
            raise error.within(file) from None

    @classmethod
    def from_pathways(cls, pathways: Place | Pathways) -> Workup:
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
        return cls(**as_workup_fields(pathways))

    def save(self, path: Place) -> Path:
        """Write a TOML file that `load` reads."""
        return write_atomically(path, to_toml(self.document).encode())

    def __repr__(self) -> str:
        stops = f", {counted(len(self.stops), 'way')} to stop" if self.stops else ""
        steps = counted(len(self.steps), "step")
        return f"Workup({len(self.classes)} classes, {steps}{stops}; method={self.method!r})"

    @property
    def method(self) -> Method:
        """Which exact method applies: "search", "hierarchy", "forest" or "graph"."""
        return self.structure.method

    @cached_property
    def structure(self) -> Structure:
        """The fastest exact method, and what it needs to know."""
        return find_structure(self)
