"""What tests cost, and how uncertain that is, as a person writes it on one line or in a file."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

import numpy as np

from pandora_regret.costs import load_costs
from pandora_regret.files.layout import RECOGNISED, Dialect, Layout, some
from pandora_regret.files.source import ROWS_AT_ONCE, FileError, Source, check_readable
from pandora_regret.files.written import named_twice, read_amounts, read_texts, read_written_number, unit_named
from pandora_regret.inputs import Done, FloatArray, InputError
from pandora_regret.inputs.costs import check_costs
from pandora_regret.optional import import_optional
from pandora_regret.priors import Prior
from pandora_regret.priors.names import FILE, PRIORS, spelled_priors
from pandora_regret.text import SYMBOLS, listed

MOST_NAMED = 5  # of prices that are not used
SEPARATED = "commas separate entries, so write such as flu=$1250.00,cold=$95, or use a file"
TABLES = (  # other files are pathways
    ".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".pq", ".arrow", ".feather", ".ipc", ".xlsx", ".xlsm", ".gz",
    ".bz2", ".zst",
)  # fmt: skip

NAMES, COSTS = ("class", "name", "test", "label"), ("cost", "price", "fee", "minutes")
UNITS = ("currency", "unit")
AS_WRITTEN = Dialect(decimal=".")  # commas stay in texts, where `read_amounts` tells what they mean


@dataclass(frozen=True, eq=False)
class Prices:
    """Typical costs of the tests, in the order of the classes."""

    costs: FloatArray  # (K,)
    currency: str  # or another unit; "" where there is none
    source: str  # where they come from
    done: tuple[Done, ...] = ()  # prices that were not used


@dataclass(frozen=True)
class PriceList:
    """Prices by name, as somebody wrote them, whatever the classes are."""

    costs: Mapping[str, float]
    unit: str  # "" where there is none
    source: str  # where they come from
    written_out: bool = False  # on the command line, rather than in a file
    done: tuple[Done, ...] = ()

    def for_classes(self, classes: Sequence[str]) -> Prices:
        """The classes' prices, in their order; each must have one, and prices of others are counted."""
        names = [str(name) for name in classes]
        if missing := [name for name in names if name not in self.costs]:
            raise self._missing(missing, names)
        costs = check_costs(np.array([self.costs[name] for name in names]), f"{self._place}: the cost", names)
        return Prices(costs, self.unit, self.source, (*self.done, *self.unused(names)))

    def changes(self, classes: Sequence[str], unit: str) -> tuple[dict[str, float], tuple[Done, ...]]:
        """What a scenario changes of prices in this unit; in a file, other names are counted and left out."""
        if self.unit and self.unit != unit:
            problem = f"is in {self.unit} but prices are {f'in {unit}' if unit else 'without a unit'}"
            raise InputError(problem, place=self._place, fix="write both in one unit")
        if self.written_out:
            return dict(self.costs), self.done
        known = {str(name) for name in classes}
        changed = {name: cost for name, cost in self.costs.items() if name in known}
        return changed, (*self.done, *self.unused(known))

    def in_unit(self, unit: str) -> PriceList:
        """The same prices, said to be in this unit; a file that says otherwise is an error."""
        written, said = (SYMBOLS.get(name, name) for name in (self.unit, unit))
        if self.unit and not said.endswith(written):  # "$" may be any dollar
            problem = f"is in {self.unit}, not in {unit}"
            raise InputError(
                problem, place=self._place, value=unit, fix="leave the unit out, or correct the prices"
            )
        return replace(self, unit=unit)

    @property
    def _place(self) -> str:
        return "costs" if self.written_out else self.source

    def unused(self, classes: Collection[str]) -> tuple[Done, ...]:
        """The prices of other names than these, counted."""
        unused = [name for name in self.costs if name not in classes]
        if not unused:
            return ()
        sentence = f"price{'s' * (len(unused) > 1)} of {listed(unused, MOST_NAMED)} not used"
        return (Done("prices not used", len(unused), sentence, self.source),)

    def _missing(self, missing: Sequence[str], classes: Collection[str]) -> InputError:
        """The names without a price, and the one that was perhaps meant."""
        others = [name for name in self.costs if name not in classes]
        meant = get_close_matches(missing[0], others, n=1, cutoff=0.5)
        hint = f"; nobody forecasts {some(others)}" if others else ""
        hint = f"; is {meant[0]!r} meant for {missing[0]!r}?" if meant else hint
        fix = f"every class that is forecast needs one{hint}"
        return InputError(f"has no price for {some(missing)}", place=self._place, value=missing, fix=fix)


