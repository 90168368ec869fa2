"""The HTML page as text: whole, exact, self-contained, and inert whatever the names. tests/browser looks at it."""

import json
import re
from base64 import b64encode
from dataclasses import replace
from functools import cache
from hashlib import sha256

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from report_pages import Page, compared, forecasts

from pandora_regret import Comparison, ComparisonOptions, InputError, compare, pair_costs
from pandora_regret.comparison.parts import BreakEven, Crossing, RecalibratedModel
from pandora_regret.comparison.request import read_models
from pandora_regret.core.inputs import InputTypeError
from pandora_regret.inference.estimate import Estimate
from pandora_regret.report import render_report, write_report
from pandora_regret.report.page import LIKE_COST, worked_case

pytest.importorskip("jinja2")

NASTY = ["<script>alert(1)</script>", "</script><b>", "\"quotes' & \u2028 ends", "名前 \u202eabc", "long" * 100]


@pytest.fixture(scope="module")
def comparison():
    prices = {"costs": [10.0, 40.0, 20.0, 5.0], "currency": "USD"}
    return compared(4, **prices, scenarios={"dear": [100.0, 40.0, 20.0, 5.0]})


@pytest.fixture(scope="module")
def page(comparison):
    return Page(render_report(comparison))


def test_every_score_of_every_model_is_in_the_page_exactly(comparison, page):
    expected = [[score.value for score in model.scores.values()] for model in comparison.models]
    assert page.numbers("score-table") == np.ravel(expected).tolist()
    first = page.all("small", inside="score-table", class_="range")[0]["attributes"]
    score = comparison.best.scores["pandora_regret"]
    assert [float(first["data-low"]), float(first["data-high"])] == [score.low, score.high]


def test_bars_add_up_to_what_models_cost(comparison, page):
    parts = [float(e["attributes"]["data-value"]) for e in page.all("rect", inside="bars")]
    totals = [float(e["attributes"]["data-value"]) for e in page.all("strong", inside="bars")]
    assert totals == [model.cost for model in comparison.models]
    assert np.reshape(parts, (4, -1)).sum(axis=1) == pytest.approx(totals, rel=1e-12)
    assert parts[0] == comparison.best.unavoidable


def test_recalibration_is_a_part_of_the_bar_and_never_more_than_the_waste(comparison):
    nothing = Estimate(0.0, 0.0, 0.0)
    waste = comparison.best.cost - comparison.best.unavoidable
    for saved, shown in ((waste / 2, waste / 2), (-1.0, 0.0), (2 * waste, waste)):
        again = RecalibratedModel("temperature", nothing, Estimate(saved, None, None), nothing)
        models = (replace(comparison.best, recalibrated=again), *comparison.models[1:])
        page = Page(render_report(replace(comparison, models=models)))
        part = page.all("rect", inside="bars", class_="recal")[0]
        assert float(part["attributes"]["data-value"]) == pytest.approx(shown)
        assert "by recalibrating" in page.all("figure")[0]["text"]


def test_the_dearest_wrong_tests_come_first_and_the_rest_is_counted():
    truth, proba = forecasts(np.random.default_rng(1))
    costs = [10.0, 40.0, 20.0, 5.0]
    page = Page(render_report(compare(truth, {"one": proba}, costs=costs)))
    spent = np.sort(pair_costs(truth, proba, costs=costs)[~np.eye(4, dtype=bool)])[::-1]
    rest = spent[10:].sum()
    assert page.numbers("wrong-test-table") == pytest.approx([*spent[:10], rest], rel=1e-12)


def test_tables_behind_scenarios_and_ranks_hold_the_comparison(comparison, page):
    assert page.numbers("scenario-grid") == [value for model in comparison.models for value in model.scenarios]
    shown = ["expected_cost", *(key for key in comparison.ranks if key not in ("expected_cost", *LIKE_COST))]
    assert page.numbers("rank-table") == [comparison.ranks[key][i] for i in range(4) for key in shown]
    assert page.numbers("calibration-0")[0] == comparison.best.calibration[0].predicted


