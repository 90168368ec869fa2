"""Lists too long to keep: each is searched as it is read, and what its search costs is all that stays.

Where lists are orders, the price of a miss changes no search: what is looked at is settled once and for all. So a
file of any length needs memory for its cases, and for the candidates of some of them at a time.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from pandora_regret.candidates.lists import Candidates, read_miss
from pandora_regret.candidates.places import Places, places_at
from pandora_regret.candidates.reading import LongTable
from pandora_regret.candidates.search import UNTIL, BoolArray, Until
from pandora_regret.core.inputs import FloatArray, InputError, IntArray, Names, read_choice
from pandora_regret.core.priors import Prior

UNTILS: tuple[Until, ...] = ("first", "all")


@dataclass(frozen=True, eq=False)
class SearchedOrders:
    """What searches along the orders of N cases cost, without the candidates; answers as `Candidates` does."""

    ids: Names
    lengths: IntArray  # (N,) how many candidates each case has
    n_true: IntArray  # (N,) how many of them are true
    whole_costs: FloatArray  # (N,) what looking at all of them costs
    spent: dict[Until, FloatArray]  # (N,) what looks cost
    looked: dict[Until, FloatArray]  # (N,) how many there are
    least: dict[Until, FloatArray]  # (N,) what they would cost somebody who knows the truth; 0 where it is missed
    ranked: Places
    named_true: tuple[Names, ...]  # of each case the names that are true
    price_sums: dict[str, float]  # by name, over all cases that list it
    price_counts: dict[str, int]
    is_priced: bool  # whether some price is not 1
    n_repeated: int

    @classmethod
    def of(cls, candidates: Candidates) -> SearchedOrders:
        """What is left of lists that are orders."""
        if candidates.has_probabilities:
            fix = "where elsewhere comes among probabilities depends on what a miss costs"
            raise InputError("has probabilities", argument="candidates", fix=fix)
        n_names = len(candidates.names)
        sums: dict[str, float] = {}
        counts: dict[str, int] = {}
        if candidates.is_priced:
            times = np.bincount(candidates.codes, minlength=n_names).tolist()
            totals = np.bincount(candidates.codes, candidates.prices, n_names).tolist()
            sums = dict(zip(candidates.names, totals, strict=True))
            counts = dict(zip(candidates.names, times, strict=True))
        return cls(
            ids=candidates.ids,
            lengths=candidates.lengths,
            n_true=candidates.n_true,
            whole_costs=candidates.whole_costs,
            spent={until: candidates.spending(None, until)[0] for until in UNTILS},
            looked={until: candidates.looks(None, until) for until in UNTILS},
            least={until: candidates.least_costs(0.0, until) for until in UNTILS},
            ranked=candidates.places(),
            named_true=tuple(candidates.true_names()),
            price_sums=sums,
            price_counts=counts,
            is_priced=candidates.is_priced,
            n_repeated=candidates.n_repeated,
        )

    @classmethod
    def of_table(cls, table: LongTable, by_price: bool = False) -> SearchedOrders:
        """What is left of a long table of orders, searched without sorting it where that is possible.

        Parameters
        ----------
        table
            Its rows.
        by_price
            Whether scores are divided by prices.
        """
        searched = None if table.has_probabilities else _searched_unsorted(table, by_price)
        return searched or cls.of(Candidates(**table.fields()).checked(by_price=by_price))

    @classmethod
    def joined(cls, parts: Sequence[SearchedOrders]) -> SearchedOrders:
        """The cases of all parts, one after the other; no case is in two of them."""
        sums: dict[str, float] = {}
        counts: dict[str, int] = {}
        for part in parts:
            for name, total in part.price_sums.items():
                sums[name] = sums.get(name, 0.0) + total
                counts[name] = counts.get(name, 0) + part.price_counts[name]
        return cls(
            ids=tuple(name for part in parts for name in part.ids),
            lengths=np.concatenate([part.lengths for part in parts]),
            n_true=np.concatenate([part.n_true for part in parts]),
            whole_costs=np.concatenate([part.whole_costs for part in parts]),
            spent={until: np.concatenate([part.spent[until] for part in parts]) for until in UNTILS},
            looked={until: np.concatenate([part.looked[until] for part in parts]) for until in UNTILS},
            least={until: np.concatenate([part.least[until] for part in parts]) for until in UNTILS},
            ranked=Places.joined([part.ranked for part in parts]),
            named_true=tuple(names for part in parts for names in part.named_true),
            price_sums=sums,
            price_counts=counts,
            is_priced=any(part.is_priced for part in parts),
            n_repeated=sum(part.n_repeated for part in parts),
        )

    @property
    def has_probabilities(self) -> bool:
        """Never: these are orders."""
        return False

    @property
    def leaves_rests(self) -> bool:
        """Never: an order leaves no probability."""
        return False

    @property
    def n_cases(self) -> int:
        """How many cases there are."""
        return len(self.ids)

    @property
    def n_candidates(self) -> int:
        """How many candidates there are in all."""
        return int(self.lengths.sum())

    @property
    def is_missed(self) -> BoolArray:
        """The cases that list no true candidate, (N,)."""
        return np.asarray(self.n_true == 0)

    def of_cases(self, ids: Sequence[str]) -> SearchedOrders:
        """What is left of these cases alone, in this order."""
        if tuple(ids) == self.ids:
            return self
        number_of = {name: number for number, name in enumerate(self.ids)}
        missing = [name for name in ids if name not in number_of]
        if missing:
            raise InputError(f"has no case {missing[0]!r}", argument="ids", value=missing[0])
        rows = np.array([number_of[name] for name in ids], dtype=np.intp)
        return replace(
            self,
            ids=tuple(ids),
            lengths=self.lengths[rows],
            n_true=self.n_true[rows],
            whole_costs=self.whole_costs[rows],
            spent={until: self.spent[until][rows] for until in UNTILS},
            looked={until: self.looked[until][rows] for until in UNTILS},
            least={until: self.least[until][rows] for until in UNTILS},
            ranked=self.ranked.of_rows(rows),
            named_true=tuple(self.named_true[row] for row in rows),
        )

    def spending(self, miss: float | None = None, until: Until = "first") -> tuple[FloatArray, FloatArray]:
        """What looks at listed candidates cost in each case, (N,), and 1 where a miss is paid, else 0, (N,)."""
        read_choice(until, "until", UNTIL)
        read_miss(miss)
        return self.spent[until], self.is_missed.astype(np.float64)

    def looks(self, miss: float | None = None, until: Until = "first") -> FloatArray:
        """How many candidates are looked at in each case, (N,)."""
        read_choice(until, "until", UNTIL)
        read_miss(miss)
        return self.looked[until]

    def costs(self, miss: float, until: Until = "first") -> FloatArray:
        """What the search of each case costs, (N,): looks, and the miss where no candidate is true."""
        spent, missed = self.spending(miss, until)
        return spent + missed * miss

    def least_costs(self, miss: float, until: Until = "first") -> FloatArray:
        """What somebody pays who knows the truth, (N,): the cheapest true candidate, or all; or the miss."""
        read_choice(until, "until", UNTIL)
        return np.where(self.is_missed, miss, self.least[until])

    def places(self) -> Places:
        """Found, top-1, top-3, MRR and EXAM of each case."""
        return self.ranked

    def true_names(self) -> list[Names]:
        """The names of each case that are true, N of them."""
        return list(self.named_true)

    def mean_prices(self, listed: Collection[str]) -> dict[str, float]:
        """What each of these names costs on average where cases list it, and under "other" what candidates do."""
        if not self.is_priced:
            return {"other": 1.0}
        prices = {"other": float(self.whole_costs.sum() / self.lengths.sum())}
        for name in listed:
            if self.price_counts.get(name, 0):
                prices[name] = self.price_sums[name] / self.price_counts[name]
        return prices

    def expected_costs(self, miss: float | None = None, prior: Prior | None = None) -> FloatArray:
        """An error: an order says nothing of how likely candidates are."""
        fix = "a score or an order says nothing of how likely candidates are; ask for costs"
        raise InputError("has no probabilities", argument="candidates", fix=fix)


def _searched_unsorted(table: LongTable, by_price: bool) -> SearchedOrders | None:
    """What searches along orders find in two passes over the rows; None where rows have to be sorted."""
    from pandora_regret.candidates import order_loops as loops

    n_cases = len(table.ids)
    counts = np.zeros((n_cases, 2), dtype=np.intp)
    sums = np.zeros((n_cases, 3))
    n_at = np.zeros((2, n_cases, 3))
    cost_at = np.zeros((2, n_cases, 3))
    values = table.values / table.prices if by_price else table.values
    last_case = np.full(len(table.names), -1, dtype=np.intp)
    rows = (table.case, table.codes, values, table.prices, table.is_true)
    if not loops.search_rows(*rows, last_case, counts, sums, n_at, cost_at):
        return None
    lengths = counts[:, loops.N_LISTED]
    whole_costs = sums[:, loops.WHOLE]
    price_sums, price_counts, is_priced = _prices_by_name(table)
    return SearchedOrders(
        ids=table.ids,
        lengths=lengths,
        n_true=counts[:, loops.N_TRUE],
        whole_costs=whole_costs,
        spent=_looked_at(cost_at, n_at, whole_costs),
        looked=_looked_at(n_at, n_at, lengths),
        least={"first": sums[:, loops.CHEAPEST], "all": sums[:, loops.ALL_TRUE]},
        ranked=_places_of_truths(n_at[loops.FIRST_TRUE], lengths),
        named_true=_named_true(table),
        price_sums=price_sums,
        price_counts=price_counts,
        is_priced=is_priced,
        n_repeated=0,
    )


def _looked_at(amounts: FloatArray, n_at: FloatArray, whole: FloatArray | IntArray) -> dict[Until, FloatArray]:
    """What searches look at, (N,): the chances are those of `Route.chances`.

    Parameters
    ----------
    amounts
        Numbers of candidates, or their prices, as `order_loops` leaves them, (2, N, 3).
    n_at
        Numbers of candidates, (2, N, 3).
    whole
        The same of all that is listed, which is looked at where nothing is true, (N,).
    """
    looked: dict[Until, FloatArray] = {}
    for until, amount, n_listed in zip(UNTILS, amounts, n_at, strict=True):
        before, tied_false, tied_true = amount.T
        n_true = n_listed[:, -1]
        h = np.maximum(n_true, 1)
        in_last_block = tied_false / (h + 1) + tied_true / h
        if until == "all":
            in_last_block = tied_false * h / (h + 1) + tied_true
        looked[until] = np.where(n_true == 0, whole, before + in_last_block)
    return looked


def _places_of_truths(n_at: FloatArray, lengths: IntArray) -> Places:
    """The places of first true candidates, from how many come before them and tie with them, (N, 3)."""
    before, tied_false, tied_true = n_at.astype(np.intp).T
    is_missed = tied_true == 0
    return places_at(
        before=np.where(is_missed, lengths, before),
        size=np.where(is_missed, 1, tied_false + tied_true),
        n_true=np.where(is_missed, 1, tied_true),
        lengths=lengths,
    )


def _prices_by_name(table: LongTable) -> tuple[dict[str, float], dict[str, int], bool]:
    """Sums and numbers of prices by name, and whether some price is not 1; they are not kept where all are."""
    if not (table.prices != 1).any():  # as is told without a copy of millions of rows
        return {}, {}, False
    is_candidate = table.codes >= 0
    codes = table.codes[is_candidate]
    prices = table.prices[is_candidate]
    if not (prices != 1).any():
        return {}, {}, False
    sums = np.bincount(codes, prices, len(table.names)).tolist()
    counts = np.bincount(codes, minlength=len(table.names)).tolist()
    return dict(zip(table.names, sums, strict=True)), dict(zip(table.names, counts, strict=True)), True


def _named_true(table: LongTable) -> tuple[Names, ...]:
    """The names of each case that are true, N of them."""
    named: list[list[str]] = [[] for _ in table.ids]
    for row in np.flatnonzero(table.is_true & (table.codes >= 0)).tolist():
        named[table.case[row]].append(table.names[table.codes[row]])
    return tuple(tuple(names) for names in named)


CaseLists: TypeAlias = Candidates | SearchedOrders
