"""Costs as bars, in a picture that a notebook shows: one bar per model, of parts, with its interval."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from pandora_regret.text.names import shortened, without_direction_marks
from pandora_regret.text.terminal import without_controls

BAR_PARTS = {  # parts of a bar in their order: names in the legend, and colours that colour blindness keeps apart
    "unavoidable": ("unavoidable", "#a9aeb5"),
    "recal": ("would go away by recalibrating", "#1f78b4"),
    "waste": ("waste", "#e58a1f"),
}
PICTURE_WIDTH = 720
BAR_SPACING = 30
LEGEND_HEIGHT = 26
NAMES_WIDTH = 170  # where bars begin
AMOUNTS_WIDTH = 130  # beside the longest bar
MOST_LETTERS = 22
LEAST_PART_NAMED = 0.002  # of the longest bar: a smaller part is not in the legend


@dataclass(frozen=True)
class Bar:
    """One bar: its name, its parts from the left by kind, its interval, and the amount as it is written."""

    name: str
    parts: Mapping[str, float]
    low: float | None
    high: float | None
    written: str

    @property
    def length(self) -> float:
        """The sum of the parts."""
        return sum(self.parts.values())


def bars_as_svg(bars: Sequence[Bar], title: str) -> str:
    """Bars below each other, as SVG in which nothing runs and that needs no style sheet.

    Examples
    --------
    >>> picture = bars_as_svg([Bar("net", {"unavoidable": 2.0, "waste": 1.0}, 2.5, 3.5, "€3.00")], "Cost per case")
    >>> picture.count("<rect"), "recalibrating" in picture
    (4, False)
    """
    reach = max(max(bar.length, bar.high or 0.0) for bar in bars) or 1.0
    least_named = LEAST_PART_NAMED * reach
    scale = (PICTURE_WIDTH - NAMES_WIDTH - AMOUNTS_WIDTH) / reach
    drawn = [kind for kind in BAR_PARTS if any(bar.parts.get(kind, 0.0) > least_named for bar in bars)]
    height = LEGEND_HEIGHT + BAR_SPACING * len(bars) + 6
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {PICTURE_WIDTH} {height}"'
        f' width="{PICTURE_WIDTH}" role="img" aria-label="{escape(title)}: the table below holds the numbers"'
        ' style="max-width: 100%; height: auto"'
        ' font-family="sans-serif" font-size="13" fill="currentColor">'
    ]
    parts += _legend(drawn, title)
    for number, bar in enumerate(bars):
        parts += _bar_with_labels(bar, LEGEND_HEIGHT + BAR_SPACING * number, scale)
    return "".join([*parts, "</svg>"])


def _legend(kinds: Sequence[str], title: str) -> list[str]:
    """The title, and a square with its name for each kind that is drawn."""
    parts = [f'<text x="0" y="13" font-weight="600">{escape(title)}</text>']
    x = NAMES_WIDTH
    for kind in kinds:
        name, colour = BAR_PARTS[kind]
        parts.append(f'<rect x="{x}" y="3" width="11" height="11" fill="{colour}"/>')
        parts.append(f'<text x="{x + 16}" y="13" font-size="12">{name}</text>')
        x += 34 + 7 * len(name)
    return parts


def _bar_with_labels(bar: Bar, top: float, scale: float) -> list[str]:
    """One bar with its name at the left and its amount at the right, and the interval as a line below its end."""
    name = escape(shortened(without_controls(without_direction_marks(bar.name)), MOST_LETTERS))
    parts = [f'<text x="0" y="{top + 16}">{name}</text>']
    x = float(NAMES_WIDTH)
    for kind, (_, colour) in BAR_PARTS.items():
        width = round(scale * bar.parts.get(kind, 0.0), 1)
        if width > 0:
            parts.append(f'<rect x="{x:.1f}" y="{top + 3}" width="{width}" height="17" fill="{colour}"/>')
        x += width
    if bar.low is not None and bar.high is not None:
        begin = round(NAMES_WIDTH + scale * max(bar.low, 0.0), 1)
        end = round(NAMES_WIDTH + scale * bar.high, 1)
        parts.append(f'<path d="M{begin} {top + 24}H{end}" stroke="currentColor" stroke-width="1.5"/>')
    place = f'x="{PICTURE_WIDTH}" y="{top + 16}" text-anchor="end"'
    parts.append(f'<text {place} font-weight="600">{escape(bar.written)}</text>')
    return parts