def test_the_comparison_can_be_read_back_out_of_the_page(comparison, page):
    (island,) = page.all("script", id="comparison")
    assert Comparison.from_dict(json.loads(island["text"])) == comparison


def test_nothing_is_loaded_and_only_the_page_s_own_script_may_run(page):
    (policy,) = [e for e in page.all("meta") if e["attributes"].get("http-equiv") == "Content-Security-Policy"]
    (style,), (script,) = page.all("style"), page.all("script", type="module")
    for text in (style["text"], script["text"]):
        assert b64encode(sha256(text.encode()).digest()).decode() in policy["attributes"]["content"]
    assert "default-src 'none'" in policy["attributes"]["content"]
    links = [e["attributes"].get(key) for e in page.elements for key in ("src", "href") if key in e["attributes"]]
    assert all(link.startswith(("#", "data:")) for link in links)
    assert not re.search(r"url\(|@import|https?:", style["text"] + script["text"])
    assert not [e for e in page.elements if "style" in e["attributes"]]  # the policy would not let it through


def test_links_labels_and_descriptions_point_at_something_once(page):
    ids = [e["attributes"]["id"] for e in page.elements if "id" in e["attributes"]]
    assert len(ids) == len(set(ids))
    for element in page.elements:
        named = element["attributes"]
        pointers = " ".join(named.get(key, "") for key in ("aria-labelledby", "aria-describedby", "for", "list"))
        targets = [*pointers.split(), *re.findall(r"^#(.+)", named.get("href", ""))]
        assert set(targets) <= set(ids), element


def test_tables_have_captions_and_charts_have_words(page):
    assert len(page.all("caption")) == len(page.all("table"))
    for chart in page.all("svg"):
        hidden = chart["attributes"].get("aria-hidden") == "true"
        assert hidden or (chart["attributes"]["role"] == "img" and chart["attributes"]["aria-labelledby"])


@cache
def tags_of_a_plain_page():
    return [e["tag"] for e in Page(render_report(compared(names=list("abc"), labels=list("wxyz")))).elements]


@pytest.mark.slow
@settings(max_examples=25)
@given(st.lists(st.text(min_size=1, max_size=30), min_size=4, max_size=4, unique=True))
@example(NASTY[:4])
@example(NASTY[1:])
@example(["{{ 7 * 7 }}", "{% raw %}", "--><!--", "]]>"])
@example(["\x00", "\ud800", " ", "a\r\nb"])
def test_names_are_text_wherever_they_stand(names):
    page = Page(render_report(compared(names=names[:3], labels=names)))
    assert [e["tag"] for e in page.elements] == tags_of_a_plain_page()
    (island,) = page.all("script", id="comparison")
    assert {model["name"] for model in json.loads(island["text"])["models"]} == set(names[:3])
    shown = {re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]", "\ufffd", name) for name in names[:3]}
    assert {e["text"] for e in page.all("bdi", inside="model-table")} == shown
    assert "\u2028" not in island["text"]
    assert "<" not in island["text"]


def test_a_name_cannot_turn_the_sentences_it_stands_in():
    page = Page(render_report(compared(names=["a\u202eb", "c"])))
    (said,) = page.all("div", id="verdict")
    assert "ab" in said["text"]
    assert "\u202e" not in said["text"]


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ({"schema": "pandora-comparison/9"}, InputError, "pandora-comparison/9"),
        ({}, InputError, "schema None"),
        ([1, 2], InputTypeError, "comparison is list"),
    ],
)
def test_what_is_no_comparison_is_said(given, error, says, tmp_path):
    with pytest.raises(error, match=says):
        write_report(given, tmp_path / "page.html")
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_twenty_models_of_ten_classes_stay_under_one_and_a_half_megabytes(tmp_path):
    labels = [f"a class of some length, number {k}" for k in range(10)]
    big = compared(20, 10, labels=labels, rows=3000, costs=np.arange(10.0, 20.0), currency="USD")
    assert big.sample.rows > 1400
    assert write_report(big, tmp_path / "page.html").stat().st_size < 1.5e6


