"""Format version 1 of a work-up: the tables of its TOML file, and what is wrong with each by itself."""

from dataclasses import dataclass, field
from typing import Annotated, Literal

from msgspec import Meta

from pandora_regret.core.costs.pathways import Item, Step, Year
from pandora_regret.core.inputs import Fields, InputError
from pandora_regret.core.records import check_one_of

NonNegative = Annotated[float, Meta(ge=0, le=1e50)]
NumberOrTable = NonNegative | dict[str, NonNegative]  # of all classes, or a table in which `others` may stand
Text = str | int  # a column number may be a name
Texts = Text | tuple[Text, ...]

QUALIFIERS = {  # the ways to say what a step tells, and which keys may stand beside each
    "confirms": ("sensitivity",),
    "tells_apart": (),
    "positive_for": ("sensitivity", "specificity"),
    "outcomes": ("confirming",),
    "counts": (),
}


@dataclass(frozen=True)
class StepTable:
    """A ``[steps.NAME]`` table."""

    cost: NonNegative | None = None
    items: tuple[Step, ...] | None = None
    requires: Texts = ()
    confirms: Text | None = None
    tells_apart: Texts | None = None
    positive_for: Texts | None = None
    outcomes: dict[str, NumberOrTable | str] | None = None
    sensitivity: NumberOrTable | None = None
    specificity: NumberOrTable | None = None
    confirming: Texts | None = None
    counts: dict[str, dict[str, NonNegative]] | None = None
    cuts: tuple[float, ...] = ()
    normal: str | None = None

    def __post_init__(self) -> None:
        check_one_of(cost=self.cost, items=self.items)
        tellings = {
            "confirms": self.confirms,
            "tells_apart": self.tells_apart,
            "positive_for": self.positive_for,
            "outcomes": self.outcomes,
            "counts": self.counts,
        }
        stated = [key for key, value in tellings.items() if value is not None]
        if len(stated) > 1:
            fix = "say in one way what the step tells"
            raise InputError(f"stands beside {stated[0]}", argument=stated[1], fix=fix)
        telling = stated[0] if stated else "nothing"
        qualifiers = {
            "sensitivity": self.sensitivity,
            "specificity": self.specificity,
            "confirming": self.confirming,
        }
        for key, value in qualifiers.items():
            if value is not None and key not in QUALIFIERS.get(telling, ()):
                fix = "take it out, or describe the step by positive_for"
                raise InputError(f"says nothing about a step with {telling}", argument=key, fix=fix)


@dataclass(frozen=True)
class StopTable:
    """A ``[stops.NAME]`` table."""

    loss: NumberOrTable | None = None
    wrong: NumberOrTable | None = None

    def __post_init__(self) -> None:
        check_one_of(loss=self.loss, wrong=self.wrong)


@dataclass(frozen=True)
class Rounds:
    """The ``[rounds]`` table."""

    fee: NonNegative
    together: Texts = ()


@dataclass(frozen=True)
class WorkupFile:
    """The file, as it is written."""

    classes: tuple[Text, ...]
    format_version: Literal[1] = 1
    title: str = ""
    setting: str = ""
    notes: str = ""
    currency: str = ""
    unit: str = ""
    source: str = ""
    year: Year | None = None
    cases: dict[str, NonNegative] = field(default_factory=dict)
    combine: tuple[Texts, ...] = ()
    items: dict[str, Item] = field(default_factory=dict)
    confirm: bool = True
    budget: NonNegative | None = None
    unresolved: NumberOrTable = 0.0
    steps: dict[str, StepTable] = field(default_factory=dict)
    hierarchy: Fields = field(default_factory=dict)
    stops: dict[str, StopTable] = field(default_factory=dict)
    rounds: Rounds = Rounds(0.0)

    def __post_init__(self) -> None:
        if len(self.classes) < 2 or len(set(map(str, self.classes))) < len(self.classes):
            raise InputError("must list at least two classes, each once", argument="classes")
        if self.currency and self.unit:
            raise InputError("stands beside currency", argument="unit", fix="costs are in one of them")
        if not self.steps and not self.hierarchy:
            raise InputError("is missing", argument="steps", fix="describe at least one step, or a hierarchy")
