"""The verdict: what the data settle, what recalibrating changes, and how many more cases it takes."""

import numpy as np
import pytest
from asked import compare_with
from refusals import refused
from scipy.stats import ttest_1samp
from simulated_models import calibrated, sharpened

from pandora_regret import Fixed, InputError, expected_search_cost
from pandora_regret.calibrate import recalibrate, recalibration
from pandora_regret.comparison import cases_needed, compare
from pandora_regret.core.inputs import read_forecast

PRICES = [380.0, 120.0, 90.0]


def truth_of(rows, seed=0):
    return np.random.default_rng(seed).integers(0, 3, rows)


def compared(truth, models, **options):
    return compare_with(truth, models, **{"costs": PRICES, "currency": "USD"} | options)


def test_a_model_is_deployed_only_if_it_is_told_apart_from_every_other():
    truth = truth_of(2000)
    models = {"sharp": calibrated(truth, 2.0, 1), "vague": calibrated(truth, 1.0, 2)}
    settled = compared(truth, models).verdict
    assert (settled.kind, settled.leader, settled.undecided, settled.cases_needed) == ("deploy", "sharp", (), None)
    open_ = compared(truth, models | {"twin": calibrated(truth, 2.0, 3)}).verdict
    assert open_.kind == "undecided"
    assert {open_.leader, *open_.undecided} == {"sharp", "twin"}
    assert f"{open_.leader} and {open_.undecided[0]}" in open_.sentences[0]
    assert any(sentence.startswith("vague") for sentence in open_.sentences)


def test_the_model_that_other_metrics_would_choose_is_named_with_its_price():
    truth = truth_of(400)
    careful, bold = (np.where(np.eye(3)[truth] > 0, sure, (1 - sure) / 2) for sure in (0.42, 0.9998))
    bold[::10] = np.roll(bold[::10], 1, axis=1)  # it is right nine times in ten, and then certain
    found = compared(truth, {"careful": careful, "bold": bold}, recalibrate=None)
    [sentence] = found.disagreements
    assert found.best.name == "bold"
    assert sentence.startswith("Against careful,")
    for metric in ("log loss", "accuracy", "macro-F1", "bold saves $"):
        assert metric in sentence


def nearly_alike(truth, spread, names="abcd"):
    """Forecasters that differ by next to nothing, as bookmakers do."""
    rng, base = np.random.default_rng(7), calibrated(truth, 1.5, 1)
    return {name: sharpened(base * np.exp(spread * rng.normal(size=base.shape)), 1.0) for name in names}


class TestLevel:
    """Models that differ by less than is worth acting on, whatever the sign."""

    def test_forecasters_within_a_thousandth_are_level_though_one_is_surely_the_cheapest(self):
        truth = truth_of(20_000)
        models = nearly_alike(truth, 0.01) | {"late": sharpened(calibrated(truth, 1.5, 1), 0.9)}
        result = compared(truth, models)
        costs = [model.cost for model in result.models]
        assert max(costs) / min(costs) < 1.001
        assert result.differences[3].high < 0  # the last is not the cheapest
        decision = result.verdict
        assert (decision.kind, len(decision.level), decision.undecided) == ("level", 4, ())
        assert decision.cases_needed is None
        assert not any("more cases" in sentence or "probability" in sentence for sentence in decision.sentences)

    def test_beside_a_worse_model_they_are_level_with_the_one_to_deploy(self):
        truth = truth_of(3000)
        decision = compared(truth, nearly_alike(truth, 0.01, "ab") | {"vague": calibrated(truth, 1.0, 2)}).verdict
        (twin,) = decision.level
        assert (decision.kind, decision.undecided) == ("deploy", ())
        assert decision.sentences[1].startswith(f"{twin} is level")
        assert "vague" in decision.sentences[2]

    def test_the_margin_is_an_amount_or_a_share_of_the_lowest_cost(self):
        truth = truth_of(3000)
        models = nearly_alike(truth, 0.2, "ab")
        gap = -compared(truth, models).differences[0].low
        kinds = {
            worth: compared(truth, models, worth=worth).verdict for worth in (1.01 * gap, 0.99 * gap, "1%", 0)
        }
        assert [each.kind for each in kinds.values()][:2] == ["level", "undecided"]
        cost = compared(truth, models).best.cost
        assert kinds["1%"].margin == pytest.approx(0.01 * cost)
        assert (kinds[0].margin, kinds[0].share, kinds[0].cases_needed) == (0.0, None, None)
        assert compared(truth, models, worth="0,5 %").verdict.margin == pytest.approx(0.005 * cost)

    @pytest.mark.parametrize("worth", ["much", -1, "-1%", float("nan"), None, float("inf")])
    def test_what_is_no_margin_is_refused(self, worth):
        with refused(argument="worth", value=worth):
            compared(truth_of(30), nearly_alike(truth_of(30), 0.1), worth=worth)

    @pytest.mark.parametrize(("worth", "readings"), [("1,250", ["1250", "1.25"]), ("1.125", ["1125", "1.1250"])])
    def test_an_amount_of_two_readings_is_refused_with_both(self, worth, readings):
        with refused(argument="worth", value=worth) as caught:
            compared(truth_of(30), nearly_alike(truth_of(30), 0.1), worth=worth)
        assert [word for word in caught.value.fix.split() if word[0].isdigit()] == readings

    def test_what_the_readings_are_written_as_is_taken(self):
        for worth, margin in (
            ("1250", 1250.0),
            ("1.1250", 1.125),
            ("1,25", 1.25),
            ("0,125", 0.125),
            (1.125, 1.125),
        ):
            found = compared(truth_of(30), nearly_alike(truth_of(30), 0.1), worth=worth)
            assert found.verdict.margin == margin

    @pytest.mark.parametrize(("cases", "kind"), [(299, "undecided"), (301, "level")])
    def test_the_same_model_twice_is_level_unless_too_few_cases_were_seen(self, cases, kind):
        truth = truth_of(cases)
        same = calibrated(truth, 1.5, 1)
        assert compared(truth, {"one": same, "again": same}).verdict.kind == kind


