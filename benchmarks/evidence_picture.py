"""The picture of docs/evidence/training.md: columns are arms, rows are trials, two intervals in a cell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from evidence_results import ARMS, TARGETS, Trial

from pandora_regret.plots.style import COLOURS, QUIET, open_frame, sheet

EDGE = 30.0  # percent: beyond, intervals say little
TICKS = (-20, 0, 20)
WIDTH, ROW, HEAD = 8.6, 0.29, 1.25  # inches
MARKERS = {"equal": "o", "priced": "s"}
WORDS = {"equal": "equal costs", "priced": "unequal costs"}
OFFSET = {"equal": -0.17, "priced": 0.17}
COLOUR = {"better": COLOURS[0], "worse": COLOURS[1], "unclear": QUIET}
SETTINGS = {"font.size": 9, "axes.titlesize": 9, "xtick.labelsize": 9, "ytick.labelsize": 9, "legend.fontsize": 9}


def draw(trials: list[Trial], path: Path) -> None:
    """Changes against log loss alone."""
    with sheet(path, WIDTH, HEAD + ROW * len(trials), SETTINGS) as figure:
        columns = figure.subplots(1, len(ARMS), sharey=True, sharex=True)
        for heading, axes in zip(ARMS, columns, strict=True):
            _draw_arm(axes, trials, heading)
        columns[0].set_yticks(range(len(trials)), [trial.title.removesuffix(" rows") for trial in trials])
        columns[0].set_ylim(len(trials) - 0.5, -0.5)
        columns[0].set_ylabel("data, learner, rows to learn from")
        figure.supxlabel(
            "change of wasted cost against log loss alone, in percent (left of 0: cheaper)\n"
            f"95 % intervals are cut off at ±{EDGE:.0f}; triangles: the change itself lies beyond",
            fontsize=9,
        )
        figure.legend(handles=_legend(), loc="outside upper center", ncols=5, frameon=False, handletextpad=0.2)


def _draw_arm(axes: Any, trials: list[Trial], heading: str) -> None:
    axes.axvline(0, color="0.4", linewidth=0.8, zorder=0)
    for row, trial in enumerate(trials):
        for target in TARGETS:
            change = trial.change(target, heading)
            _draw_interval(axes, row + OFFSET[target], 100 * np.array(change), change.verdict, MARKERS[target])
    axes.set_xlim(-EDGE, EDGE)
    axes.set_xticks(TICKS, [f"{tick:+d}" if tick else "0" for tick in TICKS])
    axes.set_title(_title(heading), fontsize=8.5)
    for row in range(0, len(trials), 2):  # every other one shaded, for the eye
        axes.axhspan(row - 0.5, row + 0.5, color="0.95", zorder=-1)
    axes.tick_params(axis="y", length=0)
    open_frame(axes)


def _title(heading: str) -> str:
    """On two lines."""
    return heading.replace("+ ", "").replace(", ", "\nfor ").replace(" α", "\nα").replace(" by ", "\nby ")


def _draw_interval(axes: Any, place: float, change: np.ndarray, verdict: str, marker: str) -> None:
    value, low, high = change
    colour = COLOUR[verdict]
    axes.hlines(place, max(low, -EDGE), min(high, EDGE), color=colour, linewidth=1.3)
    if abs(value) > EDGE:
        value, marker = np.sign(value) * EDGE * 0.93, ">" if value > 0 else "<"
    face = "white" if marker == MARKERS["priced"] else colour
    axes.plot(value, place, marker, color=colour, markersize=3.6, markerfacecolor=face, markeredgewidth=0.9)


def _legend() -> list[Any]:
    from matplotlib.lines import Line2D

    plain: dict[str, Any] = {"color": "0.2", "linestyle": "", "markersize": 4}
    kinds = [
        Line2D([], [], marker=MARKERS[target], label=WORDS[target], markerfacecolor=face, **plain)
        for target, face in (("equal", "0.2"), ("priced", "white"))
    ]
    names = {"better": "clearly cheaper", "worse": "clearly dearer", "unclear": "unclear"}
    return kinds + [
        Line2D([], [], color=COLOUR[verdict], linewidth=2, label=name) for verdict, name in names.items()
    ]
