"""Ranked lists in commands: from files and options to a comparison."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import click
import numpy as np

from pandora_regret import files
from pandora_regret.cli.options import ListOptions, PriceOptions, RowOptions
from pandora_regret.cli.output import bars
from pandora_regret.comparison import Comparison, compare_lists
from pandora_regret.comparison.breakdowns import columns_of, values_of
from pandora_regret.comparison.request import ComparisonOptions, Provenance
from pandora_regret.core.inputs import FloatArray, InputError
from pandora_regret.files.ranked import RankedModels, read_ranked

USUAL = ComparisonOptions()


@dataclass(frozen=True)
class ListsGiven:
    """Files of ranked lists, and what was typed about them."""

    files: tuple[str, ...]
    rows: RowOptions
    lists: ListOptions
    prices: PriceOptions


def read_given(given: ListsGiven, breakdowns: Sequence[str] = ()) -> RankedModels:
    """The lists in the files."""
    prices = given.prices.read()
    layout = given.lists.layout(given.rows, columns_of(breakdowns))
    price_list = None if prices.price_list is None else prices.price_list.costs
    return read_ranked(files.read_models_argument(given.files, given.rows.layout()), layout, price_list)


def compare_ranked(
    given: ListsGiven,
    options: ComparisonOptions = USUAL,
    breakdowns: Sequence[str] = (),
    worth: str = "1%",
) -> Comparison:
    """The comparison of the lists in files."""
    prices = given.prices.read()
    if prices.workup is not None:
        raise click.UsageError("--workup and ranked lists do not go together.")
    price_list = prices.price_list
    currency = prices.unit or None
    source = None
    if price_list is not None:
        currency = prices.unit or price_list.unit
        source = price_list.source
    elif given.lists.price is not None:
        currency = prices.unit
        source = f"the column {given.lists.price}"
    with bars() as progress:
        progress.start("reading", total=1)
        ranked = read_given(given, breakdowns)
        progress.start("comparing", total=1)
        group = given.rows.group
        weight = given.rows.weight
        return compare_lists(
            ranked.models,
            miss=given.lists.miss,
            until=given.lists.until,
            prior=prices.prior,
            truths=ranked.truths,
            currency=currency,
            source=source,
            sample_weight=None if weight is None else _weights(ranked, weight),
            groups=None if group is None else ranked.facts[group],
            by=values_of(breakdowns, {name: np.array(ranked.facts[name]) for name in columns_of(breakdowns)})
            or None,
            worth=worth,
            options=options,
            provenance=Provenance(
                files=tuple(map(os.path.basename, given.files)), done=ranked.done, prior=given.prices.prior
            ),
        )


def _weights(ranked: RankedModels, column: str) -> FloatArray:
    """A column of weights, as numbers."""
    numbers = []
    for row, text in enumerate(ranked.facts[column]):
        try:
            numbers.append(float(text or ""))
        except ValueError:
            fix = "write a number for every case"
            raise InputError(argument="weight", row=row, value=text, fix=fix) from None
    return np.array(numbers)