def test_the_worked_case_is_one_that_the_best_model_finds_for_less(comparison, page):
    case = worked_case(comparison)
    first, second = case["plans"]
    assert [plan["model"] for plan in case["plans"]] == [model.name for model in comparison.models[:2]]
    assert first["spent"] < second["spent"]
    for plan in case["plans"]:
        tested = [number for number, _ in plan["steps"]]
        assert comparison.data.classes[tested[-1]] == case["truth"]
        assert sum(comparison.costs.typical[number] for number in tested) == plan["spent"]
        assert len(tested) + plan["never"] == 4
    assert page.all("bdi", id="case-truth")[0]["text"] == case["truth"]


@pytest.mark.parametrize(
    ("lost", "sentence"),
    [
        (Estimate(1e-15, -1e-15, 1e-15), "would save nothing"),
        (Estimate(-0.3, -0.5, 0.1), "would save nothing"),
        (Estimate(1.25, -0.5, 3.0), "might save $1.25"),
        (Estimate(1.25, 0.5, 2.0), "saves $1.25"),
    ],
)
def test_rounding_noise_is_no_saving(comparison, lost, sentence):
    """1e-15 was once printed as "$0.00 would go away"."""
    best = replace(comparison.best, recalibrated=replace(comparison.best.recalibrated, saved=lost))
    page = Page(render_report(replace(comparison, models=(best, *comparison.models[1:]))))
    (panel,) = page.all("article", id="panel-0")
    assert sentence in panel["text"]


@pytest.fixture(scope="module")
def sixty():
    return compared(60, costs=[10.0, 40.0, 20.0, 5.0])


@pytest.mark.slow
def test_beyond_fifty_models_the_page_shows_the_ends_and_those_asked_for(sixty):
    names = [model.name for model in sixty.models]
    page = Page(render_report(sixty, show=[names[45]]))
    shown = [e["text"] for e in page.all("bdi", inside="model-table")]
    assert shown == [*names[:40], names[45], *names[-10:]]
    (sentence,) = page.all("p", class_="left-out")
    shows = (
        "Of 60 models this page shows the 40 cheapest, the 10 most expensive and 1 that was asked for, or cheapest"
    )
    assert shows in sentence["text"]
    assert "60 models" in page.all("p", class_="byline")[0]["text"]
    (island,) = page.all("script", id="comparison")
    assert [model.name for model in Comparison.from_dict(json.loads(island["text"])).models] == shown


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda data: data["models"][0].update(decomposition={}), r"models\[0\].decomposition "),
        (lambda data: data["ranks"].pop("log_loss"), "ranks.log_loss does"),
        (lambda data: data["costs"]["typical"].__setitem__(0, 0), r"costs.typical\[0\] is 0: "),
        (lambda data: data["costs"]["typical"].append(1), "typical costs does"),
        (lambda data: data["models"][0]["scores"].pop("tests"), r"models\[0\].scores "),
        (lambda data: data["data"].update(rows="80"), "data.rows is '80': "),
    ],
)
def test_a_saved_comparison_whose_parts_do_not_fit_is_refused(comparison, spoil, message):
    data = json.loads(json.dumps(comparison.to_dict()))
    spoil(data)
    with pytest.raises(InputError, match=message):
        render_report(data)


def test_orders_without_probabilities_make_a_page_without_live_prices():
    truth, proba = forecasts(np.random.default_rng(3))
    models = {
        name: replace(each, order_only=True)
        for name, each in read_models(truth, {"a": proba, "b": proba[:, ::-1]}).items()
    }
    page = Page(render_report(compare(None, models)))
    assert page.all("ol", id="bars")
    assert page.all("div", id="year")
    assert not page.all("section", id="prices") + page.all("section", id="case")


def test_cases_can_be_left_out_of_the_page(comparison):
    page = Page(render_report(comparison, cases=False))
    (island,) = page.all("script", id="comparison")
    assert "sample" not in json.loads(island["text"])
    assert not page.all("section", id="prices") + page.all("section", id="case")
    assert not page.all("section", id="no-prices")


