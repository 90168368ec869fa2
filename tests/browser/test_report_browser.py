"""The report in a real browser: it renders, stays off the network, and agrees with the library at any price."""

import json
import re
import time
from base64 import b64decode

import numpy as np
import pytest
from asked import compare_with
from simulated_models import calibrated, sharpened, softmax

from pandora_regret import Candidates, compare, compare_lists, expected_search_cost, search_cost
from pandora_regret.core import priors
from pandora_regret.report import write_report

SCRIPT = "<script>alert(1)</script>"
LONG = "averyveryverylongnamewithoutanyspace" * 6
ROUNDING = 1e-3  # of the odds that the page holds


def open_all(browser):
    browser.run("document.querySelectorAll('details').forEach(e => { e.open = true; })")


def fetched(browser):
    """Without the pages that the browser itself begins with, which a slow machine may still be loading."""
    return [url for url in browser.requested() if not url.startswith("chrome:")]


def type_into(browser, css, text):
    """Typed as a reader would: the value is put in, and the page is told."""
    browser.run(
        """const entry = document.querySelector(arguments[0]);
        entry.value = arguments[1];
        entry.dispatchEvent(new Event("input", { bubbles: true }));""",
        css,
        str(text),
    )


def set_prices(browser, prices):
    for k, price in enumerate(prices):
        type_into(browser, f"#prices .price-list li[data-class='{k}'] input[type=text]", repr(float(price)))


def shown_costs(browser):
    names = browser.texts("#bars .name")
    return dict(zip(names, browser.values("#bars .total"), strict=True))


def exact_costs(report, weights=None, **prices):
    return {
        name: expected_search_cost(report.truth, forecast, sample_weight=weights, **prices)
        for name, forecast in report.forecasts.items()
    }


def by_cost(costs):
    return sorted(costs, key=costs.__getitem__)


@pytest.fixture
def names(report):
    return [model.name for model in report.comparison.models]


def test_nothing_is_complained_about_and_nothing_is_fetched(browser, report):
    browser.open(report.path)
    open_all(browser)
    browser.find("#model-table th:nth-child(3) button").click()
    browser.find("#theme").click()
    browser.find("button[data-scenario='1']").click()
    browser.find("#another").click()
    set_prices(browser, report.prices[::-1])
    browser.run("document.querySelector('#model-choice').value = 'all'")
    assert browser.texts("h1") == ["Ten classes"]
    assert browser.complaints() == []
    requested = fetched(browser)
    assert report.path.as_uri() in requested
    assert all(url.startswith(("file:", "data:")) for url in requested)


def test_at_the_stated_prices_all_figures_are_exact(browser, report, names):
    browser.open(report.path, scripts=False)
    came_with = browser.texts("#bars li, #verdict, .flip, #saving")
    browser.open(report.path)
    costs = {model.name: model.cost for model in report.comparison.models}
    assert shown_costs(browser) == pytest.approx(costs, rel=1e-13)
    set_prices(browser, report.prices[::-1])
    browser.find(".chips [data-reset]").click()
    assert list(shown_costs(browser)) == names
    assert browser.texts("#bars li, #verdict, .flip, #saving") == came_with
    assert not browser.run("return document.documentElement.classList.contains('altered')")


PRICES = [
    [12.0, 45.0, 20.0, 30.0, 18.0, 25.0, 600.0, 15.0, 40.0, 22.0],
    [1.2, 45.0, 200.0, 30.0, 18.0, 2.5, 60.0, 15.0, 400.0, 22.0],
    [7.0] * 10,
]


def test_at_other_prices_costs_intervals_and_verdict_are_those_of_a_comparison_there(browser, report):
    browser.open(report.path)
    for prices in PRICES:
        set_prices(browser, prices)
        exact = exact_costs(report, costs=prices)
        assert shown_costs(browser) == pytest.approx(exact, rel=ROUNDING)
        assert list(shown_costs(browser)) == by_cost(exact)
        assert browser.shown(".at-yours") == [True]
    there = compare(report.truth, report.forecasts, costs=PRICES[-1], currency="USD")
    names = browser.texts("#bars .name")
    for end in ("low", "high"):
        read = "return [...document.querySelectorAll('#bars .range')].map(e => +e.dataset[arguments[0]])"
        shown = dict(zip(names, browser.run(read, end), strict=True))
        limits = {model.name: getattr(model.scores["expected_cost"], end) for model in there.models}
        assert shown == pytest.approx(limits, rel=0.02)
    assert in_agreement(browser, there)


NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


def says_the_same(one, other):
    """But for the last digits, as a page holds rounded odds."""
    first, second = ([float(each.replace(",", "")) for each in NUMBER.findall(text)] for text in (one, other))
    return NUMBER.sub("0", one) == NUMBER.sub("0", other) and second == pytest.approx(first, rel=0.15, abs=0.15)


def texts_of_verdict(browser):
    """Its sentences, with ordinary spaces where the page keeps words together."""
    return [sentence.replace("\xa0", " ") for sentence in browser.texts("#verdict p")]


def in_agreement(browser, there):
    """Whether the page's verdict is that of a comparison at these prices, sentence by sentence."""
    (kind,) = browser.run("return [document.querySelector('#verdict').dataset.kind]")
    theirs = [re.sub(r"; .* with probability .*\.$", ".", sentence) for sentence in there.verdict.sentences]
    ours = texts_of_verdict(browser)
    known = [any(says_the_same(each, other) for other in theirs) for each in ours]
    assert kind == there.verdict.kind
    assert says_the_same(ours[0], theirs[0])
    assert all(known), "\n".join([*ours, "", *theirs])
    return len(ours) > 1 or kind == "single"


def of_every_kind():
    """Models whose verdict is of each kind, at prices that favour nobody."""
    truth = np.random.default_rng(0).integers(0, 3, 1900)
    good, rng = calibrated(truth, 1.8, 1), np.random.default_rng(2)
    near = sharpened(good * np.exp(0.02 * rng.normal(size=good.shape)), 1.0)
    plain, bold = calibrated(truth, 1.0, 1), sharpened(calibrated(truth, 1.15, 3), 15.0)
    return truth, {
        "deploy": {"good": good, "poor": calibrated(truth, 1.2, 4), "worse": calibrated(truth, 0.9, 5)},
        "level beside": {"good": good, "near": near, "poor": calibrated(truth, 1.2, 4)},
        "level": {"good": good, "near": near},
        "the same": {"good": good, "again": good},
        "undecided": {"good": good, "other": calibrated(truth, 1.8, 6), "poor": calibrated(truth, 0.9, 4)},
        "recalibrated": {"plain": plain, "bold": bold, "poor": calibrated(truth, 0.6, 4)},
        "single": {"good": good},
    }


TRUTH, MODELS = of_every_kind()


@pytest.mark.parametrize("kind", MODELS)
def test_at_other_prices_the_verdict_is_the_command_s_whatever_its_kind(browser, tmp_path, kind):
    options = {"currency": "EUR"}
    found = compare_with(TRUTH, MODELS[kind], costs=[380.0, 120.0, 90.0], **options)
    assert (found.verdict.kind, found.verdict.recalibrated) == {
        "level beside": ("deploy", False),
        "the same": ("level", False),
        "recalibrated": ("deploy", True),
    }.get(kind, (kind, False))
    browser.open(write_report(found, tmp_path / "page.html"))
    assert texts_of_verdict(browser) == list(found.verdict.sentences)
    moved = [300.0, 160.0, 100.0]
    set_prices(browser, moved)
    assert in_agreement(browser, compare_with(TRUTH, MODELS[kind], costs=moved, **options))
    assert browser.complaints() == []


def test_what_recalibrating_would_save_follows_prices(browser, report):
    browser.open(report.path)
    set_prices(browser, PRICES[0])
    read = "return [...document.querySelectorAll('#bars rect.recal')].map(e => +e.dataset.value)"
    shown = dict(zip(browser.texts("#bars .name"), browser.run(read), strict=True))
    for model in report.comparison.models:
        proba = np.maximum(report.forecasts[model.name], 1e-12)
        calmer = proba ** report.comparison.sample.inverse_temperatures[model.name]
        calmer /= calmer.sum(axis=1, keepdims=True)
        saved = [
            expected_search_cost(report.truth, report.forecasts[model.name], costs=prices)
            - expected_search_cost(report.truth, calmer, costs=prices)
            for prices in (report.prices, PRICES[0])
        ]
        expected = model.recalibrated.saved.value + saved[1] - saved[0]
        assert shown[model.name] == pytest.approx(max(expected, 0.0), abs=0.01 * model.cost)


