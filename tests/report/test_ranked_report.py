"""The page of ranked lists: the curve of the price of a miss, its ranges, a slider; inert whatever names are."""

import re

import numpy as np
import pytest

from pandora_regret import Candidates, compare_lists
from pandora_regret.report import render_report
from pandora_regret.report.charts import miss_chart

pytest.importorskip("jinja2")

NASTY = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def result():
    rng = np.random.default_rng(0)
    truth = rng.choice(list("abc"), 200)
    short = Candidates.from_lists([[name] if rng.random() < 0.6 else ["x"] for name in truth], truth)
    long = Candidates.from_lists([["x", "y", name if rng.random() < 0.9 else "z"] for name in truth], truth)
    return compare_lists({NASTY: short, "long": long})


def test_the_page_says_every_range_and_draws_every_model(result):
    page = render_report(result)
    section = re.search(r'<section id="miss".*?</section>', page, re.DOTALL)[0]
    assert section.count("<li>") == len(result.lists.ranges)
    assert section.count("<polyline") == 2
    assert section.count("<circle") == len(result.lists.crossings) == 1
    assert NASTY not in page


def test_the_chart_rises_with_the_price_of_a_miss(result):
    chart = miss_chart(result.lists)
    for line in chart["lines"]:
        heights = [float(point.split(",")[1]) for point in line["points"].split()]
        assert heights == sorted(heights, reverse=True)  # pixels count from above
    (mark,) = chart["marks"]
    assert mark["low"] < mark["x"] < mark["high"]


def test_a_page_of_classes_has_no_such_section():
    from pandora_regret import compare

    assert 'id="miss"' not in render_report(compare([0, 1], {"one": [[0.8, 0.2], [0.3, 0.7]]}))


def test_the_page_leaves_out_what_is_said_of_classes_alone(result):
    page = render_report(result)
    assert 'id="detail"' not in page
    assert "Wrong tests" not in page
    assert "<dt>Pandora’s Regret</dt>" not in page
    assert 'step="any"' in page  # so that the slider begins at the very price at which costs are reported


def test_the_curve_has_the_price_that_was_asked_for():
    truth = ["a", "b"] * 30
    sure = Candidates.from_lists([{"a": 0.6}] * 60, truth)
    unsure = Candidates.from_lists([{"a": 0.2}] * 60, truth)
    result = compare_lists({"sure": sure, "unsure": unsure}, miss=3.7)
    place = result.lists.prices.index(3.7)
    for model in result.models:
        assert result.lists.curves[model.name][place].value == pytest.approx(model.cost)