def read_costs_argument(text: str, classes: Sequence[str], unit: str = "") -> Prices:
    """Prices from ``name=value,...``, from a table of classes and costs, or from a pathway file.

    Parameters
    ----------
    text, unit
        As in `read_price_list`.
    classes
        The classes that are priced: each must have a cost. Costs of others are counted in `Prices.done`.

    Returns
    -------
    Prices
        One cost per class, their unit, and what was ignored.

    Examples
    --------
    >>> read_costs_argument("dog=30,cat=20", ["cat", "dog"]).costs
    array([20., 30.])
    >>> prices = read_costs_argument("octmnist", ["CNV", "DME", "drusen", "normal"])
    >>> prices.costs.round(1), prices.currency
    (array([343.9, 343.9, 186.7, 149.6]), 'USD')
    """
    return read_price_list(text, unit).for_classes(classes)


def read_price_list(text: str, unit: str = "") -> PriceList:
    """Prices by name, as a person writes them on one line or in a file.

    Parameters
    ----------
    text
        Costs written out, ``CT=300,scope=$950``; or the path of a table (CSV, Excel, Parquet, ...) with one column
        of names and one of costs, perhaps followed by their names, ``prices.csv:CLASS_COLUMN:COST_COLUMN``; or the
        path of a pathway file in TOML, or the name of a shipped one.
    unit
        What costs are in, such as "USD" or "minutes", where they do not say so themselves.

    Returns
    -------
    PriceList
        Costs by name, and their unit.

    Examples
    --------
    >>> prices = read_price_list("CT=$300,scope=$950")
    >>> prices.costs, prices.unit
    ({'CT': 300.0, 'scope': 950.0}, 'USD')
    """
    prices = _read_list(text)
    return prices.in_unit(unit_named(unit)) if unit else prices


def _read_list(text: str) -> PriceList:
    path, *columns = _path_and_columns(text)
    if "=" in text and not os.path.exists(path):
        return _written_out(text)
    if columns or path.lower().endswith(TABLES):
        return read_price_table(path, *columns)
    if os.path.exists(path):
        check_readable(path)
    pathways = load_costs(path)
    return PriceList(pathways.costs, pathways.currency, path)


def _path_and_columns(text: str) -> list[str]:
    """``prices.csv:test:fee`` in its parts; a file whose own name has colons is just that."""
    path, *columns = text.rsplit(":", 2)
    return [path, *columns] if len(columns) == 2 and os.path.exists(path) and not os.path.exists(text) else [text]


def _written_out(text: str) -> PriceList:
    texts = read_texts(text, "costs", SEPARATED)
    try:
        amounts = read_amounts(texts)
    except InputError as error:
        raise error.replace(place=f"costs: the value of {error.column!r}", value=texts[error.column]) from None
    return PriceList(amounts.values, amounts.unit, text, written_out=True, done=amounts.done("costs"))


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
    if name not in PRIORS or (PRIORS[name].parameter is None) != (text == name) or text.endswith(":"):
        raise InputError(argument="prior", value=text, fix=f"write {spelled_priors()}, such as gamma:2")
    make, parameter = PRIORS[name]
    if parameter is None:
        return make()
    if parameter == FILE:
        return make(*read_observed_costs(rest))
    return make(read_written_number(rest, f"prior {text!r}: the parameter"))