@pytest.mark.parametrize(
    ("typed", "price"),
    [("12,5", 12.5), ("12.5", 12.5), ("1,200", 1200), ("1.200,50", 1200.5), ("1 200", 1200), ("1,200.5", 1200.5)],
)
def test_a_price_is_read_as_it_is_meant(browser, report, typed, price):
    browser.open(report.path)
    type_into(browser, "#prices li[data-class='6'] input[type=text]", typed)
    prices = [price if k == 6 else each for k, each in enumerate(report.prices)]
    assert shown_costs(browser) == pytest.approx(exact_costs(report, costs=prices), rel=5 * ROUNDING)


def test_a_price_beyond_the_slider_moves_its_end_and_a_reset_moves_it_back(browser, report):
    browser.open(report.path)
    row = "#prices li[data-class='6']"
    type_into(browser, f"{row} input[type=text]", repr(100 * report.prices[6]))
    read = "const s = document.querySelector(arguments[0]); return [s.min, s.max, s.value].map(Number)"
    assert browser.run(read, f"{row} input[type=range]") == [-100, 200, 200]
    assert browser.find(f"{row} .stated").get_attribute("x1").startswith("33.3")
    browser.find(".chips [data-reset]").click()
    assert browser.run(read, f"{row} input[type=range]") == [-100, 100, 0]


def test_a_slider_moves_a_price_by_keys_and_says_so(browser, report):
    browser.open(report.path)
    slider = browser.find("#prices li[data-class='6'] input[type=range]")
    slider.send_keys("\ue010")  # End: ten times the stated price
    prices = [10 * price if k == 6 else price for k, price in enumerate(report.prices)]
    assert shown_costs(browser) == pytest.approx(exact_costs(report, costs=prices), rel=ROUNDING)
    assert slider.get_attribute("aria-valuetext") == "$600"
    assert browser.find("#prices li[data-class='6'] input[type=text]").get_attribute("value") == "600"


@pytest.mark.parametrize(("name", "prior"), [("fixed", priors.Fixed()), ("exponential", priors.Exponential())])
def test_another_prior_costs_what_the_library_says(browser, report, name, prior):
    browser.open(report.path)
    browser.run(
        "const s = document.getElementById('prior'); s.value = arguments[0]; s.dispatchEvent(new Event('change'))",
        name,
    )
    exact = exact_costs(report, prior=prior, costs=report.prices)
    assert shown_costs(browser) == pytest.approx(exact, rel=5 * ROUNDING)


def test_another_mix_of_cases_is_a_reweighting(browser, report):
    browser.open(report.path)
    open_all(browser)
    type_into(browser, "#mix li[data-mix='3'] input[type=text]", "40")
    shares = np.bincount(report.truth) / len(report.truth)
    wanted = np.where(np.arange(10) == 3, 0.4, 0.6 * shares / (1 - shares[3]))
    weights = (wanted / shares)[report.truth]
    exact = exact_costs(report, weights=weights, costs=report.prices)
    assert shown_costs(browser) == pytest.approx(exact, rel=ROUNDING)


@pytest.fixture(scope="module")
def flipping(tmp_path_factory):
    """A pair of models of which each knows one class well: the more expensive its test, the better to know it."""
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=6000)
    models = {
        name: softmax(rng.normal(size=(6000, 3)) + np.eye(3)[truth] * knows)
        for name, knows in (("A", [3.0, 1.0, 2.0]), ("B", [1.0, 3.0, 2.0]))
    }
    prices = [90.0, 60.0, 70.0]
    found = compare(truth, models, costs=prices, currency="USD")
    path = write_report(found, tmp_path_factory.mktemp("flipping") / "page.html")
    return truth, models, prices, found, path


