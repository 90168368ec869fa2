"""The tree of a plan: what to do at each point and what may follow; as a table, or a protocol to be read back."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from pandora_regret.core.atomic import Place
from pandora_regret.core.inputs import InputError, Names
from pandora_regret.core.records import from_plain, to_plain
from pandora_regret.text import DisplayTable

SCHEMA = "pandora-protocol/1"
CSV_COLUMNS = [
    "number",
    "after",
    "outcome",
    "kind",
    "name",
    "cost",
    "chance",
    "expected_cost",
    "likeliest",
    "probability",
]
TreeRow: TypeAlias = list[int | float | str | None]


@dataclass(frozen=True)
class PlanStep:
    """One step of a plan, as long as there is only one way to go on."""

    test: object  # the step, or the class that is tested
    probability: float  # of a search: that it is the truth by now; of a work-up: that it ends here
    cost: float  # of this step; of a search with the work-up of the false alarms it raises
    total_cost: float  # of all steps up to here, if the case comes this far
    done: float  # the chance that the case has ended by now


@dataclass(frozen=True, kw_only=True)
class PlanNode:
    """What to do at one point of the tree, and what may follow.

    `name` says it in words, and so do the keys of `branches`. `steps`, `stop` and `named` hold the names that the
    work-up has for it.
    """

    name: str
    kind: Literal["step", "stop", "done"]
    steps: Names = ()  # that are made here: one, or several in a round; none where the work-up ends
    stop: str | None = field(default=None, metadata={"optional": True})  # the way to stop, where this is one
    named: str | None = field(default=None, metadata={"optional": True})  # the class that is named on stopping
    cost: float
    chance: float  # of coming here
    expected_cost: float  # from here on
    posterior: dict[str, float]
    branches: dict[str, PlanNode]

    @classmethod
    def load(cls, path: Place) -> PlanNode:
        """Read a protocol: the ``.json`` that `Plan.save` wrote."""
        try:
            plain = json.loads(Path(path).read_bytes())
        except ValueError:  # no JSON, or no text
            plain = None
        if not isinstance(plain, dict) or plain.pop("schema", None) != SCHEMA:
            problem = f"is no protocol of a plan ({SCHEMA!r})"
            raise InputError(problem, place=str(path), fix="write one with Plan.save")
        return from_plain(cls, plain, str(path))

    def to_json(self) -> str:
        """The tree as JSON of the schema ``pandora-protocol/1``."""
        return json.dumps({"schema": SCHEMA, **to_plain(self)}, indent=1) + "\n"

    def to_csv(self) -> str:
        """As a table: one row per step or ending, with the row and the outcome that lead there."""
        rows = list[TreeRow]()
        self._add_rows(rows, None, "")
        return DisplayTable(CSV_COLUMNS, rows).to_csv()

    def _add_rows(self, rows: list[TreeRow], after: int | None, outcome: str) -> None:
        """Add a row for this node, and those of all that follows; after which row it stands, and which outcome."""
        number = len(rows) + 1
        likeliest = max(self.posterior, key=self.posterior.__getitem__)
        rows.append(
            [
                number,
                after,
                outcome,
                self.kind,
                self.name,
                self.cost,
                self.chance,
                self.expected_cost,
                likeliest,
                self.posterior[likeliest],
            ]
        )
        for result, child in self.branches.items():
            child._add_rows(rows, number, result)

    @property
    def ends_at_once(self) -> bool:
        """Whether the work-up is done after this step, whatever that shows."""
        return self.kind == "step" and all(child.kind == "done" for child in self.branches.values())
