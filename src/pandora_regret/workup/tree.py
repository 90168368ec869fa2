"""The tree of a plan: followed by classes or cases, and as a picture, a table, or a protocol that is read back."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from math import prod
from pathlib import Path
from typing import Any, Literal

import numpy as np

from pandora_regret.core.atomic import Place
from pandora_regret.core.inputs import FloatArray, InputError
from pandora_regret.core.records import from_plain
from pandora_regret.text import Table, counted, money, percent
from pandora_regret.text.outline import Box, outline_svg
from pandora_regret.workup.data import HALF, ROUNDING, noisy_or
from pandora_regret.workup.description import Workup
from pandora_regret.workup.states import Findings

FILLS = {"step": "#dbe9f6", "stop": "#fbe3d3", "done": "#e3f0e5", "rare": "#f2f2f2"}
LIKELY = 0.005  # classes less likely than this are not worth a word
RARE = 0.01  # branches less likely than this are not worth a box
SCHEMA = "pandora-protocol/1"
COLUMNS = ["number", "after", "outcome", "kind", "name", "cost", "chance", "expected_cost"]
COLUMNS += ["likeliest", "probability"]
DRAWS, SEED = 500, 1  # of the credible interval


@dataclass(frozen=True)
class PlanNode:
    """What to do at one point of the tree, and what may follow."""

    name: str
    kind: Literal["step", "stop", "done"]
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
            problem, fix = f"is no protocol of a plan ({SCHEMA!r})", "write one with Plan.save"
            raise InputError(problem, place=str(path), fix=fix)
        return from_plain(cls, plain, str(path))

    def to_json(self) -> str:
        """As a protocol."""
        return json.dumps({"schema": SCHEMA, **asdict(self)}, indent=1) + "\n"

    def to_csv(self) -> str:
        """As a table: one row per step or ending, with the row and the outcome that lead there."""
        rows = list[Any]()
        self._add_rows(rows, None, "")
        return Table(COLUMNS, rows).to_csv()

    def _add_rows(self, rows: list[Any], after: int | None, outcome: str) -> None:
        number, likeliest = len(rows) + 1, max(self.posterior, key=self.posterior.__getitem__)
        costs = (self.cost, self.chance, self.expected_cost)
        rows.append([number, after, outcome, self.kind, self.name, *costs, likeliest, self.posterior[likeliest]])
        for result, child in self.branches.items():
            child._add_rows(rows, number, result)

    def in_words(self, currency: str) -> str:
        """What is done here."""
        if self.kind == "step":
            return f"{self.name} ({money(self.cost, currency)})"
        likely = sorted((pair for pair in self.posterior.items() if pair[1] >= LIKELY), key=lambda pair: -pair[1])
        if self.kind == "done":
            return f"done: {likely[0][0]}" if len(likely) == 1 else "done"
        return f"stop: {self.name} (these are {', '.join(f'{percent(part)} {name}' for name, part in likely[:3])})"


def _fill(
    node: PlanNode, currency: str, boxes: list[Box], depth: int = 0, parent: int = 0, label: str = ""
) -> None:
    """Add the boxes of a node and all that follows.

    Where one branch alone goes on, it is no deeper than what came before: a line of tests is a list.
    """
    more = f"; from here {money(node.expected_cost, currency)}" if node.kind == "step" else ""
    number, branches = len(boxes), [pair for pair in node.branches.items() if pair[1].chance >= RARE]
    boxes.append(Box(depth, parent, FILLS[node.kind], f"{label}{node.in_words(currency)}{more}"))
    going_on = [child for _, child in branches if child.kind == "step"]
    if rarer := len(node.branches) - len(branches):
        words = f"{counted(rarer, 'outcome')} more, in less than 1 % of cases"
        boxes.append(Box(depth + 1, number, FILLS["rare"], words))
    for outcome, child in sorted(branches, key=lambda pair: pair[1].kind == "step"):
        label = f"{outcome} ({percent(child.chance / node.chance)}): " if len(node.branches) > 1 else ""
        _fill(child, currency, boxes, depth + (going_on != [child]), number, label)


def as_svg(tree: PlanNode, currency: str) -> str:
    """The tree from top to bottom, indented."""
    boxes = list[Box]()
    _fill(tree, currency, boxes)
    return outline_svg(boxes, f"Next: {tree.in_words(currency)}; expected {money(tree.expected_cost, currency)}")


def follow(workup: Workup, node: PlanNode, table: Callable[[int], FloatArray]) -> FloatArray:
    """What comes of a tree on average, (..., 5, K), where the outcomes of a step have the chances (..., O, K).

    If each class is the truth: what steps cost, what the end loses, and how likely it is that an end is reached,
    that it names a class, and that it names a wrong one.
    """
    if not node.branches:
        names = [(-1, ""), *((k, f" {name}") for k, name in enumerate(workup.classes))]
        ends: Any = {end.name + name: (end.losses, k) for k, name in names for end in workup.endings}
        losses, named = ends[node.name] if node.kind == "stop" else (0.0, -1)
        wrong, ones = np.arange(len(workup.classes)) != named, np.ones(len(workup.classes))
        return np.stack([0 * ones, losses * wrong, ones, ones * (named >= 0), wrong * (named >= 0)])
    index, total = workup.step_index, np.array([[node.cost], [0.0], [0.0], [0.0], [0.0]])
    made = [node.name] if node.name in index else node.name.split(" + ")  # in a round, several steps
    for text, child in node.branches.items():
        shown = zip(made, text.split(" + ") if len(made) > 1 else [text], strict=True)
        numbers = ((index[name], workup.steps[index[name]].outcomes.index(outcome)) for name, outcome in shown)
        chance = prod(table(step)[..., outcome, None, :] for step, outcome in numbers)
        total = total + chance * follow(workup, child, table)
    return total


def cost_interval(
    workup: Workup, tree: PlanNode, p: FloatArray | None, found: Findings, level: float = 0.95
) -> tuple[Any, Any]:
    """The credible interval of a plan's cost: for a forecast, or for cases like those learned from."""
    if not any(step.counts for step in workup.steps):
        return None, None
    rng, steps, cases = np.random.default_rng(SEED), workup.steps, np.array(workup.cases)

    @cache
    def table(number: int) -> FloatArray:
        """As stated, or drawn from the posterior."""
        step = steps[number]
        if not step.counts:
            return np.array(step.chances)
        drawn = rng.standard_gamma(np.array(step.counts) + HALF, (DRAWS, *np.shape(step.counts)))
        drawn /= drawn.sum(axis=1, keepdims=True)
        for k, causes in workup.sets:
            drawn[..., k] = noisy_or(drawn, step.normal, causes)
        return drawn

    if p is None:  # shares that are stated are certain, those of counted cases are not
        p = cases if cases.sum() < 1 + ROUNDING else rng.standard_gamma(cases, (DRAWS, len(cases)))
    for name, value in found.items():
        number = workup.step_index[name]
        p = p * table(number)[..., steps[number].outcome(value), :]
    costs = follow(workup, tree, table)[..., :2, :].sum(axis=-2)
    means = (p * costs).sum(axis=-1) / p.sum(axis=-1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2]).tolist()
    return low, high
