"""The page of a monitor: cost per period, confidence sequences and evidence, drawn as SVG without any script."""

import os
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from math import ceil, log10
from pathlib import Path
from statistics import median

from pandora_regret.core.inputs import Fields
from pandora_regret.monitor import Monitor
from pandora_regret.monitor.streams import OVERPAID, PROMISED, History, Point
from pandora_regret.monitor.words import sentences, since_words
from pandora_regret.report.charts import Axis, Plot
from pandora_regret.report.page import render_page, write_page
from pandora_regret.text import Formats, counted

STYLES = ("page.css", "first.css", "tables.css", "monitor.css", "print.css")
TITLE = "Promised against paid"
MOST_NAMES = 8  # of periods below a chart
SMALL_PERIOD = 0.25  # of the median number of cases: with fewer it says little, and may not be complete
MOST_DOTS = 60  # more of them hide the curve
LEAST_POWER_OF_TEN = -3.0  # of evidence: less is next to none
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
            points += _points_of(alarm.history, ())
    points += _points_of(bets.book.history, bets.marks())
    costs = [cost for point in points for cost in _costs(point)]
    formats = Formats(costs, unit)
    first, *lines = sentences(summary, unit, challenger)
    headline, end, more = first.partition(". ")
    increments = sum(point.increments for point in points)
    page = render_page(
        "monitor.html.j2",
        STYLES,
        title=title,
        headline=headline + end.strip(),
        lines=[more, *lines] if more else lines,
        summary=summary,
        increments=counted(increments, "period" if summary.dependent else "case"),
        level=level,
        two_sided=monitor.two_sided,
        charts=list(_charts(points, formats, level, monitor.compares, challenger)),
        points=points,
        formats=formats,
        costs_of=_costs,
        evidence_of=lambda point: _power(round(point.after[EVIDENCE], 2)),
        ends=(LOW, HIGH, SAVED_LOW, SAVED_HIGH)[: 2 * (1 + monitor.compares)],
        compares=monitor.compares,
        by_class_heading=f"Costs per case {since_words(summary)}, by what the truth turned out to be.",
        largest_beyond=max((abs(cost.beyond) for cost in summary.by_class), default=0.0) or 1.0,
    )
    return write_page(page, path)


def _points_of(history: History, marks: tuple[float, ...]) -> list[Point]:
    """The points of a history, with sums over each alone instead of those since the beginning.

    `marks` says where the monitor stands now: after the last point, unless the history has ended.
    """
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
    unit = f",{formats.suffix}" if formats.suffix else ""
    few = SMALL_PERIOD * median(point.cases for point in points)
    bills = _chart(points, paid, formats.tick, other=promised, few=few)
    yield {"title": f"Cost per case{unit}", "note": "paid", **bills}
    note = "mean and interval so far; after an alarm, since it seems to have begun"
    claims = _chart_of_claims(points, formats, VALUE)
    yield {"title": f"Paid beyond the promise, per case{unit}", "note": note, **claims}
    if compares:
        title = f"Saved by {challenger or 'the challenger'}, per case{unit}"
        note = "mean and interval so far"
        yield {"title": title, "note": note, **_chart_of_claims(points, formats, SAVED_VALUE)}
    values = [min(max(point.after[EVIDENCE], LEAST_POWER_OF_TEN), MOST_EVIDENCE) for point in points]
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
    few: float = 0.0,
) -> Fields:
    """One curve over points, from one on, with another, a band or a level line; periods or round counts below.

    A point of fewer than `few` cases is a small dot beside the curve: what it says is mostly chance.
    """
    values = values[start:]
    low = band[0][start:]
    high = band[1][start:]
    cases = [point.cases for point in points[start:]]
    joined = [number for number, count in enumerate(cases) if count >= few]
    drawn = [values[number] for number in joined]
    drawn += [other[number] for number in joined if other]
    up = Axis.around([*drawn, *low, *high, level])
    plot = Plot(Axis.around([0, len(values) - 1], padding=0.015), up, 960, 256, left=96, below=50, beside=110)
    there = list(enumerate(high))
    back = list(enumerate(low))[::-1]
    area = [*there, *back]
    return {
        "plot": plot,
        "dots": _dots(plot, values, cases, few),
        "few": ceil(few) if len(joined) < len(cases) else None,
        "across": _name_of_axis(points),
        "ticks": up.ticks,
        "curve": plot.path((number, values[number]) for number in joined),
        "other": plot.path((number, other[number]) for number in joined) if other else None,
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


def _name_of_axis(points: Sequence[Point]) -> str | None:
    """What runs across; None where the names of periods say it, such as "week 3"."""
    if points[0].last is None:
        return "Cases"
    return "Period" if points[0].last.isdigit() else None


def _dots(plot: Plot, values: Sequence[float], cases: Sequence[int], few: float) -> list[Fields]:
    """A dot for each value; where `few` is above zero its size shows how many cases it is of."""
    if len(values) > MOST_DOTS:
        return []
    usual = median(cases)
    dots = []
    for number, (value, count) in enumerate(zip(values, cases, strict=True)):
        size = min(max((count / usual) ** 0.5, 0.6), 1.5) if few else 1.0
        height = min(max(plot.y(value), plot.margin), plot.bottom)
        dots.append({"x": plot.x(number), "y": height, "radius": round(3 * size, 2), "few": count < few})
    return dots
