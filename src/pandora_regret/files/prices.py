"""What tests cost, and how uncertain that is, as a person writes it on one line or in a file."""

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple
from unicodedata import category

import numpy as np

from pandora_regret.core.inputs import (
    FloatArray,
    InputError,
    TwoReadings,
    check_costs,
    did_you_mean,
    folded,
    matched,
    quoted,
    remark_on,
    two_readings,
)
from pandora_regret.core.priors import Prior
from pandora_regret.core.priors.names import COSTS_FILE, PRIORS, spelled_priors
from pandora_regret.files.dialect import Dialect
from pandora_regret.files.file_errors import FileError
from pandora_regret.files.recognise import MOST_NAMED, Remarks, names_matched
from pandora_regret.files.source import ROWS_AT_ONCE, Source
from pandora_regret.files.written import named_twice, read_texts, read_written_number
from pandora_regret.optional import import_optional
from pandora_regret.text import SYMBOLS, listed, unit_named

SEPARATED = "commas separate entries, so write such as flu=$1250.00,cold=$95, or use a file"
NAME_COLUMNS = ("class", "name", "test", "label")  # what the columns of a price list are usually called
COST_COLUMNS = ("cost", "price", "fee", "minutes")
UNIT_COLUMNS = ("currency", "unit")
PRICE = re.compile(r"([^\d.,+-]*)([+-]?[.,]?\d(?:[\d.,'’\s]*\d)?)([eE][+-]?\d+)?([^\d]*)")
WHOLE_PART = re.compile(r"[+-]?(?:\d*|[1-9]\d{0,2}([.,' ])(?:\d{2,3}\1)*\d{3})")  # two: lakhs are written 1,25,000
MULTIPLES = frozenset(["k", "m", "mio", "mn", "bn", "tsd", "thousand", "million"])


@dataclass(frozen=True, eq=False)
class Prices:
    """Typical costs of the tests, in the order of the classes."""

    costs: FloatArray  # (K,)
    currency: str  # or another unit; "" where there is none
    source: str  # where they come from
    remarks: Remarks = ()  # prices that were not used


@dataclass(frozen=True)
class PriceList:
    """Prices by name, as somebody wrote them, whatever the classes are."""

    costs: Mapping[str, float]
    unit: str  # "" where there is none
    source: str  # where they come from
    written_out: bool = False  # on the command line, rather than in a file
    remarks: Remarks = ()

    @property
    def place(self) -> str:
        """What to call it in an error."""
        return "costs" if self.written_out else self.source

    def for_classes(self, classes: Sequence[str]) -> Prices:
        """The classes' prices, in their order; each must have one, and prices of others are counted."""
        names = [str(name) for name in classes]
        costs, remarks, unused = self.match(names)
        missing = [name for name in names if name not in costs]
        if missing:
            hint = f"; {did_you_mean(missing[0], unused)}" if unused else ""
            problem = f"has no price for {quoted(missing)}"
            fix = f"every class that is forecast needs one{hint}"
            raise InputError(problem, place=self.place, value=missing, fix=fix)
        in_order = np.array([costs[name] for name in names])
        return Prices(check_costs(in_order, f"{self.place}: the cost", names), self.unit, self.source, remarks)

    def changes(self, classes: Sequence[str], unit: str) -> tuple[dict[str, float], Remarks]:
        """What a scenario changes of prices in this unit; in a file, other names are counted and left out."""
        if self.unit and self.unit != unit:
            problem = f"is in {self.unit} but prices are {f'in {unit}' if unit else 'without a unit'}"
            raise InputError(problem, place=self.place, fix="write both in one unit")
        costs, remarks, unused = self.match(classes)
        if self.written_out and unused:
            fix = did_you_mean(unused[0], list(map(str, classes)))
            raise InputError(f"names {quoted(unused)}", place=self.place, value=unused, fix=fix)
        return costs, remarks

    def match(self, classes: Iterable[str]) -> tuple[dict[str, float], Remarks, list[str]]:
        """Prices by class; what was done: names that are spelled otherwise, prices not used; and their names."""
        written = matched(map(str, classes), self.costs)
        used = set(written.values())
        remarks = self.remarks + names_matched([(a, b) for b, a in written.items() if a != b], "price", self.place)
        unused = [name for name in self.costs if name not in used]
        sentence = f"price{'s' * (len(unused) > 1)} of {listed(unused, MOST_NAMED)} not used"
        remarks += remark_on("prices not used", len(unused), sentence, self.source)
        return {name: self.costs[price] for name, price in written.items()}, remarks, unused


