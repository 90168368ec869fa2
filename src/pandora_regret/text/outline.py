"""An outline as a picture: boxes of text below each other, indented, in SVG that needs no other file."""

from collections.abc import Sequence
from html import escape
from textwrap import wrap

PAGE, MARGIN, INDENT, GAP = 720, 12, 28, 6  # of the picture, in pixels: a printed page is 720 wide
LINE, LETTER, PADDING = 16, 7, 8  # of its text
NARROW = 300  # boxes are no narrower, however deep the tree

Box = tuple[int, int, str, str]  # its depth, the number of the box that it hangs on, its colour and its text


def outline_svg(boxes: Sequence[Box], title: str) -> str:
    """From top to bottom; boxes are as wide as the page leaves, and as high as their text."""
    indent = min(INDENT, (PAGE - 2 * MARGIN - NARROW) / max(1, *(depth for depth, *_ in boxes)))
    y, parts, bottoms = float(MARGIN), list[str](), list[float]()
    for depth, parent, colour, text in boxes:
        x = MARGIN + depth * indent
        width = PAGE - MARGIN - x
        lines = wrap(text, int((width - 2 * PADDING) / LETTER))
        height = LINE * len(lines) + PADDING
        if bottoms:  # the box covers what of the line lies within it
            hangs_at = MARGIN + (boxes[parent][0] + 0.5) * indent
            line = f"M{hangs_at:.1f},{bottoms[parent]:.1f} V{y + height / 2:.1f} H{x:.1f}"
            parts.append(f'<path d="{line}" fill="none" stroke="#777"/>')
        place = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height}" rx="4" fill="{colour}"'
        parts.append(f"<g><title>{escape(text)}</title><rect {place}/>")
        for row, words in enumerate(lines, 1):
            parts.append(f'<text x="{x + PADDING:.1f}" y="{y + LINE * row - 1:.1f}">{escape(words)}</text>')
        parts.append("</g>")
        bottoms.append(y + height)
        y += height + GAP
    size = f'width="{PAGE}" height="{y + MARGIN:.0f}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {PAGE} {y + MARGIN:.0f}" role="img" '
    style = 'font-family="sans-serif" font-size="12">'
    page = [f"{head}{style}", f"<title>{escape(title)}</title>", f'<rect {size} fill="#fff"/>', *parts, "</svg>"]
    return "\n".join(page) + "\n"
