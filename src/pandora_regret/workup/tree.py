"""The tree of a plan, and its picture: SVG that needs no other file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from itertools import count
from typing import Literal

from pandora_regret.text import money, percent, shortened

COLUMN, ROW, BOX_WIDTH, BOX_HEIGHT, MARGIN = 280, 62, 150, 40, 14  # of the picture, in pixels
FILLS = {"step": "#dbe9f6", "stop": "#fbe3d3", "done": "#e3f0e5"}
LIKELY = 0.005  # classes less likely than this are not worth a word


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

    def in_words(self, currency: str) -> str:
        """What is done here."""
        if self.kind == "step":
            return f"{self.name} ({money(self.cost, currency)})"
        likely = sorted((pair for pair in self.posterior.items() if pair[1] >= LIKELY), key=lambda pair: -pair[1])
        if self.kind == "done":
            return f"done: {likely[0][0]}" if len(likely) == 1 else "done"
        return f"stop: {self.name} (these are {', '.join(f'{percent(part)} {name}' for name, part in likely[:3])})"


@dataclass
class Box:
    """A node of the tree and where it stands, in columns and rows."""

    node: PlanNode
    column: int
    row: float
    outcome: str
    parent: Box | None = None


def layout(tree: PlanNode) -> list[Box]:
    """Every node: children one column to the right, parents halfway between their first and last child."""
    return _placed(tree, 0, "", count())


def _placed(node: PlanNode, column: int, outcome: str, free: Iterator[int]) -> list[Box]:
    """A node's box, then those of all nodes below it."""
    below = [_placed(child, column + 1, name, free) for name, child in node.branches.items()]
    row = (below[0][0].row + below[-1][0].row) / 2 if below else float(next(free))
    here = Box(node, column, row, outcome)
    for first, *_ in below:
        first.parent = here
    return [here, *(box for boxes in below for box in boxes)]


def as_svg(tree: PlanNode, currency: str) -> str:
    """The tree, from left to right."""
    boxes = layout(tree)
    width = (max(box.column for box in boxes) + 1) * COLUMN - (COLUMN - BOX_WIDTH) + 2 * MARGIN
    height = (max(box.row for box in boxes) + 1) * ROW + 2 * MARGIN
    title = f"Next: {tree.in_words(currency)}; expected {money(tree.expected_cost, currency)}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="sans-serif" font-size="12" role="img">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="#fff"/>',
        *(_svg_edge(box) for box in boxes if box.parent),
        *(_svg_box(box, currency) for box in boxes),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _corner(box: Box) -> tuple[float, float]:
    return MARGIN + box.column * COLUMN, MARGIN + box.row * ROW


def _svg_edge(box: Box) -> str:
    assert box.parent is not None
    (x0, y0), (x1, y1) = _corner(box.parent), _corner(box)
    start, end, middle = (x0 + BOX_WIDTH, y0 + BOX_HEIGHT / 2), (x1, y1 + BOX_HEIGHT / 2), x0 + BOX_WIDTH + 20
    path = f"M{start[0]:.0f},{start[1]:.1f} H{middle:.0f} V{end[1]:.1f} H{end[0]:.0f}"
    label = _edge_label(box)
    text = f'<text x="{middle + 3:.0f}" y="{end[1] - 4:.1f}" font-size="10">{escape(label)}</text>'
    text = text if label else ""
    return f'<path d="{path}" fill="none" stroke="#777"/>{text}'


def _svg_box(box: Box, currency: str) -> str:
    (x, y), node = _corner(box), box.node
    lines = [shortened(line, 22) for line in _box_lines(node, currency)]
    bold = [' font-weight="bold"', ""]
    texts = [
        f'<text x="{x + 6:.0f}" y="{y + 16 + 15 * number:.1f}"{bold[number]}>{escape(line)}</text>'
        for number, line in enumerate(lines)
    ]
    size = f'width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="4"'
    rect = f'<rect x="{x:.0f}" y="{y:.1f}" {size} fill="{FILLS[node.kind]}"/>'
    return f"<g><title>{escape(node.name)}</title>{rect}{''.join(texts)}</g>"


def _box_lines(node: PlanNode, currency: str) -> tuple[str, str]:
    name, chance = max(node.posterior.items(), key=lambda pair: pair[1])
    if node.kind == "step":
        return node.name, f"{money(node.cost, currency)}, in all {money(node.expected_cost, currency)}"
    likely = name if chance > 1 - LIKELY else f"{percent(chance)} {name}"
    return ("done" if node.kind == "done" else f"stop: {node.name}"), likely


def _edge_label(box: Box) -> str:
    """The outcome that leads to a box, and how likely it is; of a visit, nothing."""
    parent = box.parent.node if box.parent else box.node
    share = box.node.chance / parent.chance if parent.chance else 0.0
    return f"{shortened(box.outcome, 13)} {percent(share)}" if len(parent.branches) > 1 else ""