def read_price_list(text: str, unit: str = "", sheet: str | None = None) -> PriceList:
    """Prices by name, as a person writes them on one line or in a file.

    Parameters
    ----------
    text
        Costs written out, ``CT=300,scope=$950``; or the path of a table (CSV, Excel, Parquet, ...) with one column
        of names and one of costs, perhaps followed by their names, ``prices.csv:CLASS_COLUMN:COST_COLUMN``; or the
        path of a pathway file in TOML, or the name of a shipped one. A sheet of a workbook may follow its path,
        ``prices.xlsx#SHEET`` or ``prices.xlsx#SHEET:CLASS_COLUMN:COST_COLUMN``.
    unit
        What costs are in, such as "USD" or "minutes", where they do not say so themselves.
    sheet
        Of a workbook, where the text does not say it; the first otherwise.

    Returns
    -------
    PriceList
        Costs by name, and their unit.

    Examples
    --------
    >>> prices = read_price_list("CT=$300,scope=$950")
    >>> prices.costs, prices.unit
    ({'CT': 300.0, 'scope': 950.0}, 'USD')
    >>> prices.for_classes(["scope", "CT"]).costs
    array([950., 300.])
    """
    path, *columns = text.rsplit(":", 2)
    if len(columns) < 2 or not os.path.exists(_file_and_sheet(path)[0]) or os.path.exists(text):
        path = text  # a file whose own name has colons is just that
        columns = []
    path, of_path = _file_and_sheet(path)
    if "=" in text and not os.path.exists(path):
        texts = read_texts(text, "costs", SEPARATED)
        prices = read_amounts(texts, "costs", place=lambda name: f"costs: the value of {name!r}")
        prices = replace(prices, source=text, written_out=True)
    elif columns or os.path.splitext(path)[1].lower() not in ("", ".toml"):  # those are pathways
        prices = _read_price_table(path, of_path or sheet, *columns)
    else:
        from pandora_regret.core.costs import load_costs

        pathways = load_costs(path)
        prices = PriceList(pathways.costs, pathways.currency, path)
    if not unit:
        return prices
    written = prices.unit
    currency = unit_named(unit)
    symbol = SYMBOLS.get(currency, currency)
    may_be_the_same = symbol.endswith(SYMBOLS.get(written, written))  # "$" may be any dollar
    if written and not may_be_the_same:
        fix = "leave the unit out, or correct the prices"
        raise InputError(f"is in {written}, not in {currency}", place=prices.place, value=currency, fix=fix)
    return replace(prices, unit=currency)


def _file_and_sheet(path: str) -> tuple[str, str | None]:
    """``prices.xlsx#SHEET`` in two, unless a file is called so."""
    file, _, sheet = path.rpartition("#")
    return (file, sheet) if os.path.exists(file) and not os.path.exists(path) else (path, None)


def read_prior_argument(text: str) -> Prior:
    """A prior from a word, ``gamma:2``, or ``empirical:FILE`` with a column of observed costs for each class.

    Parameters
    ----------
    text
        The prior, as people write it.

    Returns
    -------
    Prior
        For the `prior` of any score.

    Examples
    --------
    >>> read_prior_argument("uniform"), read_prior_argument("lognormal:0.5")
    (Beta(alpha=1.0), LogNormal(...))
    """
    name, _, rest = text.partition(":")
    make, parameter = PRIORS.get(name, (None, None))
    if make is None or (parameter is None) != (text == name) or text.endswith(":"):
        raise InputError(argument="prior", value=text, fix=f"write {spelled_priors()}, such as gamma:2")
    if parameter == COSTS_FILE:
        return make(*_read_observed_costs(rest))
    numbers = [] if parameter is None else [read_written_number(rest, f"prior {text!r}: the parameter")]
    return make(*numbers)


def _read_price_table(
    path: str, sheet: str | None, name_column: str | None = None, cost_column: str | None = None
) -> PriceList:
    """The cost of each class, from columns that are named, or called as such columns are."""
    import_optional("pyarrow", extra="cli")
    from pandora_regret.files.formats import open_source

    source = open_source(path, dialect=Dialect(decimal=".", sheet=sheet))  # `read_amounts` tells what commas mean
    written = path if sheet is None else f"{path}#{sheet}"
    columns = [
        _named_column(source, NAME_COLUMNS, name_column, written),
        _named_column(source, COST_COLUMNS, cost_column, written),
    ]
    columns += [name for name in matched(UNIT_COLUMNS, source.kinds).values() if name not in columns][:1]
    texts, decimal = _price_texts(source, columns)
    names_in_order = list(texts)  # one in each row

    def place(name: str) -> str:
        """Where the amount of a name stands."""
        return f"{path}{source.place(names_in_order.index(name))}: the cost of {name!r}"

    prices = read_amounts(texts, path, place, decimal)
    usual_unit = "min" if folded(columns[1]) == "minutes" else ""
    return replace(prices, unit=prices.unit or usual_unit, remarks=source.remarks + prices.remarks)


