"""Where a comparison draws its lines: what it says just below each limit, and what just above."""

from dataclasses import replace

import numpy as np
import pytest
from refusals import refused
from simulated_models import calibrated

from pandora_regret import ComparisonOptions, compare
from pandora_regret.comparison.doubts import AllAlike, Finding, RareClasses, UnseenClass
from pandora_regret.comparison.embedded import from_scale
from pandora_regret.comparison.grouping import (
    BreakdownFindings,
    DearerHere,
    GroupFindings,
    GroupSet,
    Reversal,
)
from pandora_regret.comparison.judge import Contest, Evidence, judge, standing_of
from pandora_regret.comparison.request import Margin
from pandora_regret.comparison.words import (
    Results,
    _seen,
    _sentence_of,
    flag_of_all,
    flag_of_group,
    reason_of,
    recalibrating,
    verdict_sentences,
)
from pandora_regret.inference.estimate import Estimate

PLAIN = ComparisonOptions(recalibrate=None)


def truth_of(rows, n_classes=3, seed=0):
    return np.random.default_rng(seed).integers(0, n_classes, rows)


def even(rows, n_classes):
    """Forecasts that know nothing."""
    return np.full((rows, n_classes), 1 / n_classes)


# Doubts


def class_warning(cases_of_class):
    """What is said of macro-F1 where classes have so many cases."""
    truth = np.repeat(np.arange(len(cases_of_class)), cases_of_class)
    table = even(len(truth), len(cases_of_class))
    return compare(truth, {"a": table}, options=PLAIN).best.scores["macro_f1"].warning


@pytest.mark.parametrize(
    ("cases_of_class", "is_doubted"),
    [
        ([40, 40, 4], True),
        ([40, 40, 5], False),  # five cases of a class are enough
        ([40] * 9 + [4], True),
        ([40] * 10 + [4], False),  # one class of eleven is less than a tenth
    ],
)
def test_classes_that_were_hardly_seen(cases_of_class, is_doubted):
    assert (class_warning(cases_of_class) is not None) == is_doubted


# Standing


def contest(cases, gap, clusters=None, margin=1.0, stake=0.0):
    """A leader that costs 10, and another model."""
    return Contest("a", 10.0, {"b": gap}, Evidence(cases, clusters, 0.95), Margin(margin, None), stake=stake)


@pytest.mark.parametrize(
    ("cases", "furthest", "standing"),
    [
        (30, 0.99, "level"),  # of thirty cases the interval is taken at its word
        (29, 0.99, "open"),  # of fewer, 3 in n that cost as much again might have gone unseen
    ],
)
def test_few_cases_might_not_have_shown_everything(cases, furthest, standing):
    gap = Finding(0.0, -furthest, furthest)
    assert standing_of(gap, contest(cases, gap)) == standing


@pytest.mark.parametrize(("margin", "standing"), [(3.01, "level"), (2.99, "open")])
def test_three_unseen_cases_may_cost_as_much_again(margin, standing):
    """Of 20 cases: 3 / 20 of a cost of 10, beside an interval that ends at 1.5."""
    gap = Finding(0.0, -1.5, 1.5)
    assert standing_of(gap, contest(20, gap, margin=margin)) == standing


def spoken(judged):
    """The sentences of a verdict on two models."""
    truth = truth_of(60)
    found = compare(truth, {"a": calibrated(truth, 1.5, 1), "b": calibrated(truth, 1.4, 2)}, options=PLAIN)
    results = Results(
        found.models,
        found.differences,
        found.ranks,
        found.data,
        "USD",
        is_workup=False,
        largest_pairs=found.largest_pairs,
    )
    return verdict_sentences(judged, results)


@pytest.mark.parametrize(("stake", "is_little"), [(0.1, True), (0.11, False)])
def test_little_is_at_stake_up_to_a_tenth_of_the_margin(stake, is_little):
    judged = judge(contest(500, Finding(0.5, -1.0, 2.0), stake=stake))
    assert judged.kind == "undecided"
    assert any(sentence.startswith("Little") for sentence in spoken(judged)) == is_little


