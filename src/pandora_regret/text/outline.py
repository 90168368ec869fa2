"""An outline as a picture: boxes of text below each other, indented, in SVG that needs no other file."""

from collections.abc import Sequence
from html import escape
from textwrap import wrap
from typing import NamedTuple

# Of the picture, in pixels
PAGE_WIDTH = 720  # a printed page is as wide
MARGIN = 12
INDENT = 28
GAP = 6  # between boxes
LINE_HEIGHT = 16
LETTER_WIDTH = 7
PADDING = 8  # between a box and its text
NARROWEST_BOX = 300  # however deep the tree


class Box(NamedTuple):
    """One box of the outline."""

    depth: int
    parent: int  # the number of the box that it hangs on; of the first box its own
    colour: str
    text: str


def outline_svg(boxes: Sequence[Box], title: str) -> str:
    """From top to bottom; boxes are as wide as the page leaves, and as high as their text."""
    deepest = max(1, *(box.depth for box in boxes))
    indent = min(INDENT, (PAGE_WIDTH - 2 * MARGIN - NARROWEST_BOX) / deepest)
    parts: list[str] = []
    bottoms: list[float] = []
    top = float(MARGIN)
    for box in boxes:
        left = MARGIN + box.depth * indent
        width = PAGE_WIDTH - MARGIN - left
        lines = wrap(box.text, int((width - 2 * PADDING) / LETTER_WIDTH))
        height = LINE_HEIGHT * len(lines) + PADDING
        if bottoms:
            x_of_line = MARGIN + (boxes[box.parent].depth + 0.5) * indent
            parts.append(_connection(x_of_line, bottoms[box.parent], top + height / 2, left))
        parts += _drawn_box(box, left, top, width, lines)
        bottoms.append(top + height)
        top += height + GAP
    return _page(parts, title, height=top + MARGIN)


def _connection(x: float, from_y: float, to_y: float, to_x: float) -> str:
    """A line down from the parent and then right; the box is drawn after it and covers its end."""
    line = f"M{x:.1f},{from_y:.1f} V{to_y:.1f} H{to_x:.1f}"
    return f'<path d="{line}" fill="none" stroke="#777"/>'


def _drawn_box(box: Box, left: float, top: float, width: float, lines: Sequence[str]) -> list[str]:
    """A rectangle with its lines of text, and the whole text as its tooltip."""
    height = LINE_HEIGHT * len(lines) + PADDING
    place = f'x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height}" rx="4" fill="{box.colour}"'
    parts = [f"<g><title>{escape(box.text)}</title><rect {place}/>"]
    for number, line in enumerate(lines, 1):
        baseline = top + LINE_HEIGHT * number - 1
        parts.append(f'<text x="{left + PADDING:.1f}" y="{baseline:.1f}">{escape(line)}</text>')
    return [*parts, "</g>"]


def _page(parts: Sequence[str], title: str, height: float) -> str:
    """The drawing on a white page."""
    size = f'width="{PAGE_WIDTH}" height="{height:.0f}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {PAGE_WIDTH} {height:.0f}" role="img" '
    style = 'font-family="sans-serif" font-size="12">'
    page = [f"{head}{style}", f"<title>{escape(title)}</title>", f'<rect {size} fill="#fff"/>', *parts, "</svg>"]
    return "\n".join(page) + "\n"
