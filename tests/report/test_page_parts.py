"""Parts of the page that are there only where they say something, and lines that end where a reader expects it."""

import re
from dataclasses import replace

from report_pages import Page, compared

from pandora_regret import Candidates, compare_lists
from pandora_regret.core.inputs import CLASSES_TAKEN_AS_0, Remark
from pandora_regret.report import render_report
from pandora_regret.report.page import unbroken

ANSWERS = ["A", "B", "C", "D"]
DISEASES = ["cold", "covid", "flu", "tls"]


def ids(page):
    return {element["attributes"].get("id") for element in page.elements}


def text_of(page, css_class, tag="p"):
    (element,) = page.all(tag, class_=css_class)
    return element["text"]


def test_a_number_and_its_per_cent_sign_stay_on_one_line():
    assert unbroken("with probability 96 %.") == "with probability 96\xa0%."
    assert unbroken("Noticed in week 9.") == "Noticed in week\xa09."
    assert unbroken("€5 per case (−3 to 12)") == "€5 per case (−3 to 12)"
    comparison = compared()
    page = Page(render_report(comparison))
    sentences = [element["text"] for element in page.elements if element["tag"] == "p"]
    headline = [text for text in sentences if text.replace("\xa0", " ") in comparison.verdict.sentences]
    assert len(headline) == len(comparison.verdict.sentences)
    assert not any(re.search(r"\d %", text) for text in headline)


def test_multiple_choice_questions_without_prices_have_no_price_sliders():
    questions = Page(render_report(compared(labels=ANSWERS)))
    assert "prices" not in ids(questions)
    assert "case" not in ids(questions)
    assert "prices" in ids(Page(render_report(compared(labels=DISEASES))))
    priced = compared(labels=ANSWERS, costs=[1.0, 2.0, 3.0, 4.0], currency="EUR")
    assert "prices" in ids(Page(render_report(priced)))


def test_without_prices_the_byline_says_so():
    assert "costs are in typical test prices" in text_of(Page(render_report(compared())), "byline")
    priced = Page(render_report(compared(costs=[1.0, 2.0, 3.0, 4.0], currency="EUR")))
    assert "every test counts the same" not in text_of(priced, "byline")


def test_the_legend_names_what_is_drawn():
    page = Page(render_report(compared()))
    parts = page.all("rect", class_="recal", inside="bars")
    drawn = [float(part["attributes"]["width"].rstrip("%")) > 0.2 for part in parts]
    (key,) = page.all("span", id="recal-key")
    assert any(drawn) == ("hidden" not in key["attributes"])


def test_gridlines_of_groups_carry_values():
    group = ["north", "south"] * 40
    page = Page(render_report(compared(by={"site": group}, costs=[1.0, 2.0, 3.0, 4.0], currency="EUR")))
    cells = page.all("td", class_="strip ticks")
    values = re.findall(r"€[\d.,]+", cells[0]["text"])
    assert 1 <= len(values) <= 3
    places = [line["attributes"]["x1"] for line in page.all("line", class_="grid")]
    lines = {place for place in places if "%" in place}
    assert len(lines) == len(values)


def test_what_a_year_saves_is_asked_of_the_runner_up():
    comparison = compared(names=["a", "b", "c"])
    page = Page(render_report(comparison))
    (chosen,) = page.all("bdi", id="chosen")
    assert chosen["text"] == comparison.verdict.leader
    selected = [option for option in page.all("option", inside="instead") if "selected" in option["attributes"]]
    assert [option["text"] for option in selected] == [comparison.models[1].name]


def test_nothing_is_saved_per_year_while_nobody_said_what_a_miss_costs():
    truth = ["a", "b", "c"] * 20
    short = Candidates.from_lists([[name] if row % 3 else ["x"] for row, name in enumerate(truth)], truth)
    long = Candidates.from_lists([["x", "y", name] for name in truth], truth)
    models = {"short": short, "long": long}
    assert "year" not in ids(Page(render_report(compare_lists(models))))
    assert "year" in ids(Page(render_report(compare_lists(models, miss=20.0))))


def printed(comparison):
    page = Page(render_report(comparison))
    sections = page.all("section")
    return {part["attributes"].get("id") for part in sections if part["attributes"].get("class") == "printed"}


def test_what_is_printed_fills_a_sheet():
    assert {"wrong-tests", "metrics"} <= printed(compared(n_models=2, labels=DISEASES, costs=[1, 2, 3, 4]))
    many = compared(n_models=7, n_classes=12, costs=list(range(1, 13)))
    assert "wrong-tests" in printed(many)
    assert not printed(many) & {"case", "metrics", "methods"}


def test_one_model_alone_is_printed_in_detail_on_a_second_sheet():
    assert printed(compared(n_models=1, costs=[1, 2, 3, 4])) == {"wrong-tests", "detail"}


def test_without_prices_the_unit_stands_above_the_bars_and_not_in_every_cell():
    page = render_report(compared())
    assert "Cost per case, in typical test prices" in page
    assert not re.findall(r'class="written">[^<]*[a-z]', page)
    assert "typical test prices<" not in render_report(compared(costs=[1, 2, 3, 4])).partition('id="bars"')[0]


def test_what_a_note_explains_is_not_said_again_under_what_was_done_to_the_files():
    lacking = "net has no flu: taken as probability 0, the truth of 3 cases"
    remarks = (Remark(CLASSES_TAKEN_AS_0, 3, lacking, "net"), Remark("rows", 1, "left out 1 case", None))
    comparison = replace(compared(), notes=(f"{lacking}.",), remarks=remarks)
    without_data = re.sub(r"<script.*?</script>", "", render_report(comparison), flags=re.DOTALL)
    assert without_data.count("taken as probability 0") == 1
    assert "left out 1 case" in without_data


def test_money_is_named_only_where_somebody_priced_the_tests():
    priced = compared(costs=[1.0, 2.0, 3.0, 4.0], currency="EUR")
    assert "the money goes to" in render_report(priced)
    assert "the money goes to" not in render_report(compared())


def test_equal_prices_are_not_called_stated():
    assert "stated price" not in re.sub(r"<script.*?</script>", "", render_report(compared()), flags=re.DOTALL)
    priced = compared(costs=[1.0, 2.0, 3.0, 4.0], currency="EUR")
    assert "Back to the stated prices" in render_report(priced)


def test_prices_that_nobody_stated_are_not_printed():
    (unpriced,) = [
        section
        for section in Page(render_report(compared())).all("section")
        if section["attributes"].get("id") == "prices"
    ]
    assert unpriced["attributes"]["class"] == "unpriced"
    assert 'class="unpriced"' not in render_report(compared(costs=[1.0, 2.0, 3.0, 4.0], currency="EUR"))
