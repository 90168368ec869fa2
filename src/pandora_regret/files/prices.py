"""What tests cost, and how uncertain that is, as a person writes it on one line or in a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pandora_regret.costs import load_costs
from pandora_regret.files.formats import open_sources
from pandora_regret.files.npz import NpzFile, shapes_of
from pandora_regret.files.pairs import read_pairs
from pandora_regret.files.source import Source, check_readable
from pandora_regret.inputs import FloatArray, InputError
from pandora_regret.inputs.costs import check_costs
from pandora_regret.inputs.tables import by_name
from pandora_regret.optional import import_optional
from pandora_regret.priors import Beta, Empirical, Exponential, Fixed, Gamma, LogNormal, Prior, Uniform

PARAMETRIC: dict[str, Callable[[float], Prior]] = {"beta": Beta, "gamma": Gamma, "lognormal": LogNormal}
PLAIN: dict[str, Callable[[], Prior]] = {"uniform": Uniform, "exponential": Exponential, "fixed": Fixed}


@dataclass(frozen=True, eq=False)
class Prices:
    """Typical costs of the tests, in the order of the classes."""

    costs: FloatArray  # (K,)
    currency: str | None
    source: str  # where they come from


def read_costs_argument(text: str, classes: Sequence[str]) -> Prices:
    """Prices from ``name=value,...``, from a CSV file of classes and costs, or from a pathway file.

    Parameters
    ----------
    text
        Costs written out; or the path of a CSV file with the columns ``class`` and ``cost``; or the path of a
        pathway file in TOML, or the name of a shipped one, which brings its currency along.
    classes
        The classes that are priced; each must have a cost, and no other may.

    Examples
    --------
    >>> read_costs_argument("dog=30,cat=20", ["cat", "dog"]).costs
    array([20., 30.])
    >>> prices = read_costs_argument("octmnist", ["CNV", "DME", "drusen", "normal"])
    >>> prices.costs.round(1), prices.currency
    (array([343.9, 343.9, 186.7, 149.6]), 'USD')
    """
    named, currency = _named_costs(text)
    source = "costs" if "=" in text and not os.path.exists(text) else text
    listed = by_name(named, [str(name) for name in classes], source)
    costs = np.array(listed, dtype=np.float64)
    return Prices(check_costs(costs, f"{source}: the cost", classes), currency, text)


def _named_costs(text: str) -> tuple[dict[str, float], str | None]:
    """Costs by class, and their currency where it is known."""
    if "=" in text and not os.path.exists(text):
        return read_pairs(text, "costs"), None
    if text.lower().endswith((".csv", ".tsv")):
        return _table(text), None
    pathways = load_costs(text)
    return pathways.costs, pathways.currency


def _table(path: str) -> dict[str, float]:
    [source] = open_sources(path).values()
    if not {"class", "cost"} <= set(source.kinds()):
        raise InputError(
            f"{path} has the columns {list(source.kinds())}: a price list needs the columns class and cost."
        )
    pairs: list[tuple[str, float]] = []
    for records in source.read(["class", "cost"], frozenset(), 1 << 16):
        for name, cost in zip(
            records.column("class").to_pylist(), records.column("cost").to_pylist(), strict=True
        ):
            pairs.append((name, _number(cost, f"{source.place(len(pairs))}: the cost of {name!r}")))
    names = [name for name, _ in pairs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"{path}: there is {twice!r} twice: name each class once.")
    return dict(pairs)


def _number(text: str, what: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{what} is {text!r}: write a number.") from None


def read_prior_argument(text: str) -> Prior:
    """A prior from a word, ``gamma:2``, or ``empirical:FILE`` with a column of observed costs for each class.

    Examples
    --------
    >>> read_prior_argument("uniform"), read_prior_argument("lognormal:0.5")
    (Beta(alpha=1.0), LogNormal(...))
    """
    word, colon, rest = text.partition(":")
    if word == "empirical" and rest:
        return _empirical(rest)
    if word in PLAIN and not colon:
        return PLAIN[word]()
    if word in PARAMETRIC and rest:
        return PARAMETRIC[word](_number(rest, f"prior {text!r}: the parameter"))
    raise InputError(
        f"prior is {text!r}: write uniform, exponential, fixed, beta:ALPHA, gamma:SHAPE, lognormal:SIGMA, "
        "or empirical:FILE, such as gamma:2."
    )


def _empirical(path: str) -> Empirical:
    """Every column of numbers is a class, every row an observed cost vector."""
    source = _samples(path)
    prefix = f"{source.model}:" if isinstance(source, NpzFile) else ""
    kinds = source.kinds().items()
    columns = [name for name, kind in kinds if kind == "number" and name.startswith(prefix)]
    names = [name.removeprefix(prefix) for name in columns]
    if len(names) < 2:
        raise InputError(f"{path} has {len(names)} columns of numbers: write one column of costs for each class.")
    records = list(source.read(columns, frozenset(columns), 1 << 16))
    if not sum(map(len, records)):
        raise InputError(f"{path} has no rows: write one observed cost vector a row.")
    return Empirical(np.column_stack([_column(records, name, path) for name in columns]), labels=names)


def _samples(path: str) -> Source:
    """In an NPZ archive, the one table, whatever it is called."""
    if not path.endswith(".npz"):
        return next(iter(open_sources(path).values()))
    check_readable(path)
    tables = [key for key, of in shapes_of(path).items() if len(of.shape) == 2]
    if len(tables) != 1:
        raise InputError(
            f"{path} holds the tables {tables}: save one, of observed costs, shape (samples, classes)."
        )
    return NpzFile(path, model=tables[0])


def _column(records: list[Any], name: str, path: str) -> FloatArray:
    arrow = import_optional("pyarrow", extra="cli")
    parts = [batch.column(name) for batch in records]
    if any(part.null_count for part in parts):
        raise InputError(f"{path}: column {name!r} has rows without a value: fill them in, or drop the rows.")
    return np.concatenate([np.asarray(part.cast(arrow.float64())) for part in parts])
