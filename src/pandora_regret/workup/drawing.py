"""A plan for people: a few lines of text, a picture that needs no other file, and the same in matplotlib."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from pandora_regret.optional import import_optional
from pandora_regret.workup.plan import PlanNode, WorkupPlan

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIGNS = {"USD": "$", "EUR": "€", "GBP": "£"}
COLUMN, ROW, BOX_WIDTH, BOX_HEIGHT, MARGIN = 250, 62, 150, 40, 14  # of the picture, in pixels
FILLS = {"step": "#dbe9f6", "stop": "#fbe3d3", "done": "#e3f0e5"}
LIKELY = 0.005  # classes less likely than this are not worth a word


def money(amount: float, currency: str) -> str:
    """An amount in a currency, without cents where they do not matter."""
    digits = f"{amount:,.0f}" if abs(amount) >= 100 or amount == round(amount) else f"{amount:,.2f}"
    sign = SIGNS.get(currency, "")
    return f"{sign}{digits}" if sign or not currency else f"{digits} {currency}"


def as_text(plan: WorkupPlan) -> str:
    """What to do next, what may come of it, and what else could be done."""
    node = plan.tree
    lines = [f"Next: {_headline(node, plan.currency)}."]
    width = max((len(outcome) for outcome in node.branches), default=0)
    for outcome, after in node.branches.items():
        lines.append(
            f"  {outcome:{width}} ({_percent(after.chance):>4}) -> {_step_in_words(after, plan.currency)}"
        )
    lines.append(f"Expected cost from here: {money(plan.expected_cost, plan.currency)}.")
    others = [one for one in plan.alternatives if one.name != plan.next][:4]
    if others:
        told = [
            f"{one.name} {money(one.expected_cost, plan.currency)} (+{money(one.extra, plan.currency)})"
            for one in others
        ]
        lines.append(f"Alternatives: {', '.join(told)}.")
    return "\n".join(lines)


def _headline(node: PlanNode, currency: str) -> str:
    return f"{node.name} ({money(node.cost, currency)})" if node.kind == "step" else f"stop: {node.name}"


def _step_in_words(node: PlanNode, currency: str) -> str:
    """What follows an outcome, in half a line."""
    name, chance = max(node.posterior.items(), key=lambda pair: pair[1])
    if node.kind == "done":
        return f"done: {name}" if chance > 1 - LIKELY else "done"
    if node.kind == "stop":
        others = sorted((pair for pair in node.posterior.items() if pair[1] >= LIKELY), key=lambda pair: -pair[1])
        told = ", ".join(f"{_percent(part)} {one}" for one, part in others[:3])
        return f"stop: {node.name} (these are {told})"
    then = ", then done" if all(after.kind == "done" for after in node.branches.values()) else ""
    return f"{node.name} ({money(node.cost, currency)}){then}"


def _percent(chance: float) -> str:
    return f"{100 * chance:.0f} %" if 0.01 <= chance <= 0.99 or chance in (0, 1) else f"{100 * chance:.2g} %"


@dataclass(frozen=True)
class Box:
    """A node of the tree and where it stands, in columns and rows."""

    node: PlanNode
    column: int
    row: float
    outcome: str
    parent: Box | None


def layout(tree: PlanNode) -> list[Box]:
    """Every node: children one column to the right, parents halfway between their first and last child."""
    boxes: list[Box] = []
    _place(tree, 0, "", boxes, iter(range(10**9)))
    by_node = {id(box.node): box for box in boxes}
    parents = {id(child): by_node[id(box.node)] for box in boxes for child in box.node.branches.values()}
    return [Box(box.node, box.column, box.row, box.outcome, parents.get(id(box.node))) for box in boxes]


def _place(node: PlanNode, column: int, outcome: str, boxes: list[Box], free: Iterator[int]) -> float:
    rows = [_place(child, column + 1, name, boxes, free) for name, child in node.branches.items()]
    row = (rows[0] + rows[-1]) / 2 if rows else float(next(free))
    boxes.append(Box(node, column, row, outcome, None))
    return row


def as_svg(plan: WorkupPlan) -> str:
    """The tree, from left to right."""
    boxes = layout(plan.tree)
    width = (max(box.column for box in boxes) + 1) * COLUMN - (COLUMN - BOX_WIDTH) + 2 * MARGIN
    height = (max(box.row for box in boxes) + 1) * ROW + 2 * MARGIN
    title = f"Next: {_headline(plan.tree, plan.currency)}; expected {money(plan.expected_cost, plan.currency)}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="sans-serif" font-size="12" role="img">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="#fff"/>',
        *(_svg_edge(box) for box in boxes if box.parent),
        *(_svg_box(box, plan.currency) for box in boxes),
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
    label = f"{_short(box.outcome, 13)} {_percent(box.node.chance / box.parent.node.chance)}"
    text = f'<text x="{middle + 3:.0f}" y="{end[1] - 4:.1f}" font-size="10">{escape(label)}</text>'
    return f'<path d="{path}" fill="none" stroke="#777"/>{text}'


def _svg_box(box: Box, currency: str) -> str:
    (x, y), node = _corner(box), box.node
    lines = [_short(line, 24) for line in _box_lines(node, currency)]
    texts = [
        f'<text x="{x + 6:.0f}" y="{y + 16 + 15 * number:.1f}"{" font-weight=" + chr(34) + "bold" + chr(34) if not number else ""}>'
        f"{escape(line)}</text>"
        for number, line in enumerate(lines)
    ]
    full = f"<title>{escape(node.name)}</title>"
    rect = f'<rect x="{x:.0f}" y="{y:.1f}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="4" fill="{FILLS[node.kind]}"/>'
    return f"<g>{full}{rect}{''.join(texts)}</g>"


def _box_lines(node: PlanNode, currency: str) -> tuple[str, str]:
    name, chance = max(node.posterior.items(), key=lambda pair: pair[1])
    if node.kind == "step":
        return node.name, f"{money(node.cost, currency)}, in all {money(node.expected_cost, currency)}"
    return ("done" if node.kind == "done" else f"stop: {node.name}"), f"{_percent(chance)} {name}"


def _short(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"


def draw_tree(plan: WorkupPlan, ax: Axes | None = None) -> Axes:
    """The same tree on matplotlib's axes."""
    pyplot = import_optional("matplotlib.pyplot", extra="report")
    axes: Axes = ax if ax is not None else pyplot.gca()
    for box in layout(plan.tree):
        style = {"boxstyle": "round", "facecolor": FILLS[box.node.kind], "edgecolor": "none"}
        said = "\n".join(_short(line, 24) for line in _box_lines(box.node, plan.currency))
        if box.parent is not None:
            axes.plot(
                [box.parent.column, box.column], [-box.parent.row, -box.row], color="0.5", linewidth=0.8, zorder=0
            )
            middle = ((box.parent.column + box.column) / 2, -(box.parent.row + box.row) / 2)
            label = f"{_short(box.outcome, 13)} {_percent(box.node.chance / box.parent.node.chance)}"
            axes.text(*middle, label, fontsize="x-small", ha="center", va="bottom", parse_math=False)
        axes.text(
            box.column, -box.row, said, fontsize="small", ha="center", va="center", bbox=style, parse_math=False
        )
    axes.margins(0.2)
    axes.set_axis_off()
    return axes