def test_a_moved_price_turns_verdict_order_and_yearly_figure(browser, flipping):
    truth, models, _, found, path = flipping
    browser.open(path)
    assert f"{found.sample.rows:,} of the 6,000" in browser.texts("#prices .fine")[0]
    type_into(browser, "#cases", "12,000")
    before = browser.texts("#verdict")[0], browser.texts("#bars .name"), browser.texts("#saving")
    first, second = (model.name for model in found.models)
    moved = [20.0, 200.0, 70.0]
    set_prices(browser, moved)
    exact = {name: expected_search_cost(truth, proba, costs=moved) for name, proba in models.items()}
    assert shown_costs(browser) == pytest.approx(exact, rel=0.02)
    verdict = browser.texts("#verdict .verdict")[0]
    assert before[1] == [first, second]
    assert browser.texts("#bars .name") == [second, first]
    assert verdict.startswith(f"Deploy {second}:")
    assert found.verdict.sentences[0] in browser.texts(".at-yours")[0]  # what the verdict said
    assert browser.texts("#chosen") == [second]
    assert browser.texts("#saving") != before[2]
    assert browser.texts("#now")[0].startswith(f"At your prices: {second} $")
    browser.find(".at-yours button").click()
    assert (browser.texts("#verdict")[0], browser.texts("#bars .name"), browser.texts("#saving")) == before


def test_marks_are_where_the_leader_changes(browser, flipping):
    truth, models, _, _, path = flipping
    browser.open(path)
    prices = [80.0, 65.0, 70.0]
    set_prices(browser, prices)
    time.sleep(0.5)
    marks = browser.run(
        "return [...document.querySelectorAll('#prices li[data-class] .mark:not(.off)')]"
        ".map(e => [+e.closest('li').dataset.class, e.classList.contains('below'), +e.dataset.value])"
    )
    assert marks
    margin = 0.01 * min(expected_search_cost(truth, p, costs=prices) for p in models.values())
    for k, below, price in marks:
        costs = []
        for factor in (0.93, 1.07):
            moved = [price * factor if j == k else other for j, other in enumerate(prices)]
            costs.append({n: expected_search_cost(truth, p, costs=moved) for n, p in models.items()})
        shown = browser.texts("#bars .name")[0]
        behind = [each[shown] - min(each.values()) > margin for each in costs]
        assert behind == [below, not below]
        name = min(costs[1 - below], key=costs[1 - below].get)
        side = "below" if below else "above"
        said = browser.texts(f"#prices li[data-class='{k}'] .flip")[0]
        assert said.startswith(f"{name} is the better")
        assert f"{side} $" in said


def test_a_price_that_is_none_is_marked_and_changes_nothing(browser, report):
    browser.open(report.path)
    costs = shown_costs(browser)
    for nonsense in ("", "a lot", "-3", "0"):
        type_into(browser, "#prices li[data-class='0'] input[type=text]", nonsense)
        entry = browser.find("#prices li[data-class='0'] input[type=text]")
        assert entry.get_attribute("aria-invalid") == "true"
        assert shown_costs(browser) == costs


def test_cases_per_year_become_money_per_year(browser, report, names):
    browser.open(report.path)
    assert browser.find("#cases").get_attribute("value") == ""  # no volume is invented
    assert "How many" in browser.texts("#saving")[0]
    assert browser.texts("#chosen") == [names[0]]
    assert browser.find("#instead").get_attribute("value") == "1"  # the runner-up
    browser.run("document.getElementById('instead').value = '5'")
    type_into(browser, "#cases", "1,000,000")
    gap = next(g for g in report.comparison.differences if (g.model, g.against) == (names[0], names[5]))
    said = browser.texts("#saving")[0]
    saves = f"At 1,000,000 cases per year, {names[0]} instead of {names[5]} saves ${-gap.difference:.1f}"
    assert said.startswith(saves[:-2])
    assert "million (" in said
    type_into(browser, "#cases", "many")
    assert "such as 12,000" in browser.texts("#saving")[0]