def read_price_table(path: str, name_column: str | None = None, cost_column: str | None = None) -> PriceList:
    """The cost of each class, from columns that are named, or called as such columns are."""
    source = _only_table(path, AS_WRITTEN)
    names_in, costs_in = _column(source, NAMES, name_column), _column(source, COSTS, cost_column)
    others = [name for name in source.kinds if name not in (names_in, costs_in)]
    unit_column = next((name for name in others if name.strip().casefold() in UNITS), None)
    rows = _texts(source, [names_in, costs_in, *([unit_column] if unit_column else [])])
    numbers: dict[str, int] = {}  # of the rows
    for row, (name, *_) in enumerate(rows):
        if not name:
            raise source.error(row, "has no value", names_in, fix="name the class, or drop the row")
        if name in numbers:
            raise named_twice(name, path)
        numbers[name] = row
    units = {row[0]: row[2] for row in rows} if unit_column else None
    try:
        amounts = read_amounts({row[0]: row[1] for row in rows}, units)
    except InputError as error:
        row = numbers[error.column]
        where, value = f"{source.place(row)}: the cost of {error.column!r}", rows[row][1]
        about: dict[str, Any] = {"where": where, "column": costs_in, "value": value, "fix": error.fix}
        raise FileError(error.problem, path=path, **about) from None
    unit = amounts.unit or ("min" if costs_in.strip().casefold() == "minutes" else "")
    return PriceList(amounts.values, unit, path, done=(*source.done, *amounts.done(path)))


def _column(source: Source, usual: Sequence[str], name: str | None) -> str:
    """The column that is named, else the only one of a usual name, in any case; "class" goes first."""
    if name is not None:
        if name not in source.kinds:
            raise FileError(f"has no column {name!r} among {some(source.kinds)}", path=source.path, column=name)
        return name
    candidates = [column for column in source.kinds if column.strip().casefold() in usual]
    best = [column for column in candidates if column.strip().casefold() == "class"]
    if len(best or candidates) != 1:
        fix = f"name the two columns, {source.path}:CLASS_COLUMN:COST_COLUMN"
        problem = f"has {'the columns' if candidates else 'none of the columns'} {', '.join(candidates or usual)}"
        raise FileError(f"{problem} among {some(source.kinds)}", path=source.path, fix=fix)
    return (best or candidates)[0]


def _texts(source: Source, columns: Sequence[str]) -> list[tuple[str, ...]]:
    """The rows of a table, as text; what is missing is empty."""
    from pandora_regret.files.columns import texts_of

    parts = source.read(columns, frozenset(), ROWS_AT_ONCE)
    return [
        tuple((text or "").strip() for text in row)
        for part in parts
        for row in zip(*(texts_of(part.column(column)) for column in columns), strict=True)
    ]


def read_observed_costs(path: str) -> tuple[FloatArray, list[str]]:
    """Observed cost vectors, (n, K), and the classes: every column of numbers is a class."""
    from pandora_regret.files.columns import ColumnReader

    source = _only_table(path)
    prefix = source.in_layout(Layout()).proba_prefix or ""
    columns = [name for name, kind in source.kinds.items() if kind == "number" and name.startswith(prefix)]
    if len(columns) < 2:
        fix = "write one column of costs for each class"
        raise FileError(f"has {len(columns)} columns of numbers", path=path, fix=fix)
    samples, row = list[FloatArray](), 0
    for records in source.read(columns, frozenset(columns), ROWS_AT_ONCE):
        reader = ColumnReader(records, source, range(row, row + len(records)))
        samples.append(np.column_stack(reader.forecasts(columns)).astype(np.float64))
        row += len(records)
    if not row:
        raise FileError("has no rows", path=path, fix="write one observed cost vector per row")
    return np.concatenate(samples), [name.removeprefix(prefix) for name in columns]


def _only_table(path: str, said: Dialect = RECOGNISED) -> Source:
    import_optional("pyarrow", extra="cli")
    from pandora_regret.files.formats import open_sources

    sources = open_sources(path, said=said)
    if len(sources) > 1:
        raise FileError(f"holds the tables {some(sources)}", path=path, fix="write one, of what tests cost")
    return next(iter(sources.values()))
