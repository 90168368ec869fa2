"""The page of a monitor: periods of few cases, a headline of one sentence, axes with units."""

import re

import pytest

from pandora_regret.monitor.streams import Point
from pandora_regret.report.monitor import _charts
from pandora_regret.text import Formats

CASES = [100, 120, 80, 100, 1]
PAID = [20.0, 21.0, 22.0, 23.0, 400.0]
PROMISED = 20.0


def points_of(cases, paid, name="week {}"):
    marks = (0.0, 1.0, 0.0, 2.0)
    return [
        Point(
            name and name.format(n),
            name and name.format(n),
            1,
            count,
            count,
            ((cost - PROMISED) * count, PROMISED * count),
            marks,
        )
        for n, (count, cost) in enumerate(zip(cases, paid, strict=True), start=1)
    ]


def bills(points, unit="EUR"):
    return next(iter(_charts(points, Formats(PAID, unit), 0.05, False, None)))


def test_a_period_of_few_cases_is_a_small_dot_beside_the_curve():
    chart = bills(points_of(CASES, PAID))
    assert chart["few"] == 25  # a quarter of the median
    assert [dot["few"] for dot in chart["dots"]] == [False] * 4 + [True]
    assert len(re.findall("[ML]", chart["curve"])) == 4
    assert chart["plot"].up.high < 30.0  # 400 does not stretch the axis
    radii = [dot["radius"] for dot in chart["dots"]]
    assert radii[4] < radii[2] < radii[0] < radii[1]
    assert chart["plot"].margin <= chart["dots"][4]["y"] <= chart["plot"].bottom


def test_periods_of_like_sizes_are_all_joined():
    chart = bills(points_of(CASES[:4], PAID[:4]))
    assert chart["few"] is None
    assert len(re.findall("[ML]", chart["curve"])) == 4


@pytest.mark.parametrize(("name", "across"), [("week {}", None), ("{}", "Period"), (None, "Cases")])
def test_what_runs_across_is_named(name, across):
    assert bills(points_of(CASES, PAID, name))["across"] == across


@pytest.mark.parametrize(("unit", "title"), [("EUR", "Cost per case"), ("min", "Cost per case, min")])
def test_costs_have_a_unit_in_the_title_or_on_the_axis(unit, title):
    chart = bills(points_of(CASES, PAID), unit)
    assert chart["title"] == title
    assert all(("€" in chart["tick"](tick)) == (unit == "EUR") for tick in chart["ticks"])


def test_values_stand_beside_the_curve_on_a_phone_not_on_it():
    plot = bills(points_of(CASES, PAID))["plot"]
    assert plot.width - plot.right >= 8 + len("1,000,000") * 18 * 0.6  # the gap, and letters of 18 units
