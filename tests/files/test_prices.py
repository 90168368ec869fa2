"""Prices and priors as written on a command line."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prediction_files import prices_of, remark_of

from pandora_regret import Empirical
from pandora_regret.core.inputs import InputError
from pandora_regret.files import FileError, read_price_list, read_prior_argument
from pandora_regret.files.prices import read_amounts

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def refused(read, *arguments):
    with pytest.raises(InputError) as error:
        read(*arguments)
    return str(error.value)


def test_costs_can_be_written_out():
    prices = prices_of("dog = 30, cat=2.5e1,a=b=1", ["cat", "a=b", "dog"])
    assert prices.costs.tolist() == [25.0, 1.0, 30.0]
    assert prices.currency == ""
    assert prices_of('"big, bad=3",wolf=4', ["wolf", "big, bad"]).costs.tolist() == [4.0, 3.0]
    assert prices_of("1=5,0=6", ["0", "1"]).costs.tolist() == [6.0, 5.0]


def test_costs_can_be_a_table(tmp_path):
    (tmp_path / "costs.csv").write_text("cost,class,note\n25,cat,x\n30,<script>,y\n")
    prices = prices_of(str(tmp_path / "costs.csv"), ["<script>", "cat"])
    assert prices.costs.tolist() == [30.0, 25.0]
    assert prices.source == str(tmp_path / "costs.csv")
    (tmp_path / "a=1.csv").write_text("class,cost\n7,2\n3,4\n")  # a file's name may look like a price
    assert prices_of(str(tmp_path / "a=1.csv"), ["3", "7"]).costs.tolist() == [4.0, 2.0]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("cat=1", ["costs", "price for 'dog'"]),
        ("cat=1,dgo=2", ["price for 'dog'", "did you mean 'dgo'?"]),
        ("cat=1,dog=two", ["'dog'", "'two'", "number"]),
        ("cat=1,dog=", ["'dog'", "''"]),
        ("cat=1,dog=0", ["'dog'", "0", "positive"]),
        ("cat=1,dog=2,cat=3", ["'cat' twice"]),
        ("no-such-file", ["'no-such-file'", "octmnist"]),
        ("no-such-file.csv", ["no-such-file.csv", "No such file"]),
    ],
)
def test_costs_that_do_not_fit_are_explained(text, says):
    message = refused(prices_of, text, ["cat", "dog"])
    for word in says:
        assert word in message


def test_tables_of_costs_that_do_not_fit_are_explained(tmp_path):
    path = tmp_path / "costs.csv"
    path.write_text("animal,cost\ncat,1\n")
    with pytest.raises(FileError) as caught:
        prices_of(str(path), ["cat", "dog"])
    assert caught.value.path == str(path)
    assert caught.value.fix.endswith(f" {path}:animal:cost")  # the column of names, and that of amounts
    path.write_text("animal,price\n1,1\n")
    with pytest.raises(FileError) as caught:
        prices_of(str(path), ["cat", "dog"])
    assert caught.value.fix.endswith(f" {path}:CLASS_COLUMN:COST_COLUMN")
    path.write_text("class,cost\ncat,1\ndog,cheap\n")
    with pytest.raises(InputError) as caught:
        prices_of(str(path), ["cat", "dog"])
    assert (caught.value.column, caught.value.value) == ("dog", "cheap")
    assert caught.value.place.startswith(f"{path} line 3")
    path.write_text("class,cost\ncat,1\ncat,2\n")
    assert "'cat' twice" in refused(prices_of, str(path), ["cat", "dog"])


def listed_in(tmp_path, rows, name="prices.csv"):
    path = tmp_path / name
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("header", ["class,cost", "Name,Price", "TEST,Fee", "label, minutes", "class,cost,name"])
def test_columns_are_found_by_their_usual_names(tmp_path, header):
    rows = [
        ",".join([name, price, f"a {name}"][: header.count(",") + 1])
        for name, price in (("cat", "20"), ("dog", "30"))
    ]
    prices = read_price_list(listed_in(tmp_path, [header, *rows]))
    assert prices.costs == {"cat": 20.0, "dog": 30.0}
    assert prices.unit == ("min" if "minutes" in header else "")


WRITTEN = [
    (["$1,250.00", "$300", "$95.5"], [1250.0, 300.0, 95.5], "USD"),
    (["1.250,00 €", "300 €", "1.300 €"], [1250.0, 300.0, 1300.0], "EUR"),
    (["1 250 EUR", "300 €", "12\u202f500 euros"], [1250.0, 300.0, 12500.0], "EUR"),
    (["1'250.00 CHF", "95.- CHF", "CHF 12"], [1250.0, 95.0, 12.0], "CHF"),
    (["95 min", "2 minutes", "1.5 mins"], [95.0, 2.0, 1.5], "min"),
    (["US$ 5", "$5", "5 usd"], [5.0, 5.0, 5.0], "USD"),
    (["₹1,25,000", "₹95,500.50", "₹12"], [125000.0, 95500.5, 12.0], "INR"),
    (["1e3", "2.5E-1", ".5"], [1000.0, 0.25, 0.5], ""),
    (["1.125", "2.25", "3"], [1.125, 2.25, 3.0], ""),
    (["1,250", "12,50"], [1.25, 12.5], ""),
    (["$1,250", "$1,250.00"], [1250.0, 1250.0], "USD"),
    (["1250", "1.2500"], [1250.0, 1.25], ""),  # as the error says to write the two readings of 1,250
    (["12,5", "1.250", "3"], [12.5, 1250.0, 3.0], ""),
    (["0,125", "1,250", "3"], [0.125, 1.25, 3.0], ""),
    (["1,250,000", "1,250", "3.5"], [1250000.0, 1250.0, 3.5], ""),
]


@pytest.mark.parametrize(("texts", "values", "unit"), WRITTEN)
def test_prices_are_read_as_people_write_them(tmp_path, texts, values, unit):
    names = list("abc")[: len(texts)]
    rows = [f'{name},"{text}"' for name, text in zip(names, texts, strict=True)]
    prices = prices_of(listed_in(tmp_path, ["class,cost", *rows]), names)
    assert prices.costs.tolist() == values
    assert prices.currency == unit
    assert prices.remarks == ()


TWO_WAYS = [
    (["1,250", "2,400"], 0, "1,250", (1250.0, 1.25)),
    (["$300", "$1,250", "$95"], 1, "$1,250", (1250.0, 1.25)),  # whole hundreds settle nothing
    (["1.250 €", "95 €"], 0, "1.250 €", (1250.0, 1.25)),
    (["1.125", "2.250", "3"], 0, "1.125", (1125.0, 1.125)),
    (["12", "125,000"], 1, "125,000", (125000.0, 125.0)),
]


@pytest.mark.parametrize(("texts", "row", "value", "readings"), TWO_WAYS)
def test_an_amount_that_can_be_read_in_two_ways_is_refused_with_both(tmp_path, texts, row, value, readings):
    rows = [f'{name},"{text}"' for name, text in zip("abc", texts, strict=False)]
    path = listed_in(tmp_path, ["class,cost", *rows])
    with pytest.raises(InputError) as caught:
        read_price_list(path)
    error = caught.value
    assert (error.column, error.value) == ("abc"[row], value)
    assert error.place.startswith(f"{path} line {2 + row}")
    for way, reading in zip(_ways_offered(error), readings, strict=True):  # each is read in this way only
        assert read_amounts({"a": way, "b": "3"}, "prices.csv").costs["a"] == reading


def _ways_offered(error):
    """How an error says that a price can be written, the larger reading first."""
    return error.fix.removeprefix("write ").partition(";")[0].split(" or ")


def test_numbers_that_are_no_text_have_one_reading(tmp_path):
    pq.write_table(pa.table({"class": ["a", "b"], "cost": [1.125, 2.375]}), tmp_path / "prices.parquet")
    assert read_price_list(str(tmp_path / "prices.parquet")).costs == {"a": 1.125, "b": 2.375}
    (tmp_path / "prices.jsonl").write_text('{"class": "a", "cost": 1.125}\n{"class": "b", "cost": 3}\n')
    assert read_price_list(str(tmp_path / "prices.jsonl")).costs == {"a": 1.125, "b": 3.0}


UNREADABLE = [
    (["1,250.00", "1.250,00"], "b"),  # two decimal marks
    (["$5", "5 €"], "b"),  # two units
    (["1,25.5", "2"], "a"),
    (["$1.2k", "2"], "a"),
    (["5 %", "2"], "a"),
    (["$5 CHF", "2"], "a"),
    (["1h30", "2"], "a"),
    (["", "2"], "a"),
]


@pytest.mark.parametrize(("texts", "name"), UNREADABLE)
def test_prices_that_cannot_be_read_are_named(tmp_path, texts, name):
    path = listed_in(
        tmp_path, ["class,cost", *(f'{name},"{text}"' for name, text in zip("ab", texts, strict=True))]
    )
    with pytest.raises(InputError) as caught:
        read_price_list(path)
    index = "ab".index(name)
    assert (caught.value.column, caught.value.value) == (name, texts[index])
    assert caught.value.place.startswith(f"{path} line {2 + index}")


@given(st.lists(st.text("0123456789.,' -+eE$€kminCHF%\u202f’–", max_size=12), min_size=1, max_size=4))
def test_any_text_is_a_number_or_an_error_that_names_it(texts):
    named = {str(number): text for number, text in enumerate(texts)}
    try:
        prices = read_amounts(named, "prices.csv")
    except InputError:
        return
    assert list(prices.costs) == list(named)
    assert not any(np.isnan(list(prices.costs.values())))


def test_a_currency_column_is_used(tmp_path):
    path = listed_in(tmp_path, ["test,fee,Currency", "a,5,EUR", "b,6,€", "c,7,"])
    assert read_price_list(path).unit == "EUR"
    path = listed_in(tmp_path, ["test,fee,currency", "a,5,EUR", "b,6,CHF"])
    with pytest.raises(InputError) as caught:
        read_price_list(path)
    assert (caught.value.column, caught.value.value) == ("b", "6 CHF")
    assert "'a' is in EUR" in str(caught.value)


def test_prices_of_classes_that_nobody_forecasts_are_counted(tmp_path):
    path = listed_in(tmp_path, ["class,cost", "cat,1", "cow,2", "dog,3"])
    prices = prices_of(path, ["dog", "cat"])
    assert prices.costs.tolist() == [3.0, 1.0]
    [remark] = prices.remarks
    assert remark_of(remark) == ("prices not used", 1, path)
    assert "cow" in remark.sentence
    many = ",".join(f"c{k}={k + 1}" for k in range(9))
    [remark] = prices_of(many, ["c0", "c1"]).remarks
    assert remark_of(remark) == ("prices not used", 7, many)
    assert "c6 and 2" in remark.sentence


def test_empirical_priors_are_read_from_tables(tmp_path):
    samples = np.random.default_rng(0).uniform(1, 9, (5, 2))
    table = pa.table({"when": ["x"] * 5, "dog": samples[:, 0], "cat": samples[:, 1]})
    pq.write_table(table, tmp_path / "a.parquet")
    np.savetxt(tmp_path / "a.csv", samples, delimiter=",", header="dog,cat", comments="", fmt="%.17g")
    for ending in (".parquet", ".csv"):
        prior = read_prior_argument(f"empirical:{tmp_path / 'a'}{ending}")
        assert isinstance(prior, Empirical)
        assert list(prior.labels) == ["dog", "cat"]
        np.testing.assert_array_equal(prior.samples, samples)


@pytest.mark.parametrize(
    ("amount", "ways"), [("1,250", ["1250", "1.25"]), ("1.250", ["1250", "1.25"]), ("1.125", ["1125", "1.1250"])]
)
def test_observed_costs_of_two_readings_are_refused_with_how_to_write_each(tmp_path, amount, ways):
    path = listed_in(tmp_path, ["dog;cat", f"{amount};2{amount[1:]}"])
    with pytest.raises(InputError) as caught:
        read_prior_argument(f"empirical:{path}")
    assert caught.value.value == amount
    assert [word for word in caught.value.fix.split() if word[0].isdigit()] == ways  # no option can say it
    path = listed_in(tmp_path, ["dog;cat", f"{amount}0;2{amount[1:]}"])
    assert read_prior_argument(f"empirical:{path}").samples[0, 0] == float(amount.replace(",", "."))
