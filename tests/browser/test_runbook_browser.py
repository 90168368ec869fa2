"""The page of a plan in a real browser: clicked, typed, on a phone, with no network and no complaints."""

import numpy as np
import pytest
from workups import names, noisy_test

from pandora_regret.workup import Workup, plan_workup


@pytest.fixture(scope="module")
def planned(tmp_path_factory):
    rng = np.random.default_rng(3)
    classes = [
        *names(5, "part"),
        "<b>bold</b> with-a-very-long-name-that-has-no-space-in-it-at-all-and-goes-on-and-on",
    ]
    steps = {
        f"ask {test}": noisy_test(classes, rng.choice([0.05, 0.2, 0.8, 0.9], 6), 1 + test) for test in range(3)
    }
    steps |= {f"look at {k}": {"cost": 9.0 + k, "confirms": classes[k]} for k in range(6)}
    workup = Workup(classes, steps, stops={"restart": {"loss": 60.0}}, unit="minutes", title="An <i>incident</i>")
    plan = plan_workup(np.full(6, 1 / 6), workup)
    return plan, plan.save(tmp_path_factory.mktemp("plan") / "plan.html")


def walk(tree, outcomes):
    spent = 0.0
    for outcome in outcomes:
        spent += tree.cost
        tree = tree.branches[outcome]
    return tree, spent


def test_clicks_lead_through_the_tree(browser, planned):
    plan, path = planned
    browser.open(path)
    assert browser.texts("#name") == [plan.next]
    outcomes = list(plan.tree.branches)
    browser.all(".outcome")[1].click()
    after, spent = walk(plan.tree, outcomes[1:2])
    assert browser.texts("#name") == [after.name]
    assert browser.texts("#spent") == [f"{spent:g} min"]
    assert float(browser.texts("#expected")[0].split()[0]) == pytest.approx(after.expected_cost, rel=0.005)
    assert browser.texts("#path li") == [f"{plan.next}: {outcomes[1]} ({plan.tree.cost:g} min)"]
    likeliest = max(after.posterior, key=after.posterior.get)
    assert browser.texts("#classes tr:first-child td:first-child") == [likeliest]
    browser.find("#back").click()
    assert browser.texts("#name") == [plan.next]
    assert browser.texts("#spent") == ["0 min"]
    assert browser.complaints() == []
    assert browser.requested() == [path.as_uri()]


def test_keys_choose_and_go_back(browser, planned):
    plan, path = planned
    browser.open(path)
    body = browser.find("body")
    for _ in range(30):
        if not browser.all(".outcome"):
            break
        body.send_keys("1")
    assert browser.texts("#kind")[0] in ("Done", "Stop here")
    assert browser.run("return document.activeElement.id") == "name"
    for _ in range(30):
        body.send_keys("\ue003")  # Backspace
    assert browser.texts("#name") == [plan.next]
    assert browser.complaints() == []


@pytest.mark.parametrize("width", [1300, 390])
def test_nothing_is_wider_than_the_page_and_names_are_text(browser, planned, width):
    _, path = planned
    browser.open(path, width=width)
    assert browser.run("return document.documentElement.scrollWidth") <= width
    assert browser.texts("h1") == ["An <i>incident</i>"]
    assert browser.all("main b b") == browser.all("main i") == []
    heights = browser.run("return [...document.querySelectorAll('button')].map(b => b.offsetHeight)")
    assert min(heights) >= 44


def test_the_page_is_accessible(browser, planned, axe):
    browser.open(planned[1])
    browser.run(axe)
    found = browser.driver.execute_async_script("axe.run().then(arguments[0])")
    assert [violation["id"] for violation in found["violations"]] == []
