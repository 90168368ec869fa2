"""What figures share: colours for all eyes, small print, names that fit and are not parsed, and their files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from pandora_regret.core.atomic import Place, write_atomically
from pandora_regret.core.inputs import Fields, FloatArray, read_choice
from pandora_regret.optional import import_optional
from pandora_regret.text import NO_PRICES

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Style: TypeAlias = Fields  # keywords of matplotlib

FIGURE_FORMATS = {".svg": "vector graphics for the web", ".pdf": "vector graphics for print", ".png": "pixels"}


def save_figure(figure: Figure, path: Place) -> Path:
    """Write a figure, whole or not at all, as its file's name says; the same figure gives the same bytes.

    Parameters
    ----------
    figure
        A figure of matplotlib.
    path
        A file whose name ends in .svg, .pdf or .png.

    Returns
    -------
    Path
        The file that was written.
    """
    kind = read_choice(Path(path).suffix.lower(), f"the ending of {str(path)!r}", FIGURE_FORMATS)
    undated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}, ".png": {}}[kind]
    with import_optional("matplotlib", extra="report").rc_context({"svg.hashsalt": "pandora"}):
        return write_atomically(
            path, lambda file: figure.savefig(file, format=kind[1:], metadata=undated, dpi=200)
        )


COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")  # Okabe and Ito, for all eyes
MARKERS = "osD^vP"
Dash: TypeAlias = str | tuple[int, tuple[int, ...]]
DASHES: tuple[Dash, ...] = ("--", "-.", (0, (2, 1)), (0, (1, 1)), (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)))
QUIET = "0.6"  # what is there but not looked at
SHADES = "Blues"  # of areas, where nothing is white

PRINT = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "legend.fontsize": 7,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "pdf.fonttype": 42,  # outlines that printers and journals take
}


def axes_of(ax: Axes | None) -> Axes:
    """The axes that were given, or else the current ones; if there are none, in a layout that clips no names."""
    if ax is not None:
        return ax
    pyplot = import_optional("matplotlib.pyplot", extra="report")
    axes: Axes = pyplot.gca() if pyplot.get_fignums() else pyplot.figure(layout="constrained").subplots()
    return axes


@contextmanager
def sheet(path: Place, width: float, height: float, settings: Mapping[str, object] = PRINT) -> Iterator[Figure]:
    """An empty figure, in small print or other settings, which is saved in the end; they last no longer."""
    with import_optional("matplotlib", extra="report").rc_context(settings):
        from matplotlib.figure import Figure

        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure
        save_figure(figure, path)


def open_frame(axes: Axes) -> Axes:
    """Without the lines above and at the right, which carry nothing."""
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def tint(colour: str) -> tuple[float, ...]:
    """The colour mixed with white, a little more than half of it."""
    from matplotlib.colors import to_rgb

    return tuple(1 - 0.55 * (1 - part) for part in to_rgb(colour))


def with_unit(words: str, unit: str | None) -> str:
    """What an axis measures, in a unit as `money` takes it."""
    named = NO_PRICES if unit is None else unit
    return f"{words} ({named})" if named else words


def write_beside(
    axes: Axes,
    text: str,
    point: tuple[float, float] | FloatArray,
    place: tuple[float, float, str, str],
    **style: Any,
) -> None:
    """A text as it is, so many points to the right of a point and above it, with this side and end there.

    `style` is what matplotlib takes of a text.
    """
    right, above, across, up = place
    shift: Style = {"xytext": (right, above), "textcoords": "offset points"}
    axes.annotate(text, (point[0], point[1]), ha=across, va=up, parse_math=False, **shift, **style)


def name_lines(
    axes: Axes, handles: Sequence[Artist | tuple[Artist, ...]], names: Sequence[str], **place: Any
) -> None:
    """A legend of names as they are: matplotlib leaves out those that begin with _ and parses those with $."""
    legend = axes.legend(handles, [" "] * len(handles), frameon=False, **place)
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set(text=name, parse_math=False)
