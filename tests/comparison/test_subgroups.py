"""Groups of cases: what is flagged and what is not, and which group a case is in."""

import numpy as np
import pandas as pd
import pytest
from asked import compare_with
from refusals import refused
from simulated_models import simulated, softmax

from pandora_regret import compare
from pandora_regret.core.scores import expected_search_cost
from pandora_regret.text.amounts import money

ROWS = 900
PRICES = [90.0, 60.0, 30.0]


def sites(n, seed=0, shares=(0.4, 0.35, 0.25)):
    return np.random.default_rng(seed).choice(["North", "South", "East"], n, p=shares)


def failing(forecasts, rows):
    """The same forecasts, shifted to the wrong classes in some rows."""
    broken = forecasts.copy()
    broken[rows] = np.roll(broken[rows], 1, axis=1)
    return broken


def compared(truth, models, by, **options):
    return compare_with(truth, models, costs=PRICES, currency="USD", by=by, **options)


def flags(comparison):
    return [flag for part in comparison.by for each in (part, *part.groups) for flag in each.flags]


def group(comparison, name, part=0):
    return next(each for each in comparison.by[part].groups if each.name == name)


@pytest.fixture(scope="module")
def planted():
    truth, models = simulated(ROWS, noise=(0.4, 0.5, 0.6))
    good, forest, other = models.values()
    site = sites(ROWS)
    return truth, {"net": good, "forest": failing(forest, site == "East"), "vendor": other}, site


def test_a_planted_failure_is_flagged_in_its_group_alone_and_named_in_the_verdict(planted):
    truth, models, site = planted
    result = compared(truth, models, {"site": site})
    (flag,) = flags(result)
    assert "site is East" in flag
    forest = next(model for model in group(result, "East").models if model.name == "forest")
    assert money(forest.cost.value, "USD") in flag
    assert f"{forest.cost.value / (forest.cost.value - forest.against_rest.value):.1f} times" in flag
    assert group(result, "East").flags == (flag,)
    assert [each.flagged for each in result.by[0].groups if each.name != "East"] == [(), ()]
    assert group(result, "East").flagged == ("forest",)
    assert flag in result.headline
    assert flag == result.verdict.sentences[-1]
    assert flags(compared(truth, models, {"site": site}, worth=100.0)) == []


def test_of_several_findings_the_verdict_names_two_and_counts_the_others(planted):
    truth, models, site = planted
    result = compared(truth, models, {"site": site, "place": site})
    assert list(result.verdict.sentences[-2:]) == flags(result)
    result = compared(truth, models, {"site": site, "place": site, "house": site, "ward": site})
    first, second, _, fourth = flags(result)
    assert result.verdict.sentences[-2] == first
    assert "2 more" in result.verdict.sentences[-1].removeprefix(second)
    assert "ward is East" in fourth


def test_without_the_failure_nothing_is_flagged():
    truth, models = simulated(ROWS, noise=(0.4, 0.45))
    result = compared(truth, models, {"site": sites(ROWS)})
    assert flags(result) == []
    assert result.headline == compare(truth, models, costs=PRICES, currency="USD").headline


def test_numbers_of_a_group_are_those_of_its_cases_alone(planted):
    truth, models, site = planted
    weights = np.random.default_rng(3).uniform(0.2, 2.0, ROWS)
    result = compared(truth, models, {"site": site}, sample_weight=weights)
    east = site == "East"
    in_east = group(result, "East")
    alone = compare(
        truth[east], {name: p[east] for name, p in models.items()}, costs=PRICES, sample_weight=weights[east]
    )
    by_name = {model.name: model.scores["expected_cost"] for model in alone.models}
    assert (in_east.rows, in_east.weight) == (east.sum(), pytest.approx(weights[east].sum() / weights.mean()))
    for model in in_east.models:
        cost, expected = model.cost, by_name[model.name]
        ends = (expected.value, expected.low, expected.high)
        assert (cost.value, cost.low, cost.high) == pytest.approx(ends, rel=1e-9)
        assert model.against_leader.value == pytest.approx(cost.value - in_east.models[0].cost.value)
        options = {"costs": PRICES, "sample_weight": weights[~east]}
        elsewhere = expected_search_cost(truth[~east], models[model.name][~east], **options)
        assert model.against_rest.value == pytest.approx(cost.value - elsewhere)


def test_a_single_model_is_held_against_its_own_forecasts(planted):
    truth, models, site = planted
    (flag,) = flags(compared(truth, {"forest": models["forest"]}, {"site": site}))
    assert "site is East" in flag
    assert "it predicted $" in flag


