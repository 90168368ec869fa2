"""The report in a real browser: it renders, stays off the network, and agrees with the library."""

import json
import time

import numpy as np
import pytest

from pandora_regret import search_cost, search_order
from pandora_regret.compare import compare
from pandora_regret.report import write_report
from pandora_regret.text import alpha_name

SCRIPT = "<script>alert(1)</script>"
LONG = "averyveryverylongnamewithoutanyspace" * 6
FINEST_TEXT = 4.5  # WCAG AA

QUESTIONS = [  # probabilities, costs
    ([0.1] * 10, [1] * 10),  # all tied
    ([0.1] * 10, list(range(10, 0, -1))),
    ([0.25, 0.25, 0.5, 0, 0, 0, 0, 0, 0, 0], [1, 1, 2, 9, 7, 9, 7, 3, 3, 1]),  # ties, and impossible classes
    ([0, 0, 0, 0, 0, 0, 0, 0, 0, 1], [5, 4, 3, 2, 1, 1, 2, 3, 4, 5]),
    ([0.3, 0.1, 0.2, 0.4, 0, 0, 0, 0, 0, 0], [3e-7, 1e-7, 2e-7, 4e-7, 1, 1, 1, 1, 1, 1e12]),
    *zip(
        np.random.default_rng(0).dirichlet(np.full(10, 0.5), size=6).tolist(),
        np.random.default_rng(1).lognormal(3, 2, size=(6, 10)).tolist(),
        strict=True,
    ),
]
MISTAKES = [
    (".probability", " ", "The probability of 0 is missing."),
    (".probability", "a lot", "“a lot”, which is not a number"),
    (".probability", "0,5", "“0,5”, which is not a number such as 0.25"),
    (".probability", "-0.1", "must lie between 0 and 1"),
    (".probability", "20", "must lie between 0 and 1"),
    (".probability", "0.5", "they must sum to 1"),
    (".cost", "0", "The cost of 0 is 0; it must be above 0."),
    (".cost", "Infinity", "which is not a number such as 12.50"),
]

CONTRASTS = """
function luminance(rgb) {
  const [r, g, b] = rgb.map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
function colour(text) { return text.match(/[\\d.]+/g).map(Number); }
function ground(element) {
  for (let e = element; e; e = e.parentElement) {
    const found = colour(getComputedStyle(e).backgroundColor);
    if (found.length === 3 || found[3] === 1) return found.slice(0, 3);
  }
  return [255, 255, 255];
}
const poor = [];
for (const element of document.querySelectorAll("body *")) {
  const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
  if (!own || !element.checkVisibility() || element.closest("script, title, desc, option, datalist")) continue;
  const style = getComputedStyle(element);
  const ink = luminance(colour(element.closest("svg") ? style.fill : style.color).slice(0, 3));
  const paper = luminance(ground(element));
  const ratio = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
  if (ratio < arguments[0]) poor.push(`${element.tagName}.${element.getAttribute("class")}: ${ratio.toFixed(2)}`);
}
return [...new Set(poor)];
"""


def type_numbers(browser, probabilities, costs):
    """Typed as a reader would: the values are put in, and the page is told once."""
    browser.run(
        """const [p, c] = arguments;
        document.querySelectorAll("input.probability").forEach((input, k) => { input.value = p[k]; });
        document.querySelectorAll("input.cost").forEach((input, k) => { input.value = c[k]; });
        document.querySelector("input.cost").dispatchEvent(new Event("input", { bubbles: true }));""",
        [str(p) for p in probabilities],
        [str(c) for c in costs],
    )


def slide_to(browser, position):
    browser.run(
        """const slider = document.getElementById("alpha");
        slider.value = arguments[0];
        slider.dispatchEvent(new Event("input"));""",
        position,
    )


def choose(browser, name):
    next(option for option in browser.all("#model-choice option") if option.text == name).click()


def fetched(browser):
    """Without the pages that the browser itself begins with, which a slow machine may still be loading."""
    return [url for url in browser.requested() if not url.startswith("chrome:")]


