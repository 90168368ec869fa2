"""Candidates: the lists of all cases, one after the other, and what searches along them cost."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np

from pandora_regret.candidates.places import Places, places_of
from pandora_regret.candidates.proper import Alternatives, expected_costs, log_losses, pandora_regrets
from pandora_regret.candidates.reading import (
    ListOfCase,
    LongColumns,
    Tell,
    Truth,
    raise_first,
    read_frame,
    read_lists,
)
from pandora_regret.candidates.search import (
    UNTIL,
    BoolArray,
    Elsewhere,
    Looks,
    Route,
    Until,
    end_of_searches,
    looks_along,
    quotients,
    rests,
    route_of_probabilities,
    route_of_scores,
    sums_by_case,
)
from pandora_regret.core.inputs import (
    TOLERANCE,
    FloatArray,
    InputError,
    IntArray,
    Names,
    Table,
    read_alpha,
    read_choice,
    read_number,
)
from pandora_regret.core.priors import Prior, Uniform
from pandora_regret.text import counted

Values: TypeAlias = Literal["probability", "score"]


@dataclass(frozen=True, eq=False, repr=False)
class Candidates:
    """The candidates of N cases in compressed rows: C numbers of each kind, and where each case's begin.

    Make one with `from_frame` or `from_lists`.

    Parameters
    ----------
    ids
        What the cases are called, N names.
    offsets
        Case n has the candidates from ``offsets[n]`` to ``offsets[n + 1] - 1``, shape (N + 1,).
    names
        All names that candidates have, each once.
    codes
        Of each candidate the number of its name, shape (C,).
    values
        Probabilities, or scores of which the highest comes first, shape (C,).
    prices
        What it costs to look at each candidate, shape (C,).
    is_true
        Which candidates are true, shape (C,); a case without one is a miss.
    has_probabilities
        Whether values are probabilities.
    n_repeated
        How many candidates were left out because their case names them before.

    See Also
    --------
    compare : Several models' lists on the same cases, with intervals.

    Examples
    --------
    >>> lists = Candidates.from_lists([["a.py", "b.py"], ["c.py"]], [["b.py", "d.py"], "a.py"])
    >>> lists
    Candidates(2 cases, 3 candidates, scores)
    >>> lists.costs(miss=10.0)
    array([ 2., 11.])
    >>> lists.places().top1
    array([0., 0.])
    """

    ids: Names
    offsets: IntArray
    names: Names
    codes: IntArray
    values: FloatArray
    prices: FloatArray
    is_true: BoolArray
    has_probabilities: bool
    n_repeated: int = 0

    @classmethod
    def from_frame(
        cls,
        frame: Table,
        *,
        id: str,
        candidate: str,
        score: str | None = None,
        probability: str | None = None,
        rank: str | None = None,
        price: str | None = None,
        hit: str | None = None,
        truth: Mapping[str, Truth] | None = None,
        prices: Mapping[str, float] | None = None,
        by_price: bool = False,
    ) -> Candidates:
        """Candidates from a long table: one row per case and candidate.

        Parameters
        ----------
        frame
            A pandas, polars or pyarrow frame. A row without a candidate's name stands for an empty list.
        id, candidate
            The columns of what cases and candidates are called.
        score, probability, rank
            The column that orders a case's candidates, one of the three: the highest score, the most probable per
            price, or the lowest rank comes first. Without one, candidates come in the order of the rows.
        price
            The column of what it costs to look at a candidate; 1 unless given.
        hit
            The column that says which candidates are true: 0 and 1, or false and true.
        truth
            Instead of `hit`, the names that are true by case: a name, or several. Its cases that the frame does
            not have are empty lists.
        prices
            Instead of `price`, prices by candidate's name; that of "other" is for all names that it does not have.
        by_price
            Whether scores are divided by prices.

        Returns
        -------
        Candidates
            Cases in the order of their first rows.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame(
        ...     {"bug": [1, 1, 2], "method": ["f", "g", "f"], "score": [0.2, 0.9, 0.5], "is_bug": [1, 0, 0]}
        ... )
        >>> lists = Candidates.from_frame(frame, id="bug", candidate="method", score="score", hit="is_bug")
        >>> lists.costs(miss=20.0)
        array([ 2., 21.])
        """
        columns = LongColumns(id, candidate, score, probability, rank, price, hit)
        read = read_frame(frame, columns, truth, prices)
        return cls(**read.fields()).checked(by_price=by_price)

    @classmethod
    def from_lists(
        cls,
        lists: Sequence[ListOfCase],
        truth: Sequence[Truth],
        *,
        ids: Sequence[object] | None = None,
        values: Values = "probability",
        prices: Mapping[str, float] | None = None,
    ) -> Candidates:
        """Candidates from a list per case.

        Parameters
        ----------
        lists
            For each case names in order, or values by name: ``["a", "b"]``, ``{"a": 0.5, "b": 0.2}``. All are of
            one kind; empty ones are misses.
        truth
            The name that is true in each case, or several.
        ids
            What the cases are called; their numbers unless given.
        values
            What numbers of a list are: "probability", or "score", of which the highest comes first.
        prices
            Prices by candidate's name; that of "other" is for all names that it does not have. 1 unless given.

        Returns
        -------
        Candidates
            One case per list.

        Examples
        --------
        >>> lists = Candidates.from_lists([{"flu": 0.6, "cold": 0.3}, {"flu": 0.2}], ["cold", "covid"])
        >>> lists.costs(miss=3.0)
        array([2., 3.])
        """
        read_choice(values, "values", {"probability": "they sum to 1 at most", "score": "they only order"})
        read = read_lists(lists, truth, ids, prices, has_probabilities=values == "probability")
        return cls(**read.fields()).checked()

    def checked(self, by_price: bool = False, tell: Tell = raise_first) -> Candidates:
        """These lists, once probabilities are found to be such; `by_price`: scores are divided by prices."""
        if not self.has_probabilities:
            return replace(self, values=self.values / self.prices) if by_price else self
        if by_price:
            fix = "leave it out: a search divides probabilities by prices anyway"
            raise InputError("is for scores", argument="by_price", value=by_price, fix=fix)
        sums = sums_by_case(self.values, self.case, self.n_cases)
        check_probabilities(self.values, sums, self.ids, self.case, tell)
        return self

    def __repr__(self) -> str:
        kind = "probabilities" if self.has_probabilities else "scores"
        return f"Candidates({counted(self.n_cases, 'case')}, {counted(len(self.codes), 'candidate')}, {kind})"

    @property
    def n_cases(self) -> int:
        """How many cases there are."""
        return len(self.ids)

    @property
    def n_candidates(self) -> int:
        """How many candidates there are in all."""
        return len(self.codes)

    @property
    def is_priced(self) -> bool:
        """Whether some candidate costs something else than 1."""
        return bool((self.prices != 1).any())

    @property
    def leaves_rests(self) -> bool:
        """Whether some list of probabilities leaves something for elsewhere."""
        return self.has_probabilities and bool(rests(self.values, self.case, self.n_cases).any())

    @cached_property
    def whole_costs(self) -> FloatArray:
        """What looking at all candidates of each case costs, (N,)."""
        return sums_by_case(self.prices, self.case, self.n_cases)

    def true_names(self) -> list[Names]:
        """The names of each case that are true, N of them."""
        names: list[list[str]] = [[] for _ in self.ids]
        for row in np.flatnonzero(self.is_true).tolist():
            names[self.case[row]].append(self.names[self.codes[row]])
        return [tuple(listed) for listed in names]

    def mean_prices(self, listed: Collection[str]) -> dict[str, float]:
        """What each of these names costs on average where cases list it, and under "other" what candidates do."""
        if not len(self.prices):
            return {"other": 1.0}
        totals = np.bincount(self.codes, self.prices, len(self.names))
        times = np.bincount(self.codes, minlength=len(self.names))
        prices = {"other": float(self.prices.mean())}
        for code, name in enumerate(self.names):
            if times[code] and name in listed:
                prices[name] = float(totals[code] / times[code])
        return prices

    @property
    def lengths(self) -> IntArray:
        """How many candidates each case has, (N,)."""
        return np.diff(self.offsets)

    @cached_property
    def case(self) -> IntArray:
        """The number of each candidate's case, (C,)."""
        return np.repeat(np.arange(self.n_cases), self.lengths)

    @cached_property
    def n_true(self) -> IntArray:
        """How many candidates of each case are true, (N,)."""
        return np.bincount(self.case[self.is_true], minlength=self.n_cases)

    @property
    def is_missed(self) -> BoolArray:
        """The cases that list no true candidate, (N,)."""
        return np.asarray(self.n_true == 0)

    def of_cases(self, ids: Sequence[str]) -> Candidates:
        """The lists of these cases alone, in this order."""
        if tuple(ids) == self.ids:
            return self
        number_of = {name: number for number, name in enumerate(self.ids)}
        missing = [name for name in ids if name not in number_of]
        if missing:
            raise InputError(f"has no case {missing[0]!r}", argument="ids", value=missing[0])
        numbers = np.array([number_of[name] for name in ids], dtype=np.intp)
        lengths = self.lengths[numbers]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        rows = np.repeat(self.offsets[numbers] - offsets[:-1], lengths) + np.arange(offsets[-1])
        return replace(
            self,
            ids=tuple(ids),
            offsets=offsets,
            codes=self.codes[rows],
            values=self.values[rows],
            prices=self.prices[rows],
            is_true=self.is_true[rows],
        )

    @cached_property
    def _searched(self) -> Route:
        """The order of all searches, elsewhere last."""
        if not self.has_probabilities:
            return self._ranked
        return route_of_probabilities(self.case, self.values, self.prices, self.is_true, self.n_cases)

    @cached_property
    def _ranked(self) -> Route:
        """The lists as they are ranked, whatever candidates cost."""
        return route_of_scores(self.case, self.values, self.is_true, self.n_cases)

    @cached_property
    def _elsewhere_last(self) -> dict[Until, Looks]:
        """How likely each look is where elsewhere comes last, as it is asked for."""
        return {}

    @cached_property
    def _elsewhere(self) -> dict[Until, Elsewhere]:
        """What moves elsewhere along lists of probabilities, as it is asked for."""
        return {}

    def _looks(self, miss: float | None, until: Until) -> Looks:
        """How likely each look is where a miss costs so much; None puts elsewhere last, as orders do."""
        if miss is None or not self.has_probabilities:
            if until not in self._elsewhere_last:
                self._elsewhere_last[until] = looks_along(self._searched, len(self.values), until)
            return self._elsewhere_last[until]
        if until not in self._elsewhere:
            merit = quotients(self.values, self.prices)
            end_merit, n_true = end_of_searches(self._searched, merit, self.is_true, self.case, until)
            self._elsewhere[until] = Elsewhere(
                last=self._looks(None, until),
                case=self.case,
                merit=merit,
                rest=rests(self.values, self.case, self.n_cases),
                is_missed=self.is_missed,
                end_merit=end_merit,
                n_true_at_end=n_true,
                until=until,
            )
        return self._elsewhere[until].at(miss)

    def spending(self, miss: float | None = None, until: Until = "first") -> tuple[FloatArray, FloatArray]:
        """What looks at listed candidates cost in each case, (N,), and the probability that a miss is paid, (N,).

        Parameters
        ----------
        miss
            The price of a miss, which places elsewhere among probabilities; None puts it last. For orders it
            changes nothing here.
        until
            "first": the search ends with the first true candidate. "all": with the last one listed.
        """
        read_choice(until, "until", UNTIL)
        return self._sums_of_looks(self.prices, read_miss(miss), until)

    def looks(self, miss: float | None = None, until: Until = "first") -> FloatArray:
        """How many candidates are looked at in each case, (N,); arguments as in `spending`."""
        read_choice(until, "until", UNTIL)
        return self._sums_of_looks(np.ones(len(self.prices)), read_miss(miss), until)[0]

    def _sums_of_looks(
        self, amounts: FloatArray, miss: float | None, until: Until
    ) -> tuple[FloatArray, FloatArray]:
        """The mean sum of the amounts of candidates that are looked at, and the chance of elsewhere; (N,) each."""
        looks = self._looks(miss, until)
        return sums_by_case(looks.on_list * amounts, self.case, self.n_cases), looks.elsewhere

    def costs(self, miss: float | None = None, until: Until = "first") -> FloatArray:
        """What the search of each case costs, the true candidate's price included: mean over orders of ties.

        With one truth and probabilities this is proper, as `expected_costs` is. Of several truths, of orders
        and of scores it is a cost, and no score of single probabilities.

        Parameters
        ----------
        miss
            The price of a miss: what it costs to find the truth where the list does not have it. It has to be said
            where some list has no true candidate.
        until
            "first": the search ends with the first true candidate. "all": with the last one listed.

        Returns
        -------
        array
            One cost per case, (N,).
        """
        looked, missed = self.spending(miss, until)
        price = read_miss(miss)
        if price is None:
            self._refuse_misses(missed)
            return looked
        return looked + missed * price

    def _refuse_misses(self, missed: FloatArray) -> None:
        if missed.any():
            row = int(np.flatnonzero(missed)[0])
            problem = f"is needed: the list of case {self.ids[row]!r} has no true candidate"
            fix = "say what it costs to find what a list does not have"
            raise InputError(problem, argument="miss", row=row, value=None, place="miss", fix=fix)

    def least_costs(self, miss: float | None = None, until: Until = "first") -> FloatArray:
        """What somebody pays who knows the truth, (N,): the cheapest true candidate, or all; or the miss."""
        read_choice(until, "until", UNTIL)
        price = read_miss(miss)
        if price is None:
            self._refuse_misses(self.is_missed.astype(np.float64))
        least = np.full(self.n_cases, 0.0 if price is None else price)
        cases = self.case[self.is_true]
        true_prices = self.prices[self.is_true]
        if until == "first":
            cheapest = np.full(self.n_cases, np.inf)
            np.minimum.at(cheapest, cases, true_prices)
        else:
            cheapest = sums_by_case(true_prices, cases, self.n_cases)
        return np.where(self.is_missed, least, cheapest)

    def places(self) -> Places:
        """Found, top-1, top-3, MRR and EXAM of each case, as lists are ranked: prices do not matter."""
        return places_of(self._ranked, self.lengths)

    def alternatives(self, miss: float | None = None) -> Alternatives:
        """What the probabilities are about: candidates, and elsewhere where it is possible or true."""
        if not self.has_probabilities:
            fix = "a score or an order says nothing of how likely candidates are; ask for costs"
            raise InputError("has no probabilities", argument="candidates", fix=fix)
        if (self.n_true > 1).any():
            row = int(np.flatnonzero(self.n_true > 1)[0])
            problem = f"has {self.n_true[row]} true candidates in case {self.ids[row]!r}"
            fix = "scores of probabilities are of one truth; ask for costs"
            raise InputError(problem, argument="candidates", row=row, value=int(self.n_true[row]), fix=fix)
        price = 1.0 if miss is None else miss  # not used by scores that know no prices; `expected_costs` asks
        rest = rests(self.values, self.case, self.n_cases)
        with_elsewhere = np.flatnonzero((rest > 0) | self.is_missed)
        case = np.concatenate([self.case, with_elsewhere])
        return Alternatives(
            case=case,
            probability=np.concatenate([self.values, rest[with_elsewhere]]),
            price=np.concatenate([self.prices, np.full(len(with_elsewhere), price)]),
            is_true=np.concatenate([self.is_true, self.is_missed[with_elsewhere]]),
            n_cases=self.n_cases,
        )

    def expected_costs(self, miss: float | None = None, prior: Prior | None = None) -> FloatArray:
        """What the search of each case is expected to cost where prices vary by a prior: proper.

        Parameters
        ----------
        miss
            The mean price of a miss; needed where a list leaves any probability, or has no true candidate.
        prior
            How prices vary around their means; `Uniform()` unless given.

        Returns
        -------
        array
            One cost per case, (N,).
        """
        alternatives = self.alternatives(read_miss(miss))
        if miss is None and len(alternatives.case) > len(self.case):
            row = int(alternatives.case[len(self.case)])
            problem = f"is needed: the list of case {self.ids[row]!r} leaves something for elsewhere"
            raise InputError(problem, argument="miss", row=row, place="miss", fix="say what a miss costs")
        return expected_costs(alternatives, Uniform() if prior is None else prior)

    def pandora_regret(self, alpha: float = 1.0) -> FloatArray:
        """Pandora's Regret of each case over its own candidates and elsewhere, (N,); proper.

        Parameters
        ----------
        alpha
            From 0 to inf, as in `pandora_regret`.

        Returns
        -------
        array
            One regret per case, (N,).
        """
        return pandora_regrets(self.alternatives(), read_alpha(alpha))

    def log_losses(self) -> FloatArray:
        """The log loss of each case, (N,): infinite where the truth has probability 0."""
        return log_losses(self.alternatives())


def check_probabilities(
    values: FloatArray, sums: FloatArray, ids: Sequence[str], case: IntArray, tell: Tell = raise_first
) -> None:
    """Tell which cases have probabilities that are negative, above 1, or sum to more than 1."""
    fix = "divide percentages by 100; numbers that are no probabilities are scores"
    bad = np.flatnonzero(~((values >= 0) & (values <= 1 + TOLERANCE)))
    if len(bad):
        row = int(bad[0])
        place = f"case {ids[case[row]]!r}"
        error = InputError(argument="probability", row=row, value=float(values[row]), place=place, fix=fix)
        tell(error, np.unique(case[bad]))
    bad = np.flatnonzero(sums > 1 + TOLERANCE)
    if len(bad):
        row = int(bad[0])
        total = float(sums[row])
        problem = f"sums to {total:.6g}, which is more than 1"
        place = f"case {ids[row]!r}"
        tell(InputError(problem, argument="probability", row=row, value=total, place=place, fix=fix), bad)


def read_miss(miss: float | None) -> float | None:
    """The price of a miss, checked."""
    if miss is None:
        return None
    return read_number(miss, "miss", lambda price: 0 <= price < np.inf, "it must be a price, 0 at least")
