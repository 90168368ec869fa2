"""The page of a monitor: cost per period, confidence sequences and evidence, drawn as SVG without any script."""

import os
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from math import ceil, log10
from pathlib import Path

from pandora_regret.core.inputs import Fields
from pandora_regret.monitor import Monitor
from pandora_regret.monitor.streams import OVERPAID, PROMISED, History, Point
from pandora_regret.monitor.summary import sentences
from pandora_regret.report.charts import Axis, Plot
from pandora_regret.report.page import render_page, write_page
from pandora_regret.text import Formats

STYLES = ("page.css", "first.css", "tables.css", "monitor.css", "print.css")
TITLE = "Promised against paid"
MOST_NAMES = 8  # of periods below a chart
LEAST_EVIDENCE = -3.0  # as a power of ten: less is next to none
MOST_EVIDENCE = 6.0  # more is beyond doubt
EVIDENCE, VALUE, LOW, HIGH, SAVED_VALUE, SAVED_LOW, SAVED_HIGH = range(7)  # entries of a point's `after`
READABLE = 10.0  # an interval is drawn from where it is at most so many times as wide as in the end


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
    summary = monitor.summary()
    bets = monitor.bets
    assert bets is not None
    level = bets.overpaid.level
    points = list[Point]()
    for alarm in monitor.acknowledged:
        if alarm.history is not None:
            points += _marked(alarm.history, ())
    points += _marked(bets.book.history, bets.marks())
    costs = [cost for point in points for cost in _costs(point)]
    formats = Formats(costs, unit)
    page = render_page(
        "monitor.html.j2",
        STYLES,
        title=title,
        lines=sentences(summary, unit, challenger),
        summary=summary,
        level=level,
        two_sided=monitor.two_sided,
        charts=list(_charts(points, formats, level, monitor.compares, challenger)),
        points=points,
        formats=formats,
        costs_of=_costs,
        evidence_of=lambda point: _power(round(point.after[EVIDENCE], 2)),
        ends=(LOW, HIGH, SAVED_LOW, SAVED_HIGH)[: 2 * (1 + monitor.compares)],
        compares=monitor.compares,
    )
    return write_page(page, path)


def _marked(history: History, marks: tuple[float, ...]) -> list[Point]:
    """The points of a history, each with its own sums; the last of one that goes on stands at these marks."""
    points = list[Point]()
    before = Point(None, None, 0, 0, 0, (0.0,) * 3)
    for point in history.points:
        own = replace(
            point,
            increments=point.increments - before.increments,
            cases=point.cases - before.cases,
            totals=tuple(now - then for now, then in zip(point.totals, before.totals, strict=False)),
            after=point.after or marks,
        )
        points.append(own)
        before = point
    return points


def _costs(point: Point) -> tuple[float, float]:
    """Paid and promised, per case."""
    promised = point.totals[PROMISED] / point.increments
    return promised + point.totals[OVERPAID] / point.increments, promised


def _power(value: float) -> str:
    """Ten to this power as people read it: digits where there are few, else as a power."""
    if not -4 < value <= MOST_EVIDENCE:
        return f"10^{value:g}"
    return f"{10**value:,.0f}" if value >= 2 else f"{10**value:.3g}"


def _charts(
    points: Sequence[Point], formats: Formats, level: float, compares: bool, challenger: str | None
) -> Iterator[Fields]:
    """Costs and promises, what is paid beyond these, what a challenger saves, and the evidence."""
    if not points:
        return
    costs = [_costs(point) for point in points]
    paid = [cost for cost, _ in costs]
    promised = [promise for _, promise in costs]
    yield {"title": "Cost per case", "note": "paid", **_chart(points, paid, formats.tick, other=promised)}
    note = "mean and interval so far; after an alarm, since it seems to have begun"
    yield {"title": "Paid beyond the promise, per case", "note": note, **_chart_of_claims(points, formats, VALUE)}
    if compares:
        title = f"Saved by {challenger or 'the challenger'}, per case"
        note = "mean and interval so far"
        yield {"title": title, "note": note, **_chart_of_claims(points, formats, SAVED_VALUE)}
    values = [min(max(point.after[EVIDENCE], LEAST_EVIDENCE), MOST_EVIDENCE) for point in points]
    chart = _chart(points, values, _power, level=-log10(level))
    chart["ticks"] = [tick for tick in chart["ticks"] if tick.is_integer()]
    yield {"title": "Evidence that it costs more", "note": f"alarm at {1 / level:g}; cut at a million", **chart}


def _chart_of_claims(points: Sequence[Point], formats: Formats, first: int) -> Fields:
    """A mean with its interval, entries of where the monitor stood after each point, once it is readable."""
    value, low, high = zip(*(point.after[first : first + 3] for point in points), strict=True)
    widths = [most - least for least, most in zip(low, high, strict=True)]
    readable = [n for n, width in enumerate(widths) if width <= READABLE * widths[-1]]
    start = readable[0]  # there is one: the last
    return _chart(points, value, formats.tick, band=(low, high), level=0.0, start=start)


def _chart(
    points: Sequence[Point],
    values: Sequence[float],
    tick: Callable[[float], str],
    *,
    other: Sequence[float] = (),
    band: Sequence[Sequence[float]] = ((), ()),
    level: float | None = None,
    start: int = 0,
) -> Fields:
    """One curve over points, from one on, with another, a band or a level line; periods or round counts below."""
    values = values[start:]
    low = band[0][start:]
    high = band[1][start:]
    up = Axis.around([*values, *other, *low, *high, level])
    plot = Plot(Axis.around([0, len(values) - 1], padding=0.015), up, 960, 240, left=84, below=34)
    there = list(enumerate(high))
    back = list(enumerate(low))[::-1]
    area = [*there, *back]
    return {
        "plot": plot,
        "values": values,
        "ticks": up.ticks,
        "curve": plot.path(enumerate(values)),
        "other": plot.path(enumerate(other)) if other else None,
        "band": f"{plot.path(area)}Z" if area else None,
        "level": level,
        "names": _names_below(points, start),
        "tick": tick,
    }


def _names_below(points: Sequence[Point], start: int) -> list[tuple[int, str]]:
    """What stands below a chart of the points from `start` on, and below which of them.

    The first period and others after it, at equal distances; where there are no periods, round counts of cases.
    """
    if points[0].last is None:
        ends = list(accumulate(point.cases for point in points))[start:]
        counts = Axis.around([ends[0], ends[-1]], padding=0.0).ticks
        return [(bisect_left(ends, cases), f"{cases:,.0f}") for cases in counts]
    names = [point.last or "" for point in points[start:]]
    step = ceil(len(names) / MOST_NAMES)
    return list(enumerate(names))[::step]