def ranked(names, values):
    order = sorted(range(len(values)), key=lambda i: (values[i] is None, values[i] or 0.0))
    return [names[i] for i in order]


@pytest.fixture
def names(report):
    return [model.name for model in report.comparison.models]


def test_nothing_is_complained_about_and_nothing_is_fetched(browser, report):
    browser.open(report.path)
    browser.find("#model-table th:nth-child(4) button").click()
    slide_to(browser, 0)
    browser.find("input[name=scenario][value='1']").click()
    browser.run("document.querySelector('#model-choice').value = 'all'")
    assert browser.texts("h1") == ["Handwritten digits"]
    assert browser.complaints() == []
    requested = fetched(browser)
    assert report.path.as_uri() in requested
    assert all(url.startswith(("file:", "data:")) for url in requested)


def test_the_policy_stops_what_the_page_did_not_bring(browser, report):
    browser.open(report.path)
    browser.run(
        "const s = document.createElement('script'); s.textContent = 'window.ran = 1'; document.body.append(s)"
    )
    assert browser.run("return window.ran") is None
    assert any("Content Security Policy" in complaint for complaint in browser.complaints())


def test_a_press_on_a_heading_sorts_and_the_next_turns_round(browser, report, names):
    browser.open(report.path)
    column = [metric.key for metric in report.comparison.metrics].index("accuracy") + 3
    heading = f"#model-table th:nth-child({column})"
    accuracy = [model.scores["accuracy"].value for model in report.comparison.models]
    browser.find(f"{heading} button").click()
    assert browser.values(f"#model-table td:nth-child({column})") == sorted(accuracy, reverse=True)
    assert browser.find(heading).get_attribute("aria-sort") == "descending"  # the best first
    assert len(browser.all("#model-table th[aria-sort]")) == 1
    browser.find(f"{heading} button").click()
    assert browser.values(f"#model-table td:nth-child({column})") == sorted(accuracy)
    assert browser.find(heading).get_attribute("aria-sort") == "ascending"


def test_keys_sort_too_by_name_and_with_undefined_values_last(browser, report, names):
    browser.open(report.path)
    column = [metric.key for metric in report.comparison.metrics].index("log_loss") + 3
    for turn in (min, max):
        browser.find(f"#model-table th:nth-child({column}) button").send_keys("\ue007")  # Enter
        losses = browser.values(f"#model-table td:nth-child({column})")
        known = [loss for loss in losses if loss == loss]
        assert losses[0] == turn(known)
        assert len(known) < len(losses)
        assert losses[: len(known)] == known
    browser.find("#model-table th:nth-child(2) button").send_keys(" ")
    assert browser.texts("#model-table bdi") == sorted(names)


def test_every_stop_of_the_slider_ranks_as_the_comparison_does(browser, report, names):
    browser.open(report.path)
    for position, alpha in enumerate(report.comparison.alphas):
        slide_to(browser, position)
        scores = [model.alphas[position] for model in report.comparison.models]
        assert browser.texts("#alpha-ranking bdi") == ranked(names, scores)
        shown = dict(zip(browser.texts("#alpha-ranking bdi"), browser.values("#alpha-ranking li"), strict=True))
        known = {name: score for name, score in zip(names, scores, strict=True) if score is not None}
        assert {name: shown[name] for name in known} == known
        assert browser.texts("#alpha-shown") == [alpha_name(alpha)]


def test_arrow_keys_move_the_slider_and_say_so(browser, report):
    browser.open(report.path)
    start = browser.find("#alpha").get_attribute("aria-valuetext")
    browser.find("#alpha").send_keys("\ue014")  # arrow right
    assert start == "α = 1"
    assert browser.find("#alpha").get_attribute("aria-valuetext") == "α = 1.5"
    assert browser.texts("#alpha-news")[0].startswith("α = 1.5: ")


