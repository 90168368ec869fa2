"""What is decided, by numbers alone: no sentence is read here, and none is needed to decide."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from pandora_regret.comparison.doubts import AllAlike, Finding
from pandora_regret.comparison.judge import (
    Contest,
    Evidence,
    cases_for_all,
    judge,
    more_cases,
    standing_of,
)
from pandora_regret.comparison.parts import PricesOfMiss
from pandora_regret.comparison.request import Margin

ENOUGH = Evidence(cases=1000, clusters=None, level=0.95)
MARGIN = Margin(1.0)


def contest(evidence=ENOUGH, margin=MARGIN, cost=50.0, **gaps):
    return Contest("best", cost, gaps, evidence, margin, chance=0.8, stake=0.1)


def finding(low, high, doubt=None):
    return Finding((low + high) / 2, low, high, doubt)


@pytest.mark.parametrize(
    ("low", "high", "standing"),
    [
        (-1.0, 1.0, "level"),  # exactly at the margin, on both sides
        (-1.0, np.nextafter(1.0, 2.0), "open"),
        (np.nextafter(-1.0, -2.0), 1.0, "open"),
        (0.5, 1.0, "level"),  # above zero, and yet within the margin
        (0.5, np.nextafter(1.0, 2.0), "more"),
        (0.0, 2.0, "open"),  # zero is not above zero
        (np.nextafter(0.0, 1.0), 2.0, "more"),
        (0.0, 0.0, "level"),
    ],
)
def test_an_interval_is_held_against_the_margin_to_the_last_digit(low, high, standing):
    assert standing_of(finding(low, high), contest()) == standing


@pytest.mark.parametrize(("units", "standing"), [(29, "open"), (30, "level"), (31, "level")])
@pytest.mark.parametrize("clustered", [False, True])
def test_below_30_units_what_went_unseen_counts_too(units, standing, clustered):
    """In 29 cases 3 may have gone unseen, which cost as much again: 3 / 29 of 50 is more than the margin."""
    evidence = Evidence(5000, units, 0.95) if clustered else Evidence(units, None, 0.95)
    assert standing_of(finding(-0.5, 0.5), contest(evidence)) == standing


def test_what_went_unseen_counts_no_further_than_the_margin():
    evidence = Evidence(cases=10, clusters=None, level=0.95)
    within = contest(evidence, Margin(0.5 + 3 / 10 * 2.0), cost=2.0)
    assert standing_of(finding(-0.5, 0.5), within) == "level"
    assert standing_of(finding(-0.5, 0.6), within) == "open"


def test_differences_of_zero_are_level_unless_few_cases_show_them():
    nothing = Finding(0.0, 0.0, 0.0)
    assert judge(contest(margin=Margin(0.0), same=nothing)).kind == "level"
    few = contest(Evidence(29, None, 0.95), Margin(0.0), same=nothing)
    judgement = judge(few)
    assert (judgement.kind, judgement.by_standing["open"], judgement.cases_needed) == (
        "undecided",
        ("same",),
        None,
    )


def test_one_model_is_single_whatever_it_costs():
    judgement = judge(contest())
    assert (judgement.kind, judgement.cases_needed) == ("single", None)
    assert set(judgement.by_standing.values()) == {()}


def test_a_warning_leaves_open_what_would_be_more_and_what_would_be_level():
    doubt = AllAlike(1000, "cases")
    assert standing_of(finding(2.0, 3.0), contest()) == "more"
    assert standing_of(finding(2.0, 3.0, doubt), contest()) == "open"
    close = contest(margin=Margin(0.2))
    assert standing_of(finding(-0.1, 0.1), close) == "level"
    assert standing_of(finding(-0.1, 0.1, doubt), close) == "open"  # by 3 / 1000 of 50
    assert standing_of(finding(-0.1, 0.1, doubt), contest()) == "level"


def test_without_an_interval_nothing_is_settled():
    judgement = judge(contest(other=Finding(3.0)))
    assert (judgement.kind, judgement.by_standing["open"], judgement.cases_needed) == (
        "undecided",
        ("other",),
        None,
    )


def test_one_open_difference_makes_a_verdict_undecided_and_one_model_that_costs_more_deploys():
    level = finding(-0.5, 0.5)
    more = finding(2.0, 3.0)
    undecided = judge(contest(a=level, b=more, c=finding(-1.0, 4.0)))
    assert (undecided.kind, undecided.by_standing) == (
        "undecided",
        {"open": ("c",), "more": ("b",), "level": ("a",)},
    )
    assert judge(contest(a=level, b=more)).kind == "deploy"
    assert judge(contest(a=level)).kind == "level"


def test_where_truths_differ_nobody_leads():
    apart = Contest("best", 50.0, {"other": finding(2.0, 3.0)}, ENOUGH, MARGIN, apart=("other",))
    judgement = judge(apart)
    assert (judgement.kind, judgement.by_standing["open"], judgement.cases_needed) == (
        "undecided",
        ("other",),
        None,
    )


UP_TO_5 = PricesOfMiss(0.0, 5.0, "best", ())
FROM_5_ON = PricesOfMiss(5.0, None, "other", ())
ALWAYS = PricesOfMiss(0.0, None, "best", ())
NEVER_SETTLED = PricesOfMiss(0.0, None, "best", ("other",))


@pytest.mark.parametrize(
    ("ranges", "kind", "standing"),
    [
        ((ALWAYS,), "deploy", "more"),
        ((NEVER_SETTLED,), "undecided", "open"),
        ((UP_TO_5, FROM_5_ON), "undecided", "open"),
    ],
)
def test_over_prices_of_a_miss_only_who_leads_at_all_of_them_is_deployed(ranges, kind, standing):
    """Whatever the difference is at the one price at which costs are reported."""
    for gap in (finding(2.0, 3.0), finding(-0.5, 0.5), finding(-1.0, 4.0)):
        judgement = judge(replace(contest(other=gap), ranges=ranges))
        assert (judgement.kind, judgement.by_standing[standing]) == (kind, ("other",))
        assert (judgement.cases_needed, judgement.cases_for_gap) == (None, None)
    assert judge(replace(contest(), ranges=ranges)).kind == "single"


def test_as_many_cases_are_needed_as_make_the_whole_interval_as_narrow_as_the_margin():
    gap = finding(-4.0, 4.0)
    needed = more_cases(gap, ENOUGH, 1.0)
    assert needed == pytest.approx(63 * ENOUGH.cases, rel=0.01)  # an eighth of the width takes 64 times the cases
    assert more_cases(gap, ENOUGH, 8.0) == 0
    assert more_cases(gap, ENOUGH, 1e-9) is None  # beyond what anybody would count
    assert more_cases(gap, ENOUGH, 0.0) is None


def test_all_open_differences_are_settled_or_it_is_not_said():
    narrow = finding(-2.0, 2.0)
    wide = finding(-4.0, 4.0)
    assert cases_for_all([narrow, wide], ENOUGH, MARGIN) == more_cases(wide, ENOUGH, 1.0)
    assert cases_for_all([wide, Finding(1.0)], ENOUGH, MARGIN) is None


def test_deciding_calls_nothing_that_writes_sentences():
    called = set()

    def note(frame, event, argument):
        if event == "call":
            called.add(frame.f_globals.get("__name__", ""))

    sys.setprofile(note)
    try:
        judge(contest(a=finding(-1.0, 4.0), b=finding(2.0, 3.0, AllAlike(10, "cases"))))
    finally:
        sys.setprofile(None)
    assert "pandora_regret.comparison.judge" in called
    assert not {name for name in called if name.endswith("words") or ".text" in name}
