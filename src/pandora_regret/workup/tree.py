"""The tree of a plan: as a picture, SVG that needs no other file; as a table; as a protocol that is read back."""

from __future__ import annotations

import csv
import json
import os
from dataclasses import asdict, dataclass
from html import escape
from io import StringIO
from pathlib import Path
from textwrap import wrap
from typing import Literal, NamedTuple

from pandora_regret.inputs import InputError
from pandora_regret.text import counted, money, percent

PAGE, MARGIN, INDENT, GAP = 720, 12, 28, 6  # of the picture, in pixels: a printed page is 720 wide
LINE, LETTER, PADDING = 16, 7, 8  # of its text
NARROW = 300  # boxes are no narrower, however deep the tree
FILLS = {"step": "#dbe9f6", "stop": "#fbe3d3", "done": "#e3f0e5", "rare": "#f2f2f2"}
LIKELY = 0.005  # classes less likely than this are not worth a word
RARE = 0.01  # branches less likely than this are not worth a box
SCHEMA = "pandora-protocol/1"


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
    def load(cls, path: str | os.PathLike[str]) -> PlanNode:
        """Read a protocol: the ``.json`` that `Plan.save` wrote."""
        from pandora_regret.records import from_plain

        try:
            plain = json.loads(Path(path).read_bytes())
        except ValueError:  # no JSON, or no text
            plain = None
        if not isinstance(plain, dict) or plain.pop("schema", None) != SCHEMA:
            raise InputError(
                f"is no protocol of a plan ({SCHEMA!r})", place=str(path), fix="write one with Plan.save"
            )
        return from_plain(cls, plain, str(path))

    def to_json(self) -> str:
        """As a protocol."""
        return json.dumps({"schema": SCHEMA, **asdict(self)}, indent=1) + "\n"

    def to_csv(self) -> str:
        """As a table: one row per step or ending, with the row and the outcome that lead there."""
        file, numbers = StringIO(), iter(range(1, 10**9))
        writer = csv.writer(file, lineterminator="\n")
        columns = (
            "after",
            "outcome",
            "kind",
            "name",
            "cost",
            "chance",
            "expected_cost",
            "likeliest",
            "probability",
        )
        writer.writerow(("number", *columns))
        waiting: list[tuple[int | str, str, PlanNode]] = [("", "", self)]
        while waiting:
            after, outcome, node = waiting.pop()
            number, (likeliest, probability) = next(numbers), max(node.posterior.items(), key=lambda pair: pair[1])
            costs = (node.cost, node.chance, node.expected_cost)
            writer.writerow((number, after, outcome, node.kind, node.name, *costs, likeliest, probability))
            waiting += [(number, result, child) for result, child in reversed(node.branches.items())]
        return file.getvalue()

    def in_words(self, currency: str) -> str:
        """What is done here."""
        if self.kind == "step":
            return f"{self.name} ({money(self.cost, currency)})"
        likely = sorted((pair for pair in self.posterior.items() if pair[1] >= LIKELY), key=lambda pair: -pair[1])
        if self.kind == "done":
            return f"done: {likely[0][0]}" if len(likely) == 1 else "done"
        return f"stop: {self.name} (these are {', '.join(f'{percent(part)} {name}' for name, part in likely[:3])})"


class Box(NamedTuple):
    """One entry of the picture, below the others."""

    depth: int
    parent: int  # the number of the box that it hangs on
    kind: str
    text: str


def _fill(
    node: PlanNode, currency: str, boxes: list[Box], depth: int = 0, parent: int = 0, label: str = ""
) -> None:
    """Add the boxes of a node and all that follows.

    Where one branch alone goes on, it is no deeper than what came before: a line of tests is a list.
    """
    more = f"; from here {money(node.expected_cost, currency)}" if node.kind == "step" else ""
    number, branches = len(boxes), [pair for pair in node.branches.items() if pair[1].chance >= RARE]
    boxes.append(Box(depth, parent, node.kind, f"{label}{node.in_words(currency)}{more}"))
    going_on = [child for _, child in branches if child.kind == "step"]
    if rarer := len(node.branches) - len(branches):
        text = f"{counted(rarer, 'outcome')} more, in less than 1 % of cases"
        boxes.append(Box(depth + 1, number, "rare", text))
    for outcome, child in sorted(branches, key=lambda pair: pair[1].kind == "step"):
        label = f"{outcome} ({percent(child.chance / node.chance)}): " if len(node.branches) > 1 else ""
        _fill(child, currency, boxes, depth + (going_on != [child]), number, label)


def as_svg(tree: PlanNode, currency: str) -> str:
    """The tree from top to bottom, indented; boxes are as wide as the page leaves, and as high as their text."""
    boxes = list[Box]()
    _fill(tree, currency, boxes)
    deepest = max(box.depth for box in boxes)
    indent = min(INDENT, (PAGE - 2 * MARGIN - NARROW) / max(deepest, 1))
    y, parts, bottoms = float(MARGIN), list[str](), list[float]()
    for box in boxes:
        x, hangs_at = MARGIN + box.depth * indent, MARGIN + boxes[box.parent].depth * indent + indent / 2
        width = PAGE - MARGIN - x
        lines = wrap(box.text, int((width - 2 * PADDING) / LETTER)) or [""]
        height = LINE * len(lines) + PADDING
        if bottoms:
            across = f"V{y + height / 2:.1f} H{x:.1f}" if x > hangs_at else f"V{y:.1f}"
            line = f"M{hangs_at:.1f},{bottoms[box.parent]:.1f} {across}"
            parts.append(f'<path d="{line}" fill="none" stroke="#777"/>')
        texts = "".join(
            f'<text x="{x + PADDING:.1f}" y="{y + LINE * row - 1:.1f}">{escape(text)}</text>'
            for row, text in enumerate(lines, 1)
        )
        place = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height}" rx="4"'
        shape = f'<rect {place} fill="{FILLS[box.kind]}"/>'
        parts.append(f"<g><title>{escape(box.text)}</title>{shape}{texts}</g>")
        bottoms.append(y + height)
        y += height + GAP
    title = f"Next: {tree.in_words(currency)}; expected {money(tree.expected_cost, currency)}"
    size = f'width="{PAGE}" height="{y + MARGIN:.0f}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {PAGE} {y + MARGIN:.0f}" role="img" '
    style = 'font-family="sans-serif" font-size="12">'
    page = [f"{head}{style}", f"<title>{escape(title)}</title>", f'<rect {size} fill="#fff"/>', *parts, "</svg>"]
    return "\n".join(page) + "\n"
