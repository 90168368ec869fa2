"""The page of a monitor: cost per period, confidence sequences and evidence, drawn as SVG without any script."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from math import log10
from pathlib import Path
from typing import Any

from pandora_regret._version import __version__
from pandora_regret.atomic import write_atomically
from pandora_regret.inputs import FloatArray
from pandora_regret.monitor import Monitor
from pandora_regret.monitor.history import Point
from pandora_regret.monitor.streams import OVERPAID, PROMISED, SAVED, Stream
from pandora_regret.monitor.words import sentences
from pandora_regret.optional import import_optional
from pandora_regret.report.charts import Axis
from pandora_regret.report.page import _environment, _joined, _policy
from pandora_regret.text import Formats

STYLES = ("page.css", "first.css", "tables.css", "monitor.css", "print.css")
TITLE = "Promised against paid"
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 960, 240, 84, 16, 14, 34
MOST_NAMES, LETTERS = 8, 12
EVIDENCE, LOW, HIGH, SAVED_LOW, SAVED_HIGH = range(5)  # entries of a point's `after`


def write_monitor_page(
    monitor: Monitor,
    path: str | os.PathLike[str],
    *,
    unit: str | None = None,
    challenger: str | None = None,
    title: str = TITLE,
) -> Path:
    """Write a monitor's history as one self-contained HTML file that needs neither network nor JavaScript.

    Parameters
    ----------
    monitor
        What to show.
    path
        The file.
    unit
        The unit of costs, such as "USD".
    challenger
        Which one to show, where there are several.
    title
        The page's title.

    Returns
    -------
    Path
        The file that was written.
    """
    page = render_monitor_page(monitor, unit=unit, challenger=challenger, title=title)
    return write_atomically(path, lambda file: file.write(page.encode("utf-8", errors="replace")))


def render_monitor_page(
    monitor: Monitor, *, unit: str | None = None, challenger: str | None = None, title: str = TITLE
) -> str:
    """The page as text; parameters as in `write_monitor_page`."""
    summary, style = monitor.summary(), _joined(STYLES)
    assert monitor.paid is not None
    assert monitor.promised is not None
    points = _closed(monitor.paid)
    costs = [cost for point in points for cost in _costs(point)]
    formats = Formats.for_costs(costs or [summary.predicted], unit)
    page: str = (
        _environment(import_optional("jinja2", extra="report"))
        .get_template("monitor.html.j2")
        .render(
            title=title,
            library=f"pandora-regret {__version__}",
            style=style,
            policy=_policy(style, ""),
            lines=sentences(summary, unit, challenger),
            alarmed=summary.alarmed,
            summary=summary,
            level=monitor.level,
            run_length=monitor.run_length,
            lag=monitor.lag,
            charts=_charts(monitor, points, formats, challenger),
            rows=[_row(point, formats) for point in points],
            compares=monitor.compares,
        )
    )
    return page


def _closed(stream: Stream) -> list[Point]:
    """The points of a stream; the last one, where it is not complete, with where the stream stands now."""
    points = list(stream.history.all)
    if points and not points[-1].after:
        last = points[-1]
        points[-1] = Point(last.first, last.last, last.increments, last.cases, last.totals, stream.marks())
    return points


def _charts(monitor: Monitor, points: Sequence[Point], formats: Formats, challenger: str | None) -> list[Any]:
    assert monitor.promised is not None
    charts = []
    if points:
        paid, promised = zip(*map(_costs, points), strict=True)
        charts.append(
            _chart("Cost per case", "period by period", points, partial(_amount, formats), paid, other=promised)
        )
        charts.append(
            _sequence("Paid beyond the promise, per case so far", points, (LOW, HIGH), formats, OVERPAID)
        )
        if monitor.compares:
            heading = f"Saved by {challenger or 'the challenger'}, per case so far"
            charts.append(_sequence(heading, points, (SAVED_LOW, SAVED_HIGH), formats, SAVED))
        charts.append(_evidence("Evidence against the promises", points, monitor.level))
    promises = _closed(monitor.promised)
    if promises:
        values = [point.totals[0] / point.increments for point in promises]
        charts.append(_chart("Promised per case", "needs no labels", promises, partial(_amount, formats), values))
        charts.append(_evidence("Evidence that promises drift", promises, monitor.level))
    return charts


def _sequence(
    title: str, points: Sequence[Point], ends: tuple[int, int], formats: Formats, entry: int
) -> dict[str, Any]:
    """The mean so far and its confidence sequence."""
    total, n, means = 0.0, 0, []
    for point in points:
        total, n = total + point.totals[entry], n + point.increments
        means.append(total / n)
    low, high = ([point.after[end] for point in points] for end in ends)
    note = "mean, and the interval that is valid whenever you look"
    return _chart(title, note, points, partial(_amount, formats), means, band=(low, high), line=0.0)


def _evidence(title: str, points: Sequence[Point], level: float) -> dict[str, Any]:
    values = [point.after[EVIDENCE] for point in points]
    return _chart(title, f"alarm at {1 / level:g}", points, _power, values, line=log10(1 / level), from_zero=True)


def _amount(formats: Formats, value: float) -> str:
    return f"{'−' if value < 0 else ''}{formats.tick(abs(value))}"


def _power(value: float) -> str:
    return f"{10**value:,.4g}" if -4 < value < 6 else f"10^{value:g}"


def _chart(
    title: str,
    note: str,
    points: Sequence[Point],
    tick: Any,
    values: Sequence[float],
    *,
    other: Sequence[float] | None = None,
    band: tuple[Sequence[float], Sequence[float]] | None = None,
    line: float | None = None,
    from_zero: bool = False,
) -> dict[str, Any]:
    """One curve, with another, a band or a level line: everything in pixels."""
    floor = max(min(values), -3.0) if from_zero else None  # wealth that is nearly gone is nearly gone
    values = values if floor is None else [max(value, floor) for value in values]
    shown = [*values, *(other or ()), *(band[0] if band else ()), *(band[1] if band else ())]
    axis = Axis.around([*shown, *([] if line is None else [line])])
    xs = _across(len(points))
    return {
        "title": title,
        "note": note,
        "width": WIDTH,
        "height": HEIGHT,
        "left": LEFT,
        "right": WIDTH - RIGHT,
        "bottom": HEIGHT - BOTTOM,
        "ticks": [{"text": tick(value), "y": _up(axis, value)} for value in axis.ticks],
        "names": _names(points, xs),
        "curve": _path(axis, xs, values),
        "dots": [{"x": x, "y": _up(axis, v)} for x, v in zip(xs, values, strict=True)] if len(xs) <= 60 else [],
        "other": None if other is None else _path(axis, xs, other),
        "band": None if band is None else _area(axis, xs, *band),
        "line": None if line is None else _up(axis, line),
    }


def _across(n: int) -> list[float]:
    room = WIDTH - LEFT - RIGHT - 24
    return [round(LEFT + 12 + room * (0.5 if n == 1 else i / (n - 1)), 1) for i in range(n)]


def _up(axis: Axis, value: float) -> float:
    return round(TOP + (HEIGHT - TOP - BOTTOM) * (1 - axis.percent(value) / 100), 1)


def _path(axis: Axis, xs: Sequence[float], values: Sequence[float] | FloatArray) -> str:
    return "M" + "L".join(f"{x} {_up(axis, value)}" for x, value in zip(xs, values, strict=True))


def _area(axis: Axis, xs: Sequence[float], low: Sequence[float], high: Sequence[float]) -> str:
    back = _path(axis, list(reversed(xs)), list(reversed(low)))
    return f"{_path(axis, xs, high)}L{back[1:]}Z"


def _names(points: Sequence[Point], xs: Sequence[float]) -> list[dict[str, Any]]:
    """Some of the periods below the chart, evenly chosen; cases are counted where there are no periods."""
    step, cases, names = -(-len(points) // MOST_NAMES), 0.0, []
    for index, point in enumerate(points):
        cases += point.cases
        if index % step == 0:
            text = point.last if point.last is not None else f"{cases:,.0f}"
            names.append({"x": xs[index], "text": text if len(text) <= LETTERS else f"{text[: LETTERS - 1]}…"})
    return names


def _costs(point: Point) -> tuple[float, float]:
    """Paid and promised, per case."""
    promised = point.totals[PROMISED] / point.increments
    return promised + point.totals[OVERPAID] / point.increments, promised


def _row(point: Point, formats: Formats) -> dict[str, Any]:
    """A line of the table behind the charts."""
    name = point.last or "–"
    name = name if point.first == point.last or point.first is None else f"{point.first} to {name}"
    paid, promised = map(formats.money, _costs(point))
    ends = [formats.money(end) for end in point.after[LOW:]]
    return {"name": name, "cases": point.cases, "paid": paid, "promised": promised, "ends": ends} | {
        "evidence": _power(round(point.after[EVIDENCE], 2))
    }