@pytest.mark.parametrize(("n_others", "shown"), [(3, "a, b, c and d"), (4, "a, b, c and 2 others")])
def test_a_verdict_names_four_models(n_others, shown):
    gaps = {name: Finding(0.5, -1.0, 2.0) for name in "bcdefg"[:n_others]}
    judged = judge(replace(contest(500, gaps["b"]), gaps=gaps))
    assert shown in spoken(judged)[0]


# Words


@pytest.mark.parametrize(("ratio", "shown"), [(1.09, "9 %"), (1.11, "1.1 times")])
def test_what_a_group_costs_more_is_said_in_percent_up_to_a_tenth(ratio, shown):
    flag = DearerHere("a", cost=100.0 * ratio, elsewhere=100.0, expected=90.0, expected_elsewhere=None)
    column = BreakdownFindings(("site",), groups=(), pooled=0, flags=())
    here = GroupFindings(("x",), rows=30, weight=30.0, models=(), cheapest="a", flags=())
    assert shown in flag_of_group(flag, here, column, "USD")


@pytest.mark.parametrize(
    ("share", "shown"), [(0.0031, "0.31 %"), (0.75, "75 %"), (0.997, "100 %"), (1.0, "100 %")]
)
def test_the_share_of_an_unseen_class_is_written_without_powers_of_ten(share, shown):
    assert f"if it were {shown} of cases" in reason_of(UnseenClass("flu", 20.0, share, 3.0), "USD")


