"""Amounts, shares, lists and names as a person would write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pandora_regret.text import Formats, class_name, listed, money, percent

AMOUNTS = [
    (180.2, "USD", "$180"),
    (41.0, "USD", "$41"),
    (41.26, "USD", "$41.30"),
    (4.1, "EUR", "€4.10"),
    (4.0, "EUR", "€4"),
    (0.357, "GBP", "£0.36"),
    (0.0341, "USD", "$0.0341"),
    (4123.0, "USD", "$4,120"),
    (-41234.0, "$", "-$41,200"),
    (-0.4, "USD", "-$0.40"),
    (2.5e6, "CHF", "2.5 million CHF"),
    (3.456e9, "usd", "$3.46 billion"),
    (180.2, "SEK", "180 SEK"),
    (0.0, "USD", "$0"),
    (-1e-320, "USD", "$0"),
    (180.2, None, "180 units"),
    (0.58333, None, "0.583 units"),
    (12.0, None, "12 units"),
    (1234.5, None, "1,230 units"),
    (999.7, "USD", "$1,000"),
    (999_999.0, "USD", "$1 million"),
]


@pytest.mark.parametrize(("amount", "currency", "text"), AMOUNTS)
def test_amounts_are_written_as_people_write_them(amount, currency, text):
    assert money(amount, currency) == text


@given(st.floats(1e-6, 1e15), st.sampled_from(["$", None]))
def test_an_amount_in_words_is_the_amount_to_three_digits(amount, currency):
    text = money(amount, currency).removesuffix(" units").removeprefix("$").replace(",", "")
    number, *word = text.split(" ")
    scale = {"million": 1e6, "billion": 1e9, "trillion": 1e12}[word[0]] if word else 1
    assert float(number) * scale == pytest.approx(amount, rel=0.006 if amount >= 0.1 or currency is None else 0.06)


def test_shares_are_never_rounded_to_certainty():
    assert [percent(share) for share in (0.973, 0.9951, 0.004, 0.0, 1.0)] == [
        "97 %", "more than 99 %", "less than 1 %", "less than 1 %", "more than 99 %"
    ]  # fmt: skip


def test_lists_read_as_sentences_do():
    assert listed(["a"]) == "a"
    assert listed(["a", "b"]) == "a and b"
    assert listed(["a", "b", "c"]) == "a, b and c"


def test_a_class_that_is_a_number_is_called_a_class():
    assert [class_name(name) for name in ("3", "-1", "2.5", "nevus", "T4")] == [
        "class 3", "class -1", "class 2.5", "nevus", "T4"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("currency", "largest", "text"),
    [
        ("USD", 180.0, "$1,234.50"),
        ("usd", 2e6, "$1,234"),
        ("CHF", 180.0, "1,234.50 CHF"),
        (None, 180.0, "1,234.5"),
        (None, 0.05, "1,234.50000"),
    ],
)
def test_money_has_its_currency_and_enough_digits(currency, largest, text):
    assert Formats(currency, largest).money(1234.5) == text