def test_the_switch_turns_the_page_dark_and_light(browser, report):
    grounds = {}
    for scheme in ("light", "dark"):
        browser.open(report.path, scheme=scheme)
        for pressed in (scheme == "dark", scheme != "dark"):
            assert browser.find("#theme").get_attribute("aria-pressed") == str(pressed).lower()
            ground = browser.run("return getComputedStyle(document.body).backgroundColor")
            assert grounds.setdefault(pressed, ground) == ground
            browser.find("#theme").click()
    assert grounds[True] != grounds[False]


def test_a_press_on_a_heading_sorts_and_the_next_turns_round(browser, report):
    browser.open(report.path)
    open_all(browser)
    heading = "#score-table th[data-key=accuracy]"
    column = 2 + [metric.key for metric in report.comparison.metrics].index("accuracy")
    accuracy = [model.scores["accuracy"].value for model in report.comparison.models]
    browser.find(f"{heading} button").click()
    assert browser.values(f"#score-table td:nth-child({column})") == sorted(accuracy, reverse=True)
    assert browser.find(heading).get_attribute("aria-sort") == "descending"  # the best first
    browser.find(f"{heading} button").click()
    assert browser.values(f"#score-table td:nth-child({column})") == sorted(accuracy)
    assert browser.find(heading).get_attribute("aria-sort") == "ascending"


def test_the_worked_case_pays_what_the_library_s_search_pays(browser, report, names):
    browser.open(report.path)
    seen = set()
    for _ in range(4):
        row = browser.find("#case").get_attribute("data-row")
        seen.add(row)
        paid = browser.values("#case .paid")
        for side, spent in enumerate(paid):
            forecast = report.forecasts[names[side]][int(row)]
            exact = search_cost([report.truth[int(row)]], [forecast], report.prices)
            assert spent == pytest.approx(exact)
        assert browser.texts("#case-truth") == [str(report.truth[int(row)])]
        browser.find("#another").click()
    assert len(seen) == 4


def test_one_model_is_shown_at_a_time_or_all(browser, report):
    browser.open(report.path)
    assert browser.shown(".panel") == [True] + 5 * [False]
    browser.find("#model-choice option:last-child").click()
    assert all(browser.shown(".panel"))


def test_without_javascript_all_content_is_shown_and_no_dead_control(browser, report):
    browser.open(report.path, scripts=False)
    content = ".verdict, #bars li, .panel, #model-table, #score-table, #rank-table, #pairs, #case ol, .flip"
    assert all(browser.shown(content))
    assert not any(browser.shown("#cases, #model-choice, input, select, button"))
    assert all(browser.shown("#prices .no-script"))


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 390)])
def test_axe_finds_nothing_serious(browser, report, nasty, axe, scheme, width):
    for path in (report.path, nasty):
        browser.open(path, scheme=scheme, width=width)
        open_all(browser)
        browser.run(axe)
        browser.driver.set_script_timeout(120)
        found = browser.driver.execute_async_script(
            "const done = arguments[0]; axe.run().then(r => done(r.violations), e => done([{id: String(e)}]))"
        )
        serious = [v for v in found if v.get("impact") not in ("minor", "moderate")]
        assert [(v["id"], [n["target"] for n in v.get("nodes", [])][:3]) for v in serious] == []