def test_scenarios_switch_the_ranking(browser, report, names):
    browser.open(report.path)
    for position, scenario in enumerate(report.comparison.scenarios):
        browser.find(f"input[name=scenario][value='{position}']").click()
        costs = [model.scenarios[position] for model in report.comparison.models]
        assert browser.texts("#scenario-ranking bdi") == ranked(names, costs)
        assert browser.values("#scenario-ranking li") == sorted(costs)
        assert browser.texts("#scenario-printed") == [scenario.name]


def test_one_model_is_shown_at_a_time_or_all(browser, report):
    browser.open(report.path)
    assert browser.shown(".panel") == [True] + 5 * [False]
    choose(browser, "Tree")
    chosen = [model.name for model in report.comparison.models].index("Tree")
    assert browser.shown(".panel") == [i == chosen for i in range(6)]
    choose(browser, "All models")
    assert all(browser.shown(".panel"))


def test_what_if_agrees_with_the_library(browser, report):
    browser.open(report.path)
    for probabilities, costs in QUESTIONS:
        type_numbers(browser, probabilities, costs)
        p = np.array(probabilities, dtype=float)
        paid = search_cost(np.arange(10), np.tile(p, (10, 1)), costs, per_instance=True)
        order = browser.run("return [...document.querySelectorAll('#steps tbody tr')].map(e => +e.dataset.class)")
        assert order == search_order(p, costs).tolist()
        assert browser.texts("#steps bdi") == [str(k) for k in order]
        assert browser.values("#steps td:nth-child(3)") == pytest.approx(paid[order].tolist(), rel=1e-9)
        assert browser.values("#steps td:nth-child(4)") == pytest.approx(np.cumsum(p[order]).tolist(), abs=1e-9)
        assert browser.values("#expected-total") == pytest.approx([float(p @ paid)], rel=1e-9)
        assert browser.texts("#complaint") == [""]


def test_the_script_s_first_answer_is_the_one_the_page_came_with(browser, report):
    browser.open(report.path, scripts=False)
    came_with = (
        browser.values("#steps td[data-value], #expected-total"),
        browser.texts("#steps td, #expected-total"),
    )
    browser.open(report.path)
    assert browser.values("#steps td[data-value], #expected-total") == pytest.approx(came_with[0], rel=1e-12)
    assert browser.texts("#steps td, #expected-total") == came_with[1]


def test_what_if_says_what_is_wrong_and_hides_the_old_answer(browser, report):
    browser.open(report.path)
    for selector, typed, says in MISTAKES:
        entry = browser.find(f"input{selector}")
        right = entry.get_attribute("value")
        entry.clear()
        entry.send_keys(typed)
        assert says in browser.texts("#complaint")[0]
        assert browser.shown("#answer") == [False]
        assert entry.get_attribute("aria-invalid") == str("sum" not in says).lower()
        entry.clear()
        entry.send_keys(right)
        assert browser.texts("#complaint") == [""]
        assert browser.shown("#answer") == [True]


def test_probabilities_are_scaled_when_asked(browser, report):
    browser.open(report.path)
    type_numbers(browser, [2, 1, 1, 0, 0, 0, 0, 0, 0, 0], report.prices)
    assert browser.shown("#answer") == [False]
    browser.find("#rescale").click()
    assert browser.run("return [...document.querySelectorAll('.probability')].map(e => +e.value)")[:3] == [
        0.5,
        0.25,
        0.25,
    ]
    assert browser.shown("#answer") == [True]


