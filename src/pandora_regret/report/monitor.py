"""The page of a monitor: cost per period, confidence sequences and evidence, drawn as SVG without any script."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from math import log10
from pathlib import Path
from typing import Any

from pandora_regret.atomic import write_atomically
from pandora_regret.monitor import Monitor
from pandora_regret.monitor.streams import OVERPAID, PROMISED, SAVED, Point, Stream
from pandora_regret.monitor.summary import sentences
from pandora_regret.report.charts import chart_over_time
from pandora_regret.report.page import render_page
from pandora_regret.text import Formats

STYLES = ("page.css", "first.css", "tables.css", "monitor.css", "print.css")
TITLE = "Promised against paid"
MOST_NAMES, LETTERS = 8, 12  # of periods below a chart
LEAST_EVIDENCE = -3.0  # as a power of ten: wealth that is nearly gone is nearly gone
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
    summary = monitor.summary()
    assert monitor.paid is not None
    points = _closed(monitor.paid)
    costs = [cost for point in points for cost in _costs(point)]
    formats = Formats.for_costs(costs or [summary.predicted], unit)
    rows = []
    for point in points:
        paid, promised, *ends = map(formats.money, (*_costs(point), *point.after[LOW:]))
        name = point.last or "–"
        name = name if point.first == point.last or point.first is None else f"{point.first} to {name}"
        row = {"name": name, "cases": point.cases, "paid": paid, "promised": promised, "ends": ends}
        rows.append(row | {"evidence": _power(round(point.after[EVIDENCE], 2))})
    return render_page(
        "monitor.html.j2",
        STYLES,
        title=title,
        lines=sentences(summary, unit, challenger),
        alarmed=summary.alarmed,
        summary=summary,
        level=monitor.level,
        run_length=monitor.run_length,
        lag=monitor.lag,
        charts=list(_charts(monitor, points, formats, challenger)),
        rows=rows,
        compares=monitor.compares,
    )


def _closed(stream: Stream) -> list[Point]:
    """The points of a stream; the last one, where it is not complete, with where the stream stands now."""
    points = list(stream.history.all)
    if points and not points[-1].after:
        points[-1] = replace(points[-1], after=stream.marks())
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

    def amount(value: float) -> str:
        return f"{'−' if value < 0 else ''}{formats.tick(abs(value))}"

    def so_far(title: str, entry: int, first: int) -> dict[str, Any]:
        totals, increments = (
            accumulate(of) for of in zip(*((p.totals[entry], p.increments) for p in points), strict=True)
        )
        band = list(zip(*(point.after[first : first + 2] for point in points), strict=True))
        means = [total / n for total, n in zip(totals, increments, strict=True)]
        note = "mean, and the interval that is valid whenever you look"
        return _described(chart_over_time(means, band=band, level=0.0), title, note, points, amount)

    def evidence(title: str, points: Sequence[Point]) -> dict[str, Any]:
        values = [max(point.after[EVIDENCE], LEAST_EVIDENCE) for point in points]
        chart = chart_over_time(values, level=-log10(monitor.level))
        return _described(chart, title, f"alarm at {1 / monitor.level:g}", points, _power)

    if points:
        paid, promised = zip(*map(_costs, points), strict=True)
        chart = chart_over_time(paid, other=promised)
        yield _described(chart, "Cost per case", "period by period", points, amount)
        yield so_far("Paid beyond the promise, per case so far", OVERPAID, LOW)
        if monitor.compares:
            yield so_far(f"Saved by {challenger or 'the challenger'}, per case so far", SAVED, SAVED_LOW)
        yield evidence("Evidence against the promises", points)
    assert monitor.promised is not None
    if promises := _closed(monitor.promised):
        chart = chart_over_time([point.totals[0] / point.increments for point in promises])
        yield _described(chart, "Promised per case", "needs no labels", promises, amount)
        yield evidence("Evidence that promises drift", promises)


def _described(
    chart: dict[str, Any], title: str, note: str, points: Sequence[Point], tick: Callable[[float], str]
) -> dict[str, Any]:
    """The chart with its title, and some of the periods below it, evenly chosen, or numbers of cases."""
    step, cases = -(-len(points) // MOST_NAMES), accumulate(point.cases for point in points)
    texts = [point.last or f"{n:,.0f}" for point, n in zip(points, cases, strict=True)]
    named = list(zip(chart["places"], texts, strict=True))[::step]
    names = [{"x": x, "text": text if len(text) <= LETTERS else f"{text[: LETTERS - 1]}…"} for x, text in named]
    ticks = [each | {"text": tick(each["value"])} for each in chart["ticks"]]
    return chart | {"title": title, "note": note, "names": names, "ticks": ticks}