def test_a_page_that_cannot_hold_cases_of_every_class_says_so():
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.ones(500), 1200)
    comparison = compare(
        rng.integers(500, size=1200),
        {"a": proba, "b": proba[:, ::-1]},
        options=ComparisonOptions(recalibrate=None),
    )
    assert (comparison.sample, comparison.not_sampled) == (None, "size")
    page = Page(render_report(comparison))
    (section,) = page.all("section", id="no-prices")
    assert "500 classes" in section["text"]
    assert not page.all("section", id="prices")


@pytest.fixture(scope="module")
def by_site():
    rng = np.random.default_rng(6)
    site = np.array(["North", "South", "<East>"])[rng.integers(3, size=600)]
    truth, proba = forecasts(rng, rows=600)
    failing = np.where((site == "<East>")[:, None], 0.25, proba)
    return compare(truth, {"good": proba, "fails": failing}, by={"site": site}, currency="USD", costs=[9.0] * 4)


def test_groups_are_drawn_side_by_side_and_flags_are_said(by_site):
    page = Page(render_report(by_site))
    (section,) = page.all("section", class_="groups")
    groups = by_site.by[0].groups
    costs = [model.cost.value for group in groups for model in group.models]
    shown = [float(e["attributes"]["data-value"]) for e in page.all("td", class_="strip")]
    assert shown[: len(costs)] == costs
    flags = [flag for group in groups for flag in group.flags]
    assert flags
    assert all(flag in section["text"] for flag in flags)
    red = [e for e in page.all("circle") if "flagged" in e["attributes"].get("class", "")]
    assert len(red) == sum(len(group.flagged) for group in groups) > 0


def test_models_called_like_words_of_a_sentence_are_not_drawn_as_standing_out():
    rng = np.random.default_rng(6)
    site = rng.integers(3, size=600)
    truth, good = forecasts(rng, rows=600)
    vague = 0.9 * good + 0.1 / good.shape[1]
    models = {"the": good, "is": vague, "fails": np.where((site == 2)[:, None], 0.25, good)}
    result = compare(truth, models, by={"site": site.astype(str)}, costs=[9.0] * 4)
    assert {name for group in result.by[0].groups for name in group.flagged} == {"fails"}
    page = Page(render_report(result))
    red = [e for e in page.all("circle") if "flagged" in e["attributes"].get("class", "")]
    assert len(red) == 1


def test_prices_that_change_the_leader_come_first_with_their_marks(comparison):
    other = comparison.models[1].name
    below, above = Crossing(2.5, 2.0, 3.1, other), Crossing(15.0, None, None, other)
    flip = BreakEven(comparison.data.classes[3], 5.0, below, above)
    page = Page(render_report(replace(comparison, break_even=(flip,))))
    first = next(e for e in page.all("li") if "data-class" in e["attributes"])
    assert first["attributes"]["data-class"] == "3"
    assert first["text"].index(other) < first["text"].index("$2.50 (2.00 to 3.10)")
    assert "$15" not in first["text"]  # where the data do not settle it
    marks = [e["attributes"] for e in page.all("rect") if "mark" in e["attributes"]["class"].split()][:2]
    assert [mark["data-value"] for mark in marks] == ["2.5", ""]
    assert round(float(marks[0]["x"].rstrip("%")), 1) == 34.9


def test_without_jinja2_one_line_says_what_to_install(comparison, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"pip install 'pandora-regret\[report\]'"):
        write_report(comparison, tmp_path / "page.html")


def test_undefined_numbers_are_dashes():
    truth, proba = forecasts(np.random.default_rng(2))
    certain = np.eye(4)[(truth + (np.arange(len(truth)) % 5 == 0)) % 4]
    page = Page(render_report(compare(truth, {"certain": certain, "doubtful": proba})))
    undefined = [e for e in page.all("td", inside="score-table") if e["attributes"].get("data-value") == ""]
    assert [e["text"].strip() for e in undefined] == ["–"]  # the log loss