def test_without_javascript_all_content_is_shown_and_no_dead_control(browser, report):
    browser.open(report.path, scripts=False)
    assert all(browser.shown(".panel, details, #alpha-grid, #scenario-grid, #rank-table, #other-pairs, #steps"))
    assert browser.shown("#steps td:last-child")[-1]
    assert not any(browser.shown("#alpha, #model-choice, input[type=radio], #rescale, #save"))
    assert not browser.all("th button")
    assert browser.shown("noscript") == [True]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_what_is_behind_it(browser, report, scheme):
    browser.open(report.path, scheme=scheme)
    choose(browser, "All models")
    browser.run("document.querySelectorAll('details').forEach(e => { e.open = true; })")
    assert browser.run(CONTRASTS, FINEST_TEXT) == []
    dark = browser.run("return getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
    assert dark == (scheme == "dark")


def test_every_control_has_a_name_for_a_screen_reader(browser, report):
    browser.open(report.path)
    browser.do("Accessibility.enable")
    controls = {"button", "slider", "textbox", "radio", "combobox", "region", "image", "table", "link"}
    nodes = browser.do("Accessibility.getFullAXTree")["nodes"]
    roles = [
        (node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes if not node["ignored"]
    ]
    assert {role for role, _ in roles} >= controls
    assert [role for role, name in roles if role in controls and not name.strip()] == []
    browser.do("Accessibility.disable")


def test_focus_can_be_seen(browser, report):
    browser.open(report.path)
    button = "#model-table th:nth-child(3) button"
    browser.find(button).send_keys("\ue004")  # Tab, on to the next heading
    assert browser.run("return getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_in_print_controls_are_gone_and_colours_are_light(browser, report):
    browser.open(report.path, media="print", scheme="dark")
    assert not any(browser.shown("#alpha, #model-choice, nav, #save, details"))
    assert all(browser.shown(".print-only, #model-table, .bump, #heat-0"))
    assert browser.run("return getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    browser.do("Emulation.setEmulatedMedia", media="")
    assert browser.do("Page.printToPDF", printBackground=True)["data"].startswith("JVBERi")  # %PDF


def test_the_numbers_can_be_saved(browser, report, downloads):
    browser.open(report.path)
    browser.run("document.getElementById('save').click()")
    saved = downloads / "comparison.json"
    deadline = time.monotonic() + 20
    while not saved.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert json.loads(saved.read_text(encoding="utf-8")) == report.comparison.to_dict()


@pytest.fixture(scope="module")
def nasty(tmp_path_factory):
    """Names that try to break out, to be very long, or to turn the page round."""
    rng = np.random.default_rng(0)
    classes = [
        SCRIPT,
        "</script><img src=x onerror=alert(1)>",
        "\"'><svg onload=alert(1)>",
        LONG,
        "名\u202e前 \u2028",
    ]
    forecasts = rng.dirichlet(np.ones(5), size=(5, 40))
    models = dict(zip([*classes[:3], LONG, "</style></title>" + SCRIPT], forecasts, strict=True))
    truth = np.array(classes, dtype=object)[np.arange(40) % 5]
    found = compare(truth, models, labels=classes, currency=SCRIPT, scenarios={SCRIPT: [1.0, 2.0, 3.0, 4.0, 5.0]})
    return write_report(found, tmp_path_factory.mktemp("nasty") / "page.html", title=SCRIPT)


def test_names_that_are_scripts_are_shown_and_do_not_run(browser, nasty):
    browser.open(nasty)  # an alert would make every further command fail
    assert browser.texts("h1") == [SCRIPT]
    assert SCRIPT in browser.texts("#model-table bdi")
    assert SCRIPT in browser.texts("#heat-0 tbody bdi")
    assert SCRIPT in browser.texts("#model-choice option")
    type_numbers(browser, [0.2] * 5, [1, 2, 3, 4, 5])
    assert browser.texts("#steps bdi")[0] == SCRIPT
    assert not browser.all("img, main script, bdi *")
    assert browser.complaints() == []
    assert all(url.startswith(("file:", "data:")) for url in fetched(browser))


@pytest.mark.parametrize("scripts", [True, False])
def test_no_page_scrolls_sideways(browser, report, nasty, scripts):
    for path in (report.path, nasty):
        browser.open(path, scripts=scripts)
        for width in (1280, 768, 390, 320):
            browser.resize(width)
            assert browser.run("return document.documentElement.scrollWidth") <= width
            assert browser.run("return document.body.scrollWidth") <= width
