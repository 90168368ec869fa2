"""Runbooks: searches in one line, names escaped in Markdown, Mermaid and HTML, and trees that fit on a page."""

import json
import re

import numpy as np
import pytest
from refusals import refused
from workups import names, noisy_test

from pandora_regret.workup import Workup, learn_workup, plan_workup
from pandora_regret.workup.runbook import markdown, mermaid
from pandora_regret.workup.words import search_line

NASTY = '</script><img src=x onerror=alert(1)>"|]*_`#;\\'


def incident(n_classes=6, name="part"):
    rng = np.random.default_rng(3)
    classes = names(n_classes, name)
    steps = {
        f"ask {test}": noisy_test(classes, rng.choice([0.05, 0.2, 0.8, 0.9], n_classes), 1 + test)
        for test in range(3)
    }
    steps |= {f"look at {k}": {"cost": 9.0 + k, "confirms": classes[k]} for k in range(n_classes)}
    return Workup(classes, steps, stops={"restart": {"loss": 60.0}}, unit="minutes", title="An incident")


def plan(workup):
    return plan_workup(np.full(len(workup.classes), 1 / len(workup.classes)), workup)


def test_a_search_is_one_line():
    classes = names(8, "part")
    costs = [2.0, 3.0, 4.0, 10.0, 20.0, 30.0, 40.0, 50.0]
    steps = {f"look at {k}": {"cost": costs[k], "confirms": name} for k, name in enumerate(classes)}
    workup = Workup(classes, steps, stops={"restart": {"loss": 30.0}})
    found = plan(workup)
    line = search_line(found.tree)
    assert [step.name for step in line.steps] == ["look at 0", "look at 1", "look at 2"]
    assert line.last.name == "restart"
    [after_no] = [text for text in found.to_text().splitlines() if text.lstrip().startswith("no ")]
    assert after_no.endswith("look at 1 (3), then look at 2; after these 2 restart")
    assert search_line(plan(incident()).tree) is None


def test_what_is_next_comes_with_what_is_likely_and_two_alternatives():
    text = plan(incident()).to_text().splitlines()
    assert text[0].startswith("Likeliest: ")
    [alternatives] = [line for line in text if line.startswith("Alternatives")]
    assert alternatives.count("(+") == 2
    assert "(+0 min)" not in alternatives


def test_beside_an_interval_alternatives_say_only_what_they_cost_more():
    """The plan's cost is rounded by its interval there, so that totals would not add up."""
    past = {"fault": ["a"] * 6 + ["b"] * 6, "noise": ["yes"] * 5 + ["no"] * 7, "heat": ["yes"] * 2 + ["no"] * 10}
    found = plan_workup(None, learn_workup(past, "fault", {"noise": 1.0, "heat": 1.0}, wrong=60.0))
    assert found.low < found.expected_cost < found.high
    [alternatives] = [line for line in found.to_text().splitlines() if line.startswith("Alternatives")]
    assert alternatives.count("+") == 2
    assert "(" not in alternatives


def test_a_page_rounds_probabilities_once(tmp_path):
    """11.497 % is 11 %: rounded to four places first it was 12 %."""
    workup = Workup(["a", "b"], {"look": {"cost": 1.0, "tells_apart": "all"}})
    found = plan_workup({"a": 0.11497, "b": 0.88503}, workup)
    page = found.save(tmp_path / "plan.html").read_text(encoding="utf-8")
    content = json.loads(re.search(r'id="content">(.*?)</script>', page, re.DOTALL).group(1))
    shown = dict(content["points"][0][5])
    assert round(100 * shown[content["names"].index("a")]) == 11


def test_alternatives_are_named_where_the_plan_may_not_be_optimal():
    workup = incident(12)
    found = plan_workup(np.full(12, 1 / 12), workup, method="planner", seconds=1e9, limit=10)
    assert not found.is_optimal
    [alternatives] = [line for line in found.to_text().splitlines() if line.startswith("Alternatives")]
    assert alternatives.count("(+") == 2
    assert all(option.extra >= -1e-9 for option in found.alternatives)


def test_the_tree_of_an_incident_fits_on_a_page():
    workup = incident(20)
    found = plan_workup(np.full(20, 1 / 20), workup, method="planner", seconds=1e9, limit=60)
    height = float(re.search(r'height="(\d+)"', found.draw()).group(1))
    assert height <= 1200


def test_names_stay_names_in_every_form(tmp_path):
    classes = [NASTY, "b"]
    steps = {f"ask {NASTY}": noisy_test(classes, [0.9, 0.2]), "look": {"cost": 3.0, "tells_apart": "all"}}
    workup = Workup(classes, steps, stops={NASTY: {"loss": 20.0}}, title=NASTY)
    found = plan_workup([0.5, 0.5], workup)
    page = found.save(tmp_path / "plan.html").read_text(encoding="utf-8")
    assert page.count("<script") == page.count("</script>") == 2
    assert "<img" not in page
    content = json.loads(re.search(r'id="content">(.*?)</script>', page, re.DOTALL).group(1))
    assert NASTY in content["names"]
    book = found.save(tmp_path / "plan.md").read_text(encoding="utf-8")
    assert "<img" not in book.replace("\\<img", "")
    chart = book[book.index("```mermaid") : book.index("```", book.index("```mermaid") + 3)]
    for line in chart.splitlines()[2:]:
        assert line.count('"') in (2, 4)  # one label or two
    assert markdown("a*b_c\n# d") == "a\\*b\\_c \\# d"
    assert mermaid('say "no"; #1') == "say #34;no#34;#59; #35;1"


@pytest.mark.parametrize("ending", ["md", "html"])
def test_a_page_says_what_the_whole_plan_costs_at_the_start(ending, tmp_path):
    """Each of its points says what it costs from there: the same words for both would contradict each other."""
    path = plan(incident()).save(tmp_path / f"plan.{ending}")
    top = path.read_text(encoding="utf-8").split("```mermaid")[0]
    assert top.count("Expected cost at the start: ") == 1
    assert "Expected cost from here" not in top


def test_a_runbook_has_a_section_for_every_step_of_its_chart(tmp_path):
    found = plan(incident())
    book = found.save(tmp_path / "plan.md").read_text(encoding="utf-8")
    assert book.startswith("# An incident\n")
    assert book.count("Reached in every case") == 1
    boxes = set(re.findall(r'^  n(\d+)\["', book, re.MULTILINE))
    sections = set(re.findall(r"^## (\d+)\. ", book, re.MULTILINE))
    assert boxes == sections
    assert len(boxes) > 3
    assert set(re.findall(r"\| n(\d+)$", book, re.MULTILINE)) <= boxes


@pytest.mark.parametrize("spelled", ["ask_0", "Ask 0", "ASK-0"])
def test_findings_are_matched_like_all_names(spelled):
    workup = incident()
    p = np.full(6, 1 / 6)
    assert plan_workup(p, workup, {spelled: "YES"}) == plan_workup(p, workup, {"ask 0": "yes"})


def test_a_finding_without_an_outcome_lists_the_outcomes():
    with refused(argument="found", value=None, says="yes, no"):
        plan_workup(np.full(6, 1 / 6), incident(), {"ask 0": None})