@pytest.mark.parametrize(
    ("groups", "shown"),
    [
        (None, "12 cases, 3 classes"),
        (np.arange(12) // 4, "12 cases in 3 clusters, 3 classes"),
        (np.zeros(12), "12 cases in 1 cluster, 3 classes"),
    ],
)
def test_cases_not_classes_are_in_clusters(groups, shown):
    result = compare(truth_of(12), {"a": even(12, 3)}, groups=groups, options=PLAIN)
    assert result.cases_in_words == shown


@pytest.mark.parametrize(("n_groups", "shown"), [(4, "A, B, C and D"), (5, "A, B, C and 2 others")])
def test_a_finding_names_four_groups(n_groups, shown):
    cheaper_in = tuple((letter,) for letter in "ABCDE"[:n_groups])
    cheaper = GroupSet(cheaper_in, 3.0, 4.0)
    flag = Reversal("b", "a", share=0.7, cheaper_in=cheaper, dearer_in=GroupSet((("X",),), 9.0, 4.0))
    column = BreakdownFindings(("site",), groups=(), pooled=0, flags=())
    assert f"({shown}: $3 per case against $4)" in flag_of_all(flag, column, "USD")


@pytest.mark.parametrize(("share", "is_something"), [(0.9e-4, False), (1.1e-4, True)])
def test_a_saving_below_a_ten_thousandth_is_none(share, is_something):
    truth = truth_of(300)
    best = compare(truth, {"a": calibrated(truth, 1.5, 1)}, costs=[9.0, 5.0, 3.0]).best
    saved = Estimate(share * best.cost, 0.5 * share * best.cost, 2 * share * best.cost)
    again = replace(best, recalibrated=replace(best.recalibrated, saved=saved))
    assert ("saves" in recalibrating(again, "USD")) == is_something


@pytest.mark.parametrize(("n_models", "n_notes"), [(2, 3), (3, 5), (4, 5)])
def test_four_doubts_are_spelt_out_and_the_others_counted(n_models, n_notes):
    """Of each model's cost, which a class that nobody saw could lift, and of each gap, which is zero."""
    truth = np.arange(60) % 2
    models = {f"m{number}": np.full((60, 3), 1 / 3) for number in range(n_models)}
    found = compare(truth, models, costs=[1.0, 1.0, 900.0], options=PLAIN)
    assert len([note for note in found.notes if not note.startswith("There")]) == n_notes


@pytest.mark.parametrize(("n_models", "n_shown"), [(20, 20), (21, 20)])
def test_a_notebook_shows_twenty_models(n_models, n_shown):
    truth = truth_of(60)
    models = {f"model {number}": even(60, 3) for number in range(n_models)}
    page = compare(truth, models, costs=[1.0, 2.0, 3.0], options=PLAIN)._repr_html_()
    picture, _, table = page.partition("</svg>")
    in_picture = [name for name in models if f">{name}<" in picture]
    in_table = [name for name in models if f">{name}<" in table]
    assert (len(in_picture), len(in_table)) == (n_shown, n_shown)


def test_three_wrong_tests_of_a_model_are_named():
    truth = truth_of(400, 4)
    found = compare(truth, {"a": even(400, 4)}, costs=[4.0, 3.0, 2.0, 1.0], options=PLAIN)
    assert len(found.largest_pairs) == 3


# Groups


def groups_of(values, **options):
    """The sizes of the groups of a column, by name, and how many were pooled."""
    n = len(values)
    truth = truth_of(n)
    name = options.pop("name", "x")
    part = compare(truth, {"a": calibrated(truth, 1.5, 1)}, by={name: values}, **options).by[0]
    return {found.name: found.rows for found in part.groups}, part.pooled


@pytest.mark.parametrize(("size", "is_pooled"), [(30, False), (29, True)])
def test_thirty_cases_make_a_group(size, is_pooled):
    sizes, pooled = groups_of(["a"] * 40 + ["b"] * 40 + ["c"] * size)
    assert (pooled == 1) == is_pooled
    assert ("c" in sizes) == (not is_pooled)


@pytest.mark.parametrize(("n_values", "n_groups"), [(12, 12), (13, 5)])
def test_more_than_twelve_numbers_are_put_into_five_bins(n_values, n_groups):
    sizes, _ = groups_of(np.arange(40 * n_values) % n_values)
    assert len(sizes) == n_groups


def test_of_more_than_fifty_groups_the_smallest_are_pooled():
    values = [f"g{number:02}" for number in range(52) for _ in range(30 + number)]
    sizes, pooled = groups_of(values)
    assert (len(sizes), pooled) == (51, 2)
    assert {"g00", "g01"}.isdisjoint(sizes)


@pytest.mark.parametrize(("values", "first"), [([1.000001, 2.0], "1 to 2"), ([1.5, 2.0], "1.5 to 2")])
def test_ends_of_bins_have_six_digits(values, first):
    sizes, _ = groups_of(np.repeat([*values, 3.0, 4.0], 30), name="x:2")
    assert next(iter(sizes)) == first


def test_ends_of_bins_have_all_digits_where_six_do_not_tell_them_apart():
    sizes, _ = groups_of(np.repeat([1.0000001, 1.0000002], 40), name="x:2")
    assert [float(name) for name in sizes] == [1.0000001, 1.0000002]


def test_a_hundred_bins_are_the_most():
    sizes, pooled = groups_of(np.arange(4000), name="x:100")
    assert (len(sizes), pooled) == (51, 50)  # of which fifty are shown, and the others pooled
    with refused(argument="by", value="x:101"):
        groups_of(np.arange(4000), name="x:101")


# Bins of predictions


@pytest.mark.parametrize(("cases", "n_bins"), [(39, 3), (40, 4), (99, 9), (100, 10), (400, 10)])
def test_bins_of_predicted_costs_have_ten_cases_and_are_ten_at_most(cases, n_bins):
    truth = truth_of(cases)
    assert len(compare(truth, {"a": calibrated(truth, 1.5, 1)}, options=PLAIN).best.calibration) == n_bins


# Break-even prices


def test_twenty_tests_are_looked_at_those_on_which_most_is_spent():
    rng = np.random.default_rng(0)
    truth = truth_of(200, 25)
    models = {name: rng.dirichlet(np.ones(25), 200) for name in "ab"}
    costs = np.arange(1.0, 26.0)
    found = compare(truth, models, costs=costs, options=PLAIN).break_even
    assert len(found) == 20
    assert {part.stated for part in found} == set(costs[5:])


# The sample that travels with a comparison


def embedded(truth, n_classes, n_models=1):
    """The comparison of models that know little, with its sample."""
    models = {f"m{number}": even(len(truth), n_classes) for number in range(n_models)}
    return compare(truth, models, costs=np.ones(n_classes), options=PLAIN)


@pytest.mark.parametrize(("n_classes", "why_not"), [(1351, None), (1352, "size")])
def test_a_page_holds_two_hundred_rows_or_none(n_classes, why_not):
    """Of 270,000 odds in all."""
    assert embedded(np.arange(300) % 3, n_classes).not_sampled == why_not


@pytest.mark.parametrize(("n_occurring", "why_not"), [(135, None), (136, "size")])
def test_a_page_holds_two_rows_of_every_class_that_occurs_or_none(n_occurring, why_not):
    """Of 1,001 classes it holds 270 rows at most."""
    assert embedded(np.arange(300) % n_occurring, 1001).not_sampled == why_not


def test_two_thousand_rows_are_drawn_at_least_five_of_each_class_and_else_in_proportion():
    truth = np.repeat([0, 1, 2], [2990, 2990, 20])
    sample = embedded(truth, 3).sample
    assert np.bincount(sample.truths()).tolist() == [5 + 1985 * 2990 // 6000] * 2 + [5 + 1985 * 20 // 6000]


@pytest.mark.parametrize(("error", "why_not"), [(0.1, None), (0.101, "error")])
def test_figures_of_a_page_may_be_a_tenth_off(monkeypatch, error, why_not):
    monkeypatch.setattr("pandora_regret.comparison.embed._relative_error", lambda *_: error)
    assert embedded(np.arange(3000) % 3, 3).not_sampled == why_not


def test_figures_of_a_page_are_within_three_standard_errors():
    """Of eight lists of prices that are halved or doubled at random, those that change a cost the most."""
    truth = truth_of(5000)
    prices = np.array([90.0, 60.0, 30.0])
    sample = compare(truth, {"a": calibrated(truth, 1.5, 1)}, costs=prices, options=PLAIN).sample
    drawn = sample.truths()
    weights = np.array(sample.weights)
    largest = 0.0
    for signs in np.random.default_rng(0).choice([-1, 1], (8, 3)):
        changed = sample.costs("a", prices * 2.0**signs)
        change = changed - sample.costs("a", prices)
        variance = 0.0
        for label in range(3):
            in_class = drawn == label
            share = weights[in_class].sum() / weights.sum()
            left_out = 1 - in_class.sum() / (truth == label).sum()
            variance += share**2 * left_out * change[in_class].var(ddof=1) / in_class.sum()
        largest = max(largest, 3 * np.sqrt(variance) / np.average(changed, weights=weights))
    assert sample.error == pytest.approx(largest, rel=0.05)  # it has two digits


def test_the_scale_of_odds_is_that_of_the_page():
    assert from_scale(np.array([0.5, -0.2])) == pytest.approx([4.0, -1.0])


def test_two_cases_are_both_cases_and_names_of_classes_are_not_capitalised():
    assert reason_of(AllAlike(2, "cases"), "USD").startswith("both cases")
    assert reason_of(AllAlike(3, "cases"), "USD").startswith("all 3 cases")
    assert _sentence_of(RareClasses(("tls",), "cases"), "USD").startswith("tls has")
    assert _sentence_of(AllAlike(2, "cases"), "USD").startswith("Both")


@pytest.mark.parametrize(
    ("difference", "unit", "said"),
    [
        (Estimate(8.75, -8.9, 26.8), "looks", "9 looks"),
        (Estimate(0.0153, -5.7, 5.8), "looks", "0.015 looks"),
        (Estimate(4.018, -0.36, 8.63), "USD", "$4.02"),
    ],
)
def test_a_difference_that_was_seen_is_written_as_beside_its_interval(difference, unit, said):
    assert _seen(difference, unit) == said
