"""Amounts, shares, lists and names as a person would write them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pandora_regret.inference.estimate import Estimate
from pandora_regret.text import DisplayCell, DisplayTable, Formats, class_name, fixed, listed, money, money_between

AMOUNTS = [
    (41.26, "USD", "$41.30"),
    (0.357, "GBP", "£0.36"),
    (0.0341, "USD", "$0.03"),
    (3.456e9, "usd", "$3.46 billion"),
    (0.0, "USD", "$0"),
    (-1e-320, "USD", "$0"),
    (180.2, "tests", "180 tests"),
    (180.2, None, "180 typical test prices"),
    (31.26, "", "31.3"),
    (95.0, "working minutes", "95 working minutes"),
    (2.5, "A$", "A$2.50"),
    (999.7, "USD", "$1,000"),
    (999_999.0, "USD", "$1 million"),
]


@pytest.mark.parametrize(("amount", "currency", "text"), AMOUNTS)
def test_amounts_are_written_as_people_write_them(amount, currency, text):
    assert money(amount, currency) == text


@given(st.floats(1e-6, 1e15), st.sampled_from(["$", "tests"]))
def test_an_amount_in_words_is_the_amount_to_three_digits(amount, currency):
    text = money(amount, currency).removesuffix(" tests").removesuffix(" test").removeprefix("$").replace(",", "")
    number, *word = text.split(" ")
    scale = {"million": 1e6, "billion": 1e9, "trillion": 1e12}[word[0]] if word else 1
    assert float(number) * scale == pytest.approx(
        amount, rel=0.006 if amount >= 1 or currency == "tests" else 0.06
    )


def test_lists_and_classes_are_written_as_people_do():
    assert [listed("abc"[:n]) for n in (1, 2, 3)] == ["a", "a and b", "a, b and c"]
    names = [class_name(name) for name in ("3", "-1", "2.5", "nevus", "T4")]
    assert names == ["class 3", "class -1", "class 2.5", "nevus", "T4"]


@pytest.mark.parametrize(
    ("currency", "largest", "text"),
    [
        ("USD", 180.0, "$1,234.50"),
        ("usd", 2e6, "$1,234"),
        ("CHF", 180.0, "1,234.50 CHF"),
        ("tests", 180.0, "1,234.5 tests"),
        ("", 0.05, "1,234.50000"),
    ],
)
def test_money_has_its_currency_and_enough_digits(currency, largest, text):
    assert Formats([largest], currency).money(1234.5) == text


BETWEEN = [
    ((22554.66, 4213.0, 40812.0, "USD"), "$23,000 (4,000 to 41,000)"),
    ((596.26, 591.53, 600.98, "EUR"), "€596 (592 to 601)"),
    ((596.26, 596.2591, 596.2611, "EUR"), "€596.26 (596.26 to 596.26)"),
    ((-3.2, -14.1, 9.3, "USD"), "−$3 (−14 to 9)"),
    ((-0.2, -14.1, 13.3, "USD"), "$0 (−14 to 13)"),
    ((15.2, 0.3, 30.1, "USD"), "$15.20 (0.30 to 30.10)"),
    ((0.0011, 0.00026, 0.00194, "tests"), "0.00110 tests (0.00026 to 0.00194)"),
    ((95.3, 90.0, 101.0, "min"), "95.3 min (90.0 to 101.0)"),
    ((1.0, 0.2, 1.9, "tests"), "1.00 tests (0.20 to 1.90)"),
    ((0.374, 0.31, 0.43, "USD"), "$0.374 (0.310 to 0.430)"),
    ((4.174, 3.121, 5.281, "USD"), "$4.17 (3.12 to 5.28)"),
    ((1.0, 1.0, 1.0, "tests"), "1 test"),
    ((1.0, 1.0, 1.0, None), "1 typical test price"),
    ((41.26, None, 50.0, "USD"), "$41.30"),
    ((41.26, 40.0, float("inf"), "USD"), "$41.30"),
]


@pytest.mark.parametrize(("given", "text"), BETWEEN)
def test_an_amount_and_its_interval_are_rounded_by_the_width(given, text):
    assert money_between(*given) == text


def test_estimates_in_tables_are_rounded_by_their_own_width():
    formats = Formats([22554.66], "USD")
    assert formats.estimate("money", Estimate(22554.66, 4213.0, 40812.0)) == ("$23,000", "4,000–41,000")
    assert formats.estimate("money", Estimate(596.26, 591.53, 600.98)) == ("$596", "592–601")
    assert formats.estimate("money", Estimate(596.26, 591.53, 600.98), least_digits=2) == ("$596.26", "592–601")
    tests = Formats([1.4], "tests")
    assert tests.estimate("money", Estimate(0.0011, 0.00026, 0.00194)) == ("0.0011 tests", "0.0003–0.0019")
    assert formats.estimate("money", Estimate(596.26, None, None)) == ("$596.26", "")
    assert formats.estimate("score", Estimate(0.29174, 0.2893, 0.2941)) == ("0.2917", "0.2893–0.2941")
    assert formats.estimate("score", Estimate(0.29174, 0.12, 0.47)) == ("0.29", "0.12–0.47")
    assert formats.estimate("share", Estimate(None, None, None)) == ("–", "")
    assert formats.estimate("tests", Estimate(2.345, 2.1, 2.52)) == ("2.35", "2.10–2.52")


def test_numbers_of_numpy_are_written_as_others_are():
    value, low, high = np.array([180.2, 161.2, -199.7])
    assert (money(value, "USD"), money(high, "USD"), fixed(low, 1)) == ("$180", "−$200", "161.2")
    assert money_between(value, low, -high, "USD") == "$180 (161 to 200)"
    assert Formats([200.0], "USD").money(high) == "−$199.70"
    assert "*5" in DisplayTable(["Model", "Cost"], [["a", DisplayCell("5", best=np.bool_(True))]]).to_text(80, "*")