def test_in_print_controls_are_gone_and_colours_are_light(browser, report):
    browser.open(report.path, media="print", scheme="dark")
    assert not any(browser.shown("input, select, button:not(th button), details, #case, #detail, #methods, .year"))
    assert all(browser.shown(".verdict, #bars li, .byline, .price-list li:not(details li) .no-script"))
    assert all(browser.shown("#remarks li, #wrong-test-table"))
    assert browser.run("return getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Thirty models, forty classes, three columns of a dozen groups."""
    rng = np.random.default_rng(0)
    truth, columns = (
        rng.integers(0, 40, 2000),
        {name: rng.integers(0, 12, 2000) for name in ("site", "age", "ward")},
    )
    models = {f"model {n}": sharpened(calibrated(truth, 1.5 + n / 50, n, 40), 1.0) for n in range(30)}
    found = compare(truth, models, costs=np.linspace(10, 400, 40), currency="CHF", by=columns)
    return write_report(found, tmp_path_factory.mktemp("large") / "page.html")


def test_printed_it_is_a_sheet_of_a4_or_two(browser, report, nasty, large):
    for path in (report.path, nasty, large):
        browser.open(path)
        browser.do("Emulation.setEmulatedMedia", media="")
        pdf = b64decode(browser.do("Page.printToPDF", printBackground=True, preferCSSPageSize=True)["data"])
        assert len(re.findall(rb"/Type\s*/Page\b", pdf)) <= (3 if path == large else 2)
        (box,) = set(re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", pdf))
        assert [round(float(side)) for side in box] == [595, 842]


@pytest.mark.parametrize(("models", "classes"), [(1, 3), (2, 4), (3, 3), (3, 8), (5, 6), (7, 30)])
def test_printed_sheets_are_filled(browser, tmp_path, models, classes):
    truth = np.random.default_rng(0).integers(0, classes, 400)
    forecasts = {f"model {n}": calibrated(truth, 2.5 - 0.3 * n, n, classes) for n in range(models)}
    found = compare(truth, forecasts, costs=np.linspace(10, 90, classes), currency="EUR")
    browser.open(write_report(found, tmp_path / "page.html"), media="print", width=703)  # A4, less its margins
    height = browser.run("return document.querySelector('main').getBoundingClientRect().bottom")
    sheet = 1032
    assert 0.6 < height / sheet % 1 < 1.0
    assert height < 2 * sheet


def test_on_a_phone_tables_are_cards_with_money_first(browser, report):
    browser.open(report.path, width=390)
    open_all(browser)
    assert browser.run("return getComputedStyle(document.querySelector('#model-table tbody')).display") == "block"
    first = browser.run("return document.querySelector('#model-table tbody tr td').dataset.label")
    assert first == "Cost per case"
    tables = browser.run("return [...document.querySelectorAll('.cards')].map(e => e.scrollWidth)")
    assert max(tables) <= 390


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
    assert SCRIPT in browser.texts("#wrong-test-table bdi")
    assert SCRIPT in browser.texts("#model-choice option")
    set_prices(browser, [1, 2, 3, 40, 5])
    browser.find("#another").click()
    assert SCRIPT in browser.texts("#case option")
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


def test_the_price_of_a_miss_moves_the_verdict(browser, tmp_path):
    rng = np.random.default_rng(0)
    truth = ["t"] * 300
    short = Candidates.from_lists([["t" if rng.random() < 0.6 else "x"] for _ in truth], truth)
    long = Candidates.from_lists([["x", "y", "t" if rng.random() < 0.9 else "z"] for _ in truth], truth)
    result = compare_lists({"short": short, "long": long})
    write_report(result, tmp_path / "lists.html")
    browser.open(tmp_path / "lists.html")
    stated = browser.texts("#verdict p")
    assert stated == list(result.verdict.sentences)
    first, *_, last = result.lists.ranges
    sentences = browser.texts("#miss ul li")
    for part, sentence in ((first, sentences[0]), (last, sentences[-1])):
        type_into(browser, "#miss-price", part.low + 0.1)
        assert browser.texts("#verdict p") == [sentence]
        assert browser.texts("#miss-now")[0].split(": ")[1].startswith(part.leader)
        assert browser.texts("#bars .name")[0] == part.leader
        assert browser.texts("#bars-at")[0].startswith("where a miss costs")
    models = {"short": short, "long": long}
    shown = dict(zip(browser.texts("#bars .name"), browser.texts("#bars .total"), strict=True))
    for name, lists in models.items():
        assert float(shown[name].split()[0]) == pytest.approx(lists.costs(last.low + 0.1).mean(), abs=0.02)
    type_into(browser, "#miss-price", result.lists.at)
    assert browser.texts("#verdict p") == stated
    shown = dict(zip(browser.texts("#bars .name"), browser.texts("#bars .total"), strict=True))
    for name, lists in models.items():
        assert float(shown[name].split()[0]) == pytest.approx(lists.costs(result.lists.at).mean(), rel=0.01)