def test_cases_that_are_dearer_for_every_model_are_not_blamed_on_one():
    """In the East two classes cannot be told apart, by any model."""
    rng, n = np.random.default_rng(5), 1500
    site = sites(n)
    signal = np.where((site == "East")[:, None], 0.2, 2.5) * rng.normal(size=(n, 3))
    truth = (softmax(signal).cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(max=2)
    models = {name: softmax(signal + 0.3 * rng.normal(size=(n, 3))) for name in ("net", "forest", "vendor")}
    result = compared(truth, models, {"site": site})
    found = flags(result)
    (about_east,) = (flag for flag in found if "site is East" in flag)
    assert group(result, "East").flagged == ()
    assert "every model" in about_east


def test_another_winner_in_a_group_is_flagged():
    truth, models = simulated(ROWS, noise=(0.2, 1.2))
    net, forest = models.values()
    east = sites(ROWS) == "East"
    mixed = {"net": np.where(east[:, None], forest, net), "forest": np.where(east[:, None], net, forest)}
    in_east = group(compared(truth, mixed, {"site": np.where(east, "East", "West")}), "East")
    assert in_east.leader == "forest"
    costs = {model.name: money(model.cost.value, "USD") for model in in_east.models}
    assert any(f"({costs['forest']} per case against {costs['net']})" in flag for flag in in_east.flags)
    assert any("elsewhere, net is" in flag for flag in in_east.flags)
    assert set(in_east.flagged) == {"net", "forest"}


def test_an_order_that_one_group_settles_against_most_cases_is_flagged():
    truth, models = simulated(2000, noise=(0.3, 0.7))
    net, forest = models.values()
    east = sites(2000) == "East"
    mixed = {
        "net": np.where(east[:, None], net, forest),
        "forest": np.where(east[:, None], failing(forest, slice(None)), net),
    }
    result = compared(truth, mixed, {"site": sites(2000)})
    assert result.best.name == "net"
    (flag,) = result.by[0].flags
    assert flag.startswith("forest is cheaper")
    assert "North and South" in flag
    assert "because of East (" in flag
    assert result.by[0].flagged == ("net", "forest")


def flags_of_nothing(seed, units, rows_each):
    """Flags of three equally good models, where nothing depends on any column; rows of one unit are alike."""
    rng, rows = np.random.default_rng(seed), np.repeat(np.arange(units), rows_each)
    truth, models = simulated(units, seed, noise=(0.5, 0.500001, 0.500002))
    by = {"site": rng.choice(list("abcd"), units)[rows], "age:3": rng.random(units)[rows]}
    models = {name: table[rows] for name, table in models.items()}
    return flags(compared(truth[rows], models, by, groups=rows, recalibrate=None, worth=0))


@pytest.mark.slow
@pytest.mark.parametrize(("units", "rows_each"), [(400, 1), (200, 6)], ids=["cases", "clusters"])
def test_where_nothing_differs_hardly_anything_is_flagged(units, rows_each):
    families = 250
    with_flags = sum(bool(flags_of_nothing(seed, units, rows_each)) for seed in range(families))
    assert with_flags <= 0.05 * families + 3 * np.sqrt(0.05 * 0.95 * families)


def test_a_group_whose_cases_are_all_alike_says_little_of_others():
    """30 cases of one class, of which both models say the same every time, a bit more costly than elsewhere."""
    truth, models = simulated(600, noise=(0.4, 0.5))
    site, east = np.r_[np.full(30, "East"), np.full(570, "West")], slice(0, 30)
    truth[east] = 1
    for forecasts, words in zip(models.values(), ([0.25, 0.4, 0.35], [0.25, 0.42, 0.33]), strict=True):
        forecasts[east] = words
    result = compared(truth, models, {"site": site})
    found = group(result, "East")
    assert found.flags == ()
    assert all(model.cost.value > result.best.cost and model.p_rest > 0.01 for model in found.models)
    assert found.models[1].p_holm is None
    assert found.models[1].against_leader.warning.startswith("all 30 cases")
    assert group(result, "West").models[1].p_holm is not None


def test_clusters_are_what_a_finding_is_made_of(planted):
    """Each case ten times over says no more than once, if the copies belong together."""
    truth, models, site = planted
    once = compared(truth[:250], {name: p[:250] for name, p in models.items()}, {"site": site[:250]})
    ten = np.repeat(np.arange(250), 10)
    again = compared(truth[ten], {name: p[ten] for name, p in models.items()}, {"site": site[ten]}, groups=ten)
    for ours, theirs in zip(once.by[0].groups, again.by[0].groups, strict=True):
        assert ours.flags == theirs.flags
        for one, other in zip(ours.models, theirs.models, strict=True):
            assert one.cost.low == pytest.approx(other.cost.low, rel=1e-9)
            assert one.p_rest == pytest.approx(other.p_rest, rel=1e-9)


def sample_of(values, **options):
    """The groups of one column, in order."""
    n = len(values)
    truth, models = simulated(n)
    result = compare_with(truth, models, by={options.pop("name", "x"): values}, **options)
    return [(each.name, each.rows) for each in result.by[0].groups], result.by[0].pooled


def test_small_groups_are_pooled_last_and_counted():
    values = ["a"] * 40 + ["b"] * 5 + ["c"] * 60 + ["d"] * 29
    assert sample_of(values) == ([("c", 60), ("a", 40), ("other", 34)], 2)
    assert sample_of(values, smallest_group=5) == ([("c", 60), ("a", 40), ("d", 29), ("b", 5)], 0)


@pytest.mark.parametrize("nothing", [None, float("nan"), pd.NA, pd.NaT, "", "  "])
def test_missing_values_are_a_group_of_their_own(nothing):
    values = np.array(["a"] * 50 + [nothing] * 40, dtype=object)
    assert sample_of(values) == ([("a", 50), ("missing", 40)], 0)


def test_missing_values_that_are_too_few_for_a_group_are_said():
    assert sample_of(["a"] * 50 + [None] * 9) == ([("a", 50), ("missing", 9)], 1)
    assert sample_of(["a"] * 50 + ["b"] * 4 + [None] * 9) == ([("a", 50), ("other, 9 missing", 13)], 2)


@pytest.mark.parametrize(("name", "small"), [("other", "a"), ("missing", None)])
def test_a_value_is_told_from_the_pooled_group_of_that_name(name, small):
    assert sample_of([name] * 50 + [small] * 9) == ([(name, 50), (f"{name} (pooled)", 9)], 1)


def test_numbers_are_binned_by_quantiles_or_edges_and_few_are_taken_as_they_are():
    ages = np.arange(200) % 100
    assert sample_of(ages, name="age:4") == (
        [("0 to 24", 50), ("25 to 49", 50), ("50 to 74", 50), ("75 to 99", 50)],
        0,
    )
    assert sample_of(ages, name="age:18|65") == (
        [("under 18", 36), ("18 to under 65", 94), ("65 and over", 70)],
        0,
    )
    assert sample_of(ages, name="age:65|")[0] == [("under 65", 130), ("65 and over", 70)]
    assert len(sample_of(ages)[0]) == 5
    assert sample_of(ages % 3 + 9)[0] == [("9", 68), ("10", 66), ("11", 66)]
    assert sample_of(ages.astype(str), name="age:2") == sample_of(ages, name="age:2")
    assert sample_of(np.repeat(np.arange(20), 10), name="code:each", smallest_group=10)[1] == 0


def test_columns_are_crossed_on_request(planted):
    truth, models, site = planted
    sex = np.random.default_rng(4).choice(["F", "M"], ROWS)
    result = compared(truth, models, {"site*sex": (site, sex)})
    assert result.by[0].column == "site*sex"
    assert {each.name for each in result.by[0].groups} == {f"{a}, {b}" for a in set(site) for b in "FM"}
    assert any("East and sex is F" in flag for flag in flags(result))


@pytest.mark.parametrize(
    ("by", "fields", "words"),
    [
        ({"site": [1, 2]}, {"argument": "by['site']", "value": (2,)}, "(9,)"),
        ({"site*sex": [1] * 9}, {"argument": "by", "place": "by['site*sex']"}, "2 columns"),
        ({"age:1": [1] * 9}, {"argument": "by", "value": "age:1"}, "2 to 100"),
        ({"age:9|3": [1] * 9}, {"argument": "by", "value": "age:9|3"}, "rising"),
        ({"age:3": ["x"] * 9}, {"value": "x"}, "'age'"),
        ({"*": [1] * 9}, {"argument": "by", "value": "*"}, "site*sex"),
    ],
)
def test_what_cannot_be_grouped_is_said(by, fields, words):
    truth, models = simulated(9)
    with refused(**fields, says=words):
        compare(truth, models, by=by)
