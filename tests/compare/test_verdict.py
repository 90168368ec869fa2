"""The verdict: what the data settle, what recalibrating changes, and how many more cases it takes."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import ttest_1samp
from simulated_models import calibrated, sharpened

from pandora_regret import Fixed, InputError, expected_search_cost
from pandora_regret.calibrate import decompose
from pandora_regret.compare import cases_needed, compare
from pandora_regret.compare.verdict import Evidence, verdict
from pandora_regret.inference.estimate import Estimate

PRICES = [380.0, 120.0, 90.0]


def truth_of(rows, seed=0):
    return np.random.default_rng(seed).integers(0, 3, rows)


def compared(truth, models, **options):
    return compare(truth, models, **{"costs": PRICES, "currency": "USD"} | options)


def test_a_model_is_deployed_only_if_it_is_told_apart_from_every_other():
    truth = truth_of(2000)
    models = {"sharp": calibrated(truth, 2.0, 1), "vague": calibrated(truth, 1.0, 2)}
    settled = compared(truth, models).verdict
    assert (settled.kind, settled.leader, settled.undecided, settled.cases_needed) == ("deploy", "sharp", (), None)
    assert settled.sentences[0].startswith("Deploy sharp: its search costs $")
    open_ = compared(truth, models | {"twin": calibrated(truth, 2.0, 3)}).verdict
    assert open_.kind == "undecided"
    assert {open_.leader, *open_.undecided} == {"sharp", "twin"}
    assert " cannot be told apart yet: about " in open_.sentences[0]
    assert open_.sentences[0].endswith(" more cases would settle a difference of this size (80 % power).")
    assert open_.sentences[1] == f"vague costs more than {open_.leader}."
    assert not any("Deploy" in sentence for sentence in open_.sentences)


def test_an_overconfident_loser_is_recalibrated_first():
    truth = truth_of(4000)
    models = {"deepnet": calibrated(truth, 1.5, 1), "vendorA": sharpened(calibrated(truth, 1.52, 2), 5.0)}
    found = compared(truth, models)
    verdict, (deepnet, vendor) = found.verdict, found.models
    assert (deepnet.name, vendor.name) == ("deepnet", "vendorA")
    assert found.differences[0].is_settled
    assert (verdict.kind, verdict.leader, verdict.recalibrate) == ("recalibrate", "deepnet", ("vendorA",))
    assert verdict.sentences[0].startswith("Recalibrate vendorA first: it then costs no more than deepnet ($")
    assert verdict.sentences[1].startswith("As it is, vendorA costs $")
    assert vendor.recalibrated.saved.low > 0
    assert vendor.recalibrated.against_leader.value <= 0 < vendor.recalibrated.against_leader.high
    assert vendor.cost - vendor.recalibrated.saved.value == pytest.approx(vendor.recalibrated.cost.value)


@pytest.mark.parametrize("twin", [False, True])
def test_too_few_cases_to_tell_a_recalibrated_loser_apart_are_no_reason_to_prefer_it(twin):
    truth = truth_of(400, seed=3)
    models = {"deepnet": calibrated(truth, 1.5, 13), "vendorA": sharpened(calibrated(truth, 1.4, 23), 6.0)}
    found = compared(truth, models | ({"twin": calibrated(truth, 1.5, 14)} if twin else {}))
    later = next(model for model in found.models if model.name == "vendorA").recalibrated
    assert later.saved.low > 0
    assert later.against_leader.low < 0 < later.against_leader.value
    assert (found.verdict.kind, found.verdict.recalibrate) == ("undecided" if twin else "deploy", ())
    said = f"Recalibrated, vendorA costs ${later.cost.value:.0f} per case and could not be told apart from "
    assert found.verdict.sentences[-1] == f"{said}{found.verdict.leader}."


class TestDoubtfulGaps:
    """What recalibrating makes of a model counts only as far as its intervals can be trusted."""

    def verdict(self, gap, skills, boldness):
        """Of two models, where both recalibrated gaps of the dearer one are replaced."""
        truth = truth_of(2000)
        models = {
            "deepnet": calibrated(truth, skills[0], 1),
            "vendorA": sharpened(calibrated(truth, skills[1], 2), boldness),
        }
        found = compared(truth, models)
        leader, other = found.models
        later = replace(other.recalibrated, against_leader=gap, saved=Estimate(20.0, 15.0, 25.0))
        models = (leader, replace(other, recalibrated=later))
        return verdict(Evidence(models, found.differences, {other.name: gap}, 2000, None, 0.95, "USD"))

    @pytest.mark.parametrize(
        ("gap", "lifted"),
        [
            (Estimate(-9.0, -15.0, -3.0), True),
            (Estimate(-9.0, -15.0, 3.0), True),
            (Estimate(-9.0, -15.0, 3.0, warning="2 of 2000 cases make it up"), False),
            (Estimate(-9.0, None, None), False),
            (Estimate(9.0, -3.0, 15.0), False),
        ],
    )
    def test_of_a_dearer_model(self, gap, lifted):
        found = self.verdict(gap, (1.8, 1.4), 3.0)
        assert found.undecided == ()
        assert found.kind == ("recalibrate" if lifted else "deploy")
        assert found.recalibrate == (("vendorA",) if lifted else ())

    @pytest.mark.parametrize(
        ("gap", "lifted"),
        [
            (Estimate(-9.0, -15.0, -3.0), True),
            (Estimate(-9.0, -15.0, -3.0, warning="2 of 2000 cases make it up"), False),
            (Estimate(-9.0, -15.0, 3.0), False),
        ],
    )
    def test_of_a_model_that_was_not_told_apart(self, gap, lifted):
        found = self.verdict(gap, (1.5, 1.5), 1.0)
        assert len(found.undecided) == 1
        assert found.kind == ("recalibrate" if lifted else "undecided")


def test_a_recalibrated_self_is_what_temperature_scaling_out_of_fold_would_cost():
    truth = truth_of(900)
    table = sharpened(calibrated(truth, 1.5, 1), 3.0)
    groups = np.arange(900) // 3
    for given in ({}, {"groups": groups}, {"sample_weight": np.random.default_rng(5).uniform(0.5, 2, 900)}):
        model = compared(truth, {"a": table}, **given).best
        terms = decompose(truth, table, costs=PRICES, method="temperature", **given)
        saved, reference = model.recalibrated.saved, terms.miscalibration
        assert saved.value == pytest.approx(reference.value, rel=1e-5)
        assert saved.low == pytest.approx(reference.low, rel=1e-5)


def test_prices_as_stated_stand_beside_uncertain_ones_and_a_flip_is_said():
    truth = truth_of(3000)
    models = {"calm": calibrated(truth, 1.5, 1), "bold": sharpened(calibrated(truth, 1.55, 2), 9.0)}
    costs = [100.0, 101.0, 102.0]  # so nearly the same that only the order of probabilities counts
    found = compared(truth, models, costs=costs)
    certain = compared(truth, models, costs=costs, prior=Fixed())
    assert (found.best.name, certain.best.name) == ("calm", "bold")
    for model in found.models:
        known = expected_search_cost(truth, models[model.name], costs=costs, prior=Fixed())
        assert model.at_stated_prices.value == pytest.approx(known)
        assert model.at_stated_prices == model.scores["realised_cost"]
    said = "If prices are exactly as stated, bold is the cheapest: $"
    assert any(sentence.startswith(said) for sentence in found.verdict.sentences)
    assert not any("exactly as stated" in sentence for sentence in certain.verdict.sentences)
    unpriced = compare(truth, models)
    assert not any("exactly as stated" in sentence for sentence in unpriced.verdict.sentences)


class TestCasesNeeded:
    """Against simulation: so many cases settle a difference of this size about as often as was asked."""

    def population(self, rows, seed):
        truth = truth_of(rows, seed)
        return truth, {"a": calibrated(truth, 1.55, seed + 1000), "b": calibrated(truth, 1.45, seed + 2000)}

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

    def test_a_settled_difference_takes_no_more(self):
        truth = truth_of(60)
        models = {"sharp": calibrated(truth, 2.0, 1), "vague": calibrated(truth, 1.2, 2)}
        found = compared(truth, models)
        assert found.differences[0].is_settled
        assert cases_needed(found, 0.9999) == 0
        assert cases_needed(found, 0.9999, difference=found.differences[0].difference) > 0

    def test_bad_questions_are_refused(self):
        found = compared(*self.population(200, 3))
        with pytest.raises(InputError, match="power"):
            cases_needed(found, 1.0)
        with pytest.raises(InputError, match="'nobody'"):
            cases_needed(found, against="nobody")