class TestStake:
    """What it costs on average to deploy the leader, as far as the data can tell."""

    @pytest.mark.parametrize("bootstrap", [0, 4000])
    def test_is_the_expected_cost_of_choosing_in_error(self, bootstrap):
        """By drawing what all costs may be from a normal of their own covariance."""
        truth = truth_of(500)
        models = {str(seed): calibrated(truth, 1.5, seed) for seed in range(4)}
        result = compared(truth, models, bootstrap=bootstrap)
        tables = (models[model.name] for model in result.models)
        costs = [expected_search_cost(truth, table, costs=PRICES, per_instance=True) for table in tables]
        about = np.mean(costs, axis=1), np.cov(costs) / 500
        draws = np.random.default_rng(99).multivariate_normal(*about, 400_000)
        expected = np.maximum(0.0, draws[:, 0] - draws[:, 1:].min(axis=1)).mean()
        assert result.verdict.stake == pytest.approx(expected, rel=0.05 if bootstrap == 0 else 0.15)


class TestRecalibration:
    """A property of the model that is chosen, unless it changes which one that is."""

    def test_what_it_saves_the_leader_is_one_sentence(self):
        truth = truth_of(4000)
        models = {"bold": sharpened(calibrated(truth, 2.0, 1), 4.0), "vague": calibrated(truth, 1.0, 2)}
        decision = compared(truth, models).verdict
        assert (decision.kind, decision.leader, decision.recalibrated) == ("deploy", "bold", False)
        assert sum("ecalibrat" in sentence for sentence in decision.sentences) == 1

    def test_a_loser_that_would_only_catch_up_changes_nothing(self):
        truth = truth_of(4000)
        models = {"deepnet": calibrated(truth, 1.5, 1), "vendorA": sharpened(calibrated(truth, 1.52, 2), 5.0)}
        decision = compared(truth, models).verdict
        assert (decision.kind, decision.leader, decision.recalibrated) == ("deploy", "deepnet", False)
        assert not any("ecalibrat" in sentence for sentence in decision.sentences)

    def test_where_another_model_is_then_the_cheapest_all_are_compared_recalibrated(self):
        truth = truth_of(4000)
        models = {"deepnet": calibrated(truth, 1.5, 1), "vendorA": sharpened(calibrated(truth, 1.7, 2), 5.0)}
        site = np.arange(4000) % 2
        result = compared(truth, models | {"vague": calibrated(truth, 1.0, 3)}, by={"site": site})
        decision, cost = result.verdict, {model.name: model.recalibrated.cost.value for model in result.models}
        assert result.best.name == "deepnet"
        assert (decision.kind, decision.leader, decision.recalibrated) == ("deploy", "vendorA", True)
        assert f"${cost['vendorA']:.0f}" in decision.sentences[0]
        assert "deepnet" in decision.sentences[1]
        assert sum("deepnet is ahead" in sentence for sentence in decision.sentences) == 1
        gaps = {model.name: model.recalibrated.against_best.value for model in result.models}
        assert gaps == pytest.approx({name: each - cost["vendorA"] for name, each in cost.items()})
        rows = [model.cost.value for group in result.by[0].groups for model in group.models]
        assert np.mean(np.reshape(rows, (2, 3)), axis=0) == pytest.approx(list(cost.values()))
        beyond = {each.leader for price in result.break_even for each in (price.below, price.above) if each}
        assert beyond <= {"deepnet"}


def weights(rows):
    return np.random.default_rng(5).uniform(0.5, 2, rows)