def _price_texts(source: Source, columns: Sequence[str]) -> tuple[dict[str, str], str | None]:
    """The amount for each name, with its unit, from the columns of names, amounts and perhaps units.

    And the decimal sign of the amounts, where that is known: they are numbers, and no text.
    """
    from pandora_regret.files.arrow_columns import kinds_of_schema, texts_of

    texts = dict[str, str]()
    decimal: str | None = "."
    for part in source.read(columns, frozenset(), ROWS_AT_ONCE):
        if kinds_of_schema(part.schema)[columns[1]] != "number":
            decimal = None
        names, costs, *units = (texts_of(part.column(column)).tolist() for column in columns)
        units_of_rows = units[0] if units else [""] * len(names)
        for name, cost, unit in zip(names, costs, units_of_rows, strict=True):
            _add_price(texts, name or "", cost or "", unit or "", source.path)
    return texts, decimal


def _add_price(texts: dict[str, str], name: str, cost: str, unit: str, path: str) -> None:
    """Add a row of a price list: its name, and its cost with its unit as one text."""
    name = name.strip()
    cost = cost.strip()
    if name in texts:
        raise named_twice(name, path)
    texts[name] = f"{cost} {unit.strip()}".strip() if cost[-1:].isdigit() else cost


def _named_column(source: Source, usual: Sequence[str], name: str | None, written: str) -> str:
    """The column that is named, else the only one of a usual name; "class" goes first.

    An error says which columns hold names and which hold amounts; `written` is how the table was asked for.
    """
    columns = list(matched(usual if name is None else [name], source.kinds).values())
    if name is not None and not columns:
        raise FileError(f"has no column {name!r}", source.path, did_you_mean(name, source.kinds), column=name)
    if len(columns) != 1 and not (columns and folded(columns[0]) == "class"):
        problem = f"has {'the columns' if columns else 'none of the columns'} {', '.join(columns or usual)}"
        names, amounts = _names_and_amounts(source)
        if names and amounts:
            hold = "holds" if len(names) == 1 else "hold"
            fix = f"{quoted(names)} {hold} names: write {written}:{names[0]}:{amounts[0]}"
        else:
            fix = f"name the two columns, {written}:CLASS_COLUMN:COST_COLUMN"
        raise FileError(f"{problem} among {quoted(source.kinds)}", source.path, fix)
    return columns[0]


def _names_and_amounts(source: Source) -> tuple[list[str], list[str]]:
    """The columns of names, and those of amounts, as their first value shows."""
    from pandora_regret.files.arrow_columns import texts_of

    names = list[str]()
    amounts = list[str]()
    columns = [column for column, kind in source.kinds.items() if kind != "nested"]
    first_rows = next(iter(source.read(columns, frozenset(), 1)), None)
    if first_rows is None:
        return names, amounts
    for column in columns:
        first = next((text for text in texts_of(first_rows.column(column)).tolist() if text), "")
        match = PRICE.fullmatch(first.strip())
        if match is not None and any(character.isdigit() for character in first):
            amounts.append(column)
        elif first:
            names.append(column)
    return names, amounts


def _read_observed_costs(path: str) -> tuple[FloatArray, list[str]]:
    """Observed cost vectors, (n, K), and the classes: every column of numbers is a class."""
    import_optional("pyarrow", extra="cli")
    from pandora_regret.files.columns import Columns
    from pandora_regret.files.formats import open_source
    from pandora_regret.files.predictions import Predictions

    try:
        source = open_source(path)
    except FileError as error:
        readings = two_readings(str(error.value))
        if error.argument != "decimal" or readings is None:
            raise
        raise error.replace(fix=readings.fix) from None  # how this file is written cannot be said
    columns = tuple(name for name, kind in source.kinds.items() if kind == "number")
    if len(columns) < 2:
        raise FileError(f"has {len(columns)} columns of numbers", path, "write one column of costs for each class")
    samples = [batch.values for batch in Predictions(path, (source,), Columns(columns, columns)).batches()]
    if not samples:
        raise FileError("has no rows", path, "write one observed cost vector per row")
    return np.concatenate(samples).astype(np.float64), list(columns)


class _Price(NamedTuple):
    """An amount as it is written, and what it may mean."""

    readings: dict[str, float]  # by the mark that may stand before decimals
    unit: str
    text: str


