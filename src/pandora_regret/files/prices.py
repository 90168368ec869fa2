"""What tests cost, and how uncertain that is, as a person writes it on one line or in a file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pandora_regret.costs import load_costs
from pandora_regret.files.pairs import read_pairs, read_written_number
from pandora_regret.files.source import check_readable
from pandora_regret.inputs import Done, FloatArray, InputError
from pandora_regret.inputs.costs import check_costs
from pandora_regret.inputs.tables import by_name
from pandora_regret.priors import Prior
from pandora_regret.priors.names import FILE, PRIORS, spelled_priors


@dataclass(frozen=True, eq=False)
class Prices:
    """Typical costs of the tests, in the order of the classes."""

    costs: FloatArray  # (K,)
    currency: str  # or another unit; "" where there is none
    source: str  # where they come from
    done: tuple[Done, ...] = ()  # prices that were not used


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
    written_out = "=" in text and not os.path.exists(text)
    named, currency = (read_pairs(text, "costs"), "") if written_out else _costs_in_file(text)
    source = "costs" if written_out else text
    costs = np.array(by_name(named, [str(name) for name in classes], source), dtype=np.float64)
    return Prices(check_costs(costs, f"{source}: the cost", classes), currency, text)


def _costs_in_file(text: str) -> tuple[dict[str, float], str]:
    """Costs by class, and their currency, "" where it is not known."""
    if text.lower().endswith((".csv", ".tsv")):
        from pandora_regret.files import read_price_table

        return read_price_table(text), ""
    if os.path.exists(text):
        check_readable(text)
    pathways = load_costs(text)
    return pathways.costs, pathways.currency


def read_prior_argument(text: str) -> Prior:
    """A prior from a word, ``gamma:2``, or ``empirical:FILE`` with a column of observed costs for each class.

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
        from pandora_regret.files import read_observed_costs

        return make(*read_observed_costs(rest))
    return make(read_written_number(rest, f"prior {text!r}: the parameter"))
