"""The tree of a plan, and its picture: SVG that needs no other file."""

from __future__ import annotations

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


def as_svg(tree: PlanNode, currency: str) -> str:
    """The tree, from left to right: children one column on, parents halfway between their first and last child."""
    free_rows, edges, boxes = count(), list[str](), list[str]()

    def draw(node: PlanNode, column: int) -> tuple[float, int]:
        """Where its box stands: the middle of its height; and the last column below it."""
        below = [(outcome, child, *draw(child, column + 1)) for outcome, child in node.branches.items()]
        x, first_line = MARGIN + column * COLUMN, MARGIN + BOX_HEIGHT / 2
        middle = (below[0][2] + below[-1][2]) / 2 if below else first_line + next(free_rows) * ROW
        for outcome, child, end, _ in below:
            turn, share = x + BOX_WIDTH + 20, child.chance / node.chance if node.chance else 0.0
            path = f"M{x + BOX_WIDTH:.0f},{middle:.1f} H{turn:.0f} V{end:.1f} H{x + COLUMN:.0f}"
            text = f"{shortened(outcome, 13)} {percent(share)}" if len(below) > 1 else ""  # of a visit, nothing
            label = f'<text x="{turn + 3:.0f}" y="{end - 4:.1f}" font-size="10">{escape(text)}</text>'
            edges.append(f'<path d="{path}" fill="none" stroke="#777"/>{label if text else ""}')
        boxes.append(_box(node, x, middle - BOX_HEIGHT / 2, currency))
        return middle, max((last for *_, last in below), default=column)

    _, last_column = draw(tree, 0)
    width, height = last_column * COLUMN + BOX_WIDTH + 2 * MARGIN, next(free_rows) * ROW + 2 * MARGIN
    title = f"Next: {tree.in_words(currency)}; expected {money(tree.expected_cost, currency)}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12" role="img">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        *edges,
        *boxes,
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _box(node: PlanNode, x: float, y: float, currency: str) -> str:
    name, chance = max(node.posterior.items(), key=lambda pair: pair[1])
    first = f"stop: {node.name}" if node.kind == "stop" else node.name
    second = name if chance > 1 - LIKELY else f"{percent(chance)} {name}"
    if node.kind == "step":
        second = f"{money(node.cost, currency)}, in all {money(node.expected_cost, currency)}"
    size = f'width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="4" fill="{FILLS[node.kind]}"'
    lines = ((y + 16, ' font-weight="bold"', first), (y + 31, "", second))
    texts = (
        f'<text x="{x + 6}" y="{at:.1f}"{bold}>{escape(shortened(line, 22))}</text>' for at, bold, line in lines
    )
    return f'<g><title>{escape(node.name)}</title><rect x="{x}" y="{y:.1f}" {size}/>{"".join(texts)}</g>'