@pytest.mark.parametrize(
    "options",
    [{}, {"groups": np.arange(60) // 3}, {"sample_weight": weights(60)}, {"costs": [300.0, 40.0, 10.0]}],
    ids=["alone", "groups", "weights", "uneven prices"],
)
def test_what_recalibrating_saves_is_what_recalibrate_says_of_the_same_cases(options):
    """Its interval is that of new cases and of a map from another sample, not that of these rows alone."""
    truth = truth_of(60)
    table = sharpened(calibrated(truth, 1.5, 1), 3.0)
    saved = compared(truth, {"a": table}, **options).best.recalibrated.saved
    expected = recalibrate(truth, table, **{"costs": PRICES} | options).saved
    assert saved.value == pytest.approx(expected.value, rel=1e-6)
    assert (saved.low, saved.high) == pytest.approx((expected.low, expected.high), rel=1e-6)


def test_votes_are_recalibrated_as_recalibrate_does():
    rng = np.random.default_rng(2)
    votes = rng.multinomial(5, [0.6, 0.3, 0.1], size=50)
    table = sharpened(rng.dirichlet([3.0, 2.0, 1.0], 50), 3.0)
    saved = compared(votes, {"a": table}).best.recalibrated.saved
    expected = recalibrate(votes, table, costs=PRICES).saved
    assert (saved.value, saved.low, saved.high) == pytest.approx(
        (expected.value, expected.low, expected.high), rel=1e-6
    )


def test_many_units_show_by_themselves_what_recalibrating_saves(monkeypatch):
    truth = truth_of(60)
    models = {"a": sharpened(calibrated(truth, 1.5, 1), 3.0)}
    costs = [300.0, 40.0, 10.0]
    of_few = compared(truth, models, costs=costs).best.recalibrated.saved
    monkeypatch.setattr(recalibration, "ENOUGH_UNITS", 59)
    of_many = compared(truth, models, costs=costs).best.recalibrated.saved
    assert of_many.value == of_few.value
    assert of_few.low < of_many.low


def test_prices_as_stated_stand_beside_uncertain_ones_and_a_flip_is_said():
    truth = truth_of(12_000)
    models = {"calm": calibrated(truth, 1.5, 1), "bold": sharpened(calibrated(truth, 1.62, 2), 15.0)}
    costs = [100.0, 101.0, 102.0]  # so nearly the same that only the order of probabilities counts
    found = compared(truth, models, costs=costs, recalibrate=None)
    certain = compared(truth, models, costs=costs, prior=Fixed())
    assert (found.best.name, certain.best.name) == ("calm", "bold")
    for model in found.models:
        known = expected_search_cost(truth, models[model.name], costs=costs, prior=Fixed())
        assert model.at_stated_prices.value == pytest.approx(known)
        assert model.at_stated_prices == model.scores["realised_cost"]
    assert any("as stated, bold" in sentence for sentence in found.verdict.sentences)
    assert not any("exactly as stated" in sentence for sentence in certain.verdict.sentences)


def test_models_that_were_scored_against_another_truth_get_no_verdict():
    truth = truth_of(300)
    other = np.where(np.arange(300) < 5, (truth + 1) % 3, truth)
    models = {
        name: read_forecast(seen, calibrated(truth, 1.5, 1))
        for name, seen in (("a", truth), ("b", truth), ("c", other))
    }
    decision = compare(None, models, costs=PRICES).verdict
    [sentence] = decision.sentences
    assert "No verdict" in sentence
    assert " for c " in sentence
    assert (decision.kind, decision.stake) == ("undecided", None)


class TestCasesNeeded:
    """Against simulation: so many cases settle a difference of the margin about as often as was asked."""

    def population(self, rows, seed, skills=(1.55, 1.45)):
        truth = truth_of(rows, seed)
        return truth, {
            name: calibrated(truth, skill, seed + 1000 * n)
            for n, (name, skill) in enumerate(zip("ab", skills, strict=True), 1)
        }

    def gaps(self, rows, seed):
        truth, tables = self.population(rows, seed)
        a, b = (expected_search_cost(truth, table, costs=PRICES, per_instance=True) for table in tables.values())
        return a - b

    @pytest.mark.parametrize("power", [0.5, 0.8])
    def test_power(self, power):
        true_difference = compared(*self.population(60_000, 1), recalibrate=None).differences[0].difference
        pilot = compared(*self.population(600, 1), recalibrate=None)
        rows = 600 + cases_needed(pilot, power, difference=true_difference)
        settled = [ttest_1samp(self.gaps(rows, seed), 0).pvalue < 0.05 for seed in range(2, 162)]
        assert np.mean(settled) == pytest.approx(power, abs=0.12)

    @pytest.mark.parametrize("skills", [(1.5, 1.5), (1.5, 1.47)])
    def test_with_so_many_the_verdict_is_settled_whatever_the_difference(self, skills):
        options = {"worth": "2.5%", "recalibrate": None}
        pilot = compared(*self.population(600, 1, skills), **options)
        assert pilot.verdict.kind == "undecided"
        assert pilot.verdict.cases_needed == cases_needed(pilot)
        rows = int(1.1 * (600 + pilot.verdict.cases_needed))  # as the pilot's spread is known roughly
        kinds = [compared(*self.population(rows, seed, skills), **options).verdict.kind for seed in range(2, 12)]
        assert set(kinds) <= {"level", "deploy"}

    def test_bad_questions_are_refused(self):
        found = compared(*self.population(200, 3))
        with pytest.raises(InputError, match="power"):
            cases_needed(found, 1.0)
        with pytest.raises(InputError, match="'nobody'"):
            cases_needed(found, against="nobody")
