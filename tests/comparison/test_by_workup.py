"""Models compared, scored and reported by what a whole work-up costs."""

import json

import pytest
from cli_files import CLASSES, forecasts, run, run_json, wine_file
from refusals import refused

from pandora_regret import Comparison, Fixed, Uniform, compare
from pandora_regret.report import render_report
from pandora_regret.workup import Workup, workup_cost, workup_entropy, workup_regret

STEPS = {
    "tasting": {"cost": 10, "positive_for": ["barolo"], "sensitivity": 0.8, "specificity": 0.9},
    "laboratory": {"cost": 60, "tells_apart": "all"},
}


WINE = """
title = "A <wine> & its name"
currency = "EUR"
classes = ["barolo", "grignolino", "barbera"]
stops.name.wrong = 200

[steps]
tasting = { cost = 10, positive_for = ["barolo"], sensitivity = 0.8, specificity = 0.9 }
laboratory = { cost = 60, tells_apart = "all" }
"""


@pytest.fixture
def workup():
    return Workup(CLASSES, STEPS, stops={"name": {"wrong": 200}}, currency="EUR", title="A <wine> & its name")


@pytest.fixture
def compared(workup):
    truth, models = forecasts()
    return compare(truth, models, labels=CLASSES, workup=workup)


def test_models_are_ranked_by_the_cost_of_the_work_up(workup, compared):
    truth, models = forecasts()
    costs = {name: workup_cost(truth, p, workup, labels=CLASSES) for name, p in models.items()}
    assert {model.name: pytest.approx(model.cost) for model in compared.models} == costs
    assert compared.best.name == min(costs, key=costs.get)
    best = models[compared.best.name]
    excess = workup_regret(truth, best, workup, labels=CLASSES)
    assert compared.best.cost - compared.best.unavoidable == pytest.approx(excess)
    assert compared.best.predicted_cost.value == pytest.approx(workup_entropy(best, workup, labels=CLASSES))
    assert compared.best.recalibrated.cost.value > 0
    alone = compare(truth, {"tree": models["tree"]}, workup=workup, labels=CLASSES)
    assert alone.headline[0].startswith("A work-up")
    assert compared.metrics[0].title == "Work-up cost"


def test_recalibrating_saves_the_same_by_a_work_up_that_is_a_search_at_known_costs():
    truth, models = forecasts()
    costs = [90.0, 40.0, 20.0]
    tests = {name: {"cost": cost, "confirms": name} for name, cost in zip(CLASSES, costs, strict=True)}
    by_workup = compare(truth, models, labels=CLASSES, workup=Workup(CLASSES, tests))
    by_search = compare(truth, models, labels=CLASSES, costs=costs, prior=Fixed())
    for model, same in zip(by_workup.models, by_search.models, strict=True):
        saved = model.recalibrated.saved
        expected = same.recalibrated.saved
        assert (saved.value, saved.low, saved.high) == pytest.approx(
            (expected.value, expected.low, expected.high), rel=1e-6
        )


def test_a_comparison_by_a_work_up_survives_json_and_makes_a_page(compared):
    again = Comparison.from_dict(json.loads(json.dumps(compared.to_dict())))
    assert again == compared
    page = render_report(again)
    assert "A &lt;wine&gt; &amp; its name" in page
    assert "<wine>" not in page
    assert "data:image/svg+xml;base64," in page
    assert 'id="what-if"' not in page


def test_costs_may_vary_around_those_of_the_work_up(workup):
    truth, models = forecasts()
    varying = compare(truth, models, labels=CLASSES, workup=workup, prior=Uniform())
    expected = workup_cost(truth, models["bayes"], workup, labels=CLASSES, prior=Uniform())
    assert next(model.cost for model in varying.models if model.name == "bayes") == pytest.approx(expected)


def test_prices_of_tests_cannot_stand_beside_a_work_up(workup):
    truth, models = forecasts()
    with refused(argument="costs"):
        compare(truth, models, labels=CLASSES, workup=workup, costs=[1, 2, 3])


def test_the_commands_take_a_work_up(workup, tmp_path, compared):
    path = tmp_path / "wine.toml"
    path.write_text(WINE, encoding="utf-8")
    files = [wine_file(tmp_path, name) for name in ("bayes", "tree")]
    said = run_json("compare", *files, "--workup", path)
    assert said["models"][0]["scores"]["expected_cost"]["value"] == pytest.approx(compared.best.cost)
    assert "the money goes" in run("compare", *files, "--workup", path, "--full").stdout
    scored = run_json("score", files[0], "--workup", path)["models"][0]["scores"]["expected_cost"]
    ours = next(model for model in compared.models if model.name == "bayes").scores["expected_cost"]
    assert scored["value"] == pytest.approx(ours.value)
    assert "Work-up cost" in run("score", files[0], "--workup", path).stdout
    out = tmp_path / "page.html"
    assert run("compare", *files, "--workup", path, "--html", out).exit_code == 0
    assert "data:image/svg+xml;base64," in out.read_text(encoding="utf-8")
    both = run("compare", *files, "--workup", path, "--costs", "barolo=1,grignolino=2,barbera=3")
    assert both.exit_code == 2
    assert "--costs and --workup" in both.stderr
