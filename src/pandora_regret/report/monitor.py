"""The page of a monitor: cost per period, confidence sequences and evidence, drawn as SVG without any script."""

import os
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from math import log10
from pathlib import Path
from typing import Any

from pandora_regret.monitor import Monitor
from pandora_regret.monitor.streams import OVERPAID, PROMISED, Paid, Point
from pandora_regret.monitor.summary import sentences
from pandora_regret.report.charts import Axis, chart_over_time
from pandora_regret.report.page import render_page, write_page
from pandora_regret.text import Formats

STYLES = ("page.css", "first.css", "tables.css", "monitor.css", "print.css")
TITLE = "Promised against paid"
MOST_NAMES, LETTERS = 8, 12  # of periods below a chart
LEAST_EVIDENCE = -3.0  # as a power of ten: wealth that is nearly gone is nearly gone
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
    assert monitor.paid is not None
    points = _marked(monitor.paid)
    costs = [cost for point in points for cost in _costs(point)]
    formats = Formats.for_costs(costs or [1.0], unit)
    page = render_page(
        "monitor.html.j2",
        STYLES,
        title=title,
        lines=sentences(summary, unit, challenger),
        alarmed=summary.alarmed,
        summary=summary,
        level=monitor.paid.overpaid.level,
        two_sided=monitor.two_sided,
        charts=list(_charts(monitor, points, formats, challenger)),
        points=points,
        formats=formats,
        costs_of=_costs,
        evidence_of=lambda point: _power(round(point.after[EVIDENCE], 2)),
        ends=(LOW, HIGH, SAVED_LOW, SAVED_HIGH)[: 2 * (1 + monitor.compares)],
        compares=monitor.compares,
    )
    return write_page(page, path)


def _marked(paid: Paid) -> list[Point]:
    """The points of the history, each with its own sums; the last with where the monitor stands now."""
    points, before = list[Point](), Point(None, None, 0, 0, 0, (0.0,) * 3)
    for point in paid.book.history.points:
        counts = {name: getattr(point, name) - getattr(before, name) for name in ("increments", "cases")}
        totals = tuple(now - then for now, then in zip(point.totals, before.totals, strict=False))
        points.append(replace(point, totals=totals, after=point.after or paid.marks(), **counts))
        before = point
    return points


def _costs(point: Point) -> tuple[float, float]:
    """Paid and promised, per case."""
    promised = point.totals[PROMISED] / point.increments
    return promised + point.totals[OVERPAID] / point.increments, promised


def _power(value: float) -> str:
    return f"{10**value:,.4g}" if -4 < value < 6 else f"10^{value:g}"


def _charts(
    monitor: Monitor, points: Sequence[Point], formats: Formats, challenger: str | None
) -> Iterator[dict[str, Any]]:
    """Costs and promises, what is paid beyond these, what a challenger saves, and the evidence."""
    if not points:
        return

    def amount(value: float) -> str:
        return f"{'−' if value < 0 else ''}{formats.tick(abs(value))}"

    def claimed(title: str, note: str, first: int) -> dict[str, Any]:
        value, low, high = zip(*(point.after[first : first + 3] for point in points), strict=True)
        widths = [most - least for least, most in zip(low, high, strict=True)]
        start = next(n for n, width in enumerate(widths) if width <= READABLE * widths[-1])
        chart = chart_over_time(value[start:], band=(low[start:], high[start:]), level=0.0)
        return _described(chart, title, note, points, start, amount)

    paid, promised = zip(*map(_costs, points), strict=True)
    chart = chart_over_time(paid, other=promised)
    yield _described(chart, "Cost per case", "over time", points, 0, amount)
    note = "mean and interval so far; after an alarm, since it seems to have begun"
    yield claimed("Paid beyond the promise, per case", note, VALUE)
    if monitor.compares:
        name = challenger or "the challenger"
        yield claimed(f"Saved by {name}, per case", "mean and interval so far", SAVED_VALUE)
    values = [max(point.after[EVIDENCE], LEAST_EVIDENCE) for point in points]
    assert monitor.paid is not None
    level = monitor.paid.overpaid.level
    chart = chart_over_time(values, level=-log10(level))
    chart["ticks"] = [tick for tick in chart["ticks"] if tick.is_integer()]
    yield _described(chart, "Evidence that it costs more", f"alarm at {1 / level:g}", points, 0, _power)


def _described(
    chart: dict[str, Any], title: str, note: str, points: Sequence[Point], start: int, tick: Callable[[float], str]
) -> dict[str, Any]:
    """The chart of the points from one on, with its title, and some periods or round numbers of cases below."""
    ends = list(accumulate(point.cases for point in points))[start:]
    if points[0].last is None:
        axis = Axis.around([ends[0], ends[-1]], padding=0.0)
        names = [(bisect_left(ends, cases), f"{cases:,.0f}") for cases in axis.ticks]
    else:
        shown = list(enumerate(point.last or "" for point in points[start:]))
        names = shown[:: -(-len(shown) // MOST_NAMES)]
    names = [(at, text if len(text) <= LETTERS else f"{text[: LETTERS - 1]}…") for at, text in names]
    return chart | {"title": title, "note": note, "names": names, "tick": tick}