def read_amounts(
    texts: Mapping[str, str],
    source: str,
    place: Callable[[str], str | None] = lambda name: None,
    decimal: str | None = None,
) -> PriceList:
    """Amounts of money or of time, as people write them, in one unit.

    Whether ``1,250`` is a thousand and more, or one and a quarter, is decided by all of them together: by those
    that can be read in one way only. Where none tells, that is an error.

    Parameters
    ----------
    texts
        What is written for each name.
    source
        Where they come from.
    place
        From a name to where its amount stands, for an error.
    decimal
        The mark before decimals, where that is known: of numbers that a computer wrote.

    Returns
    -------
    PriceList
        Prices by name, and their unit.

    Examples
    --------
    >>> prices = read_amounts({"CT": "1.250 €", "X-ray": "87,50 EUR"}, "prices.csv")
    >>> prices.costs, prices.unit
    ({'CT': 1250.0, 'X-ray': 87.5}, 'EUR')
    >>> read_amounts({"CT": "1,250"}, "prices.csv")
    Traceback (most recent call last):
    pandora_regret.core.inputs.errors.InputError: costs of class 'CT' is '1,250', which can be read as 1250 or as
    1.25: write 1250 or 1.25; another amount with decimals (12.50 or 12,50) tells, too.
    """
    try:
        prices = {name: _read_amount(text, name) for name, text in texts.items()}
        unit = _common_unit(prices)
        mark = decimal or _decimal_mark(prices)
    except InputError as error:
        name = str(error.column)
        raise error.replace(place=place(name), value=texts[name]) from None
    return PriceList({name: price.readings[mark] for name, price in prices.items()}, unit, source)


def _common_unit(prices: Mapping[str, _Price]) -> str:
    """The unit of all prices, "" where none has one."""
    units = {name: price.unit for name, price in prices.items() if price.unit}
    first = next(iter(units), "")
    for name, unit in units.items():
        if unit.casefold() != units[first].casefold():
            problem = f"is in {unit} but that of {first!r} is in {units[first]}"
            fix = "write all of them in one unit"
            raise InputError(problem, argument="costs", place="", column=name, value=unit, fix=fix)
    return units.get(first, "")


def _read_amount(text: str, name: str) -> _Price:
    """What an amount may mean, with its unit; `name` is said in the error for what is no amount."""
    match = PRICE.fullmatch(text.strip())
    readings: dict[str, float] = {}
    units = set[str]()
    if match is not None:
        before, digits, exponent, after = match.groups("")
        units = {unit_named(unit) for unit in (before, after.strip(".-–— ")) if unit.strip()}
        readings = _number_readings(digits, exponent)
    unit = " ".join(units)
    named = not unit or any(letter.isalpha() or category(letter) == "Sc" for letter in unit)
    if not readings or len(units) > 1 or not named or unit.strip("$€£¥").casefold() in MULTIPLES:
        fix = "write a number, such as 1250 or 1250.00, with or without its unit"
        raise InputError(f"is {text!r}", argument="costs", place="", column=name, value=text, fix=fix)
    return _Price(readings, unit, text.strip())


def _number_readings(digits: str, exponent: str) -> dict[str, float]:
    """What digits with marks between them may mean, by the mark that stands before decimals.

    Examples
    --------
    >>> _number_readings("1,250", "")
    {'.': 1250.0, ',': 1.25}
    """
    readings: dict[str, float] = {}
    for mark in ".,":
        whole, _, fraction = re.sub(r"\s", " ", digits).replace("’", "'").partition(mark)
        if WHOLE_PART.fullmatch(whole) and re.fullmatch(r"\d*", fraction):
            whole = re.sub("[.,' ]", "", whole)
            readings[mark] = float(f"{whole}.{fraction}{exponent}")
    return readings


def _decimal_mark(prices: Mapping[str, _Price]) -> str:
    """The mark before decimals, as those prices tell that can be read in one way only."""
    not_with_point = [name for name, price in prices.items() if "." not in price.readings]
    not_with_comma = [name for name, price in prices.items() if "," not in price.readings]
    if not_with_point and not_with_comma:
        problem = f"has another decimal mark than that of {not_with_comma[0]!r}"
        name = not_with_point[0]
        fix = "write all of them in one way"
        raise InputError(problem, argument="costs", place="", column=name, value=prices[name].text, fix=fix)
    if not_with_point:
        return ","
    if not not_with_comma:
        for name, price in prices.items():
            amounts = sorted(set(price.readings.values()), reverse=True)
            if len(amounts) > 1:
                readings = TwoReadings(*amounts)
                problem = f"is {price.text!r}, which {readings.in_words}"
                fix = f"{readings.fix}; another amount with decimals (12.50 or 12,50) tells, too"
                raise InputError(problem, argument="costs", place="", column=name, value=price.text, fix=fix)
    return "."
