"""Lists of candidates as people have them, in frames or in Python's lists, read into compressed rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypedDict

import numpy as np
from numpy.typing import NDArray

from pandora_regret.candidates.search import BoolArray
from pandora_regret.core.inputs import (
    LARGEST,
    SMALLEST,
    FloatArray,
    InputError,
    InputTypeError,
    IntArray,
    Names,
    Table,
    folded,
    in_range,
    is_missing,
)

Truth: TypeAlias = str | Collection[str]
Column: TypeAlias = NDArray[np.generic]  # of a frame, of any type
ListOfCase: TypeAlias = Sequence[str] | Mapping[str, float]
Tell: TypeAlias = Callable[[InputError, IntArray], None]  # the first row's error, and all rows that have one

OTHER_NAMES = "other"  # in prices: all names that they do not have
TRUE_WORDS = frozenset({"1", "1.0", "true", "yes", "y", "t"})
FALSE = frozenset({"0", "0.0", "false", "no", "n", "f"})


def raise_first(error: InputError, rows: IntArray) -> None:
    """Raise what is wrong with the first of some rows."""
    raise error


class CandidateFields(TypedDict):
    """What `Candidates` is made of."""

    ids: Names
    offsets: IntArray
    names: Names
    codes: IntArray
    values: FloatArray
    prices: FloatArray
    is_true: BoolArray
    has_probabilities: bool
    n_repeated: int


@dataclass(frozen=True)
class LongColumns:
    """Which column of a long table is what."""

    id: str
    candidate: str
    score: str | None = None
    probability: str | None = None
    rank: str | None = None
    price: str | None = None
    hit: str | None = None

    @property
    def order(self) -> tuple[str, str] | None:
        """The argument that says what orders candidates, and its column; None where that is the rows' order."""
        named = {"score": self.score, "probability": self.probability, "rank": self.rank}
        stated = [(argument, column) for argument, column in named.items() if column is not None]
        if len(stated) > 1:
            (first, _), (second, column), *_ = stated
            problem = f"is {column!r}, and {first} is given too"
            raise InputError(problem, argument=second, value=column, fix="one of them orders a list")
        return stated[0] if stated else None


@dataclass(frozen=True)
class LongTable:
    """A long table's columns, its ids and names as numbers: C rows.

    A candidate's code is -1 where the row stands for an empty list.
    """

    ids: Names
    case: IntArray  # (C,)
    names: Names
    codes: IntArray  # (C,)
    values: FloatArray  # (C,)
    prices: FloatArray  # (C,)
    is_true: BoolArray  # (C,)
    has_probabilities: bool

    def fields(self) -> CandidateFields:
        """Compressed rows: cases one after the other, each name at its first place in a case."""
        order = np.argsort(self.case, kind="stable")
        order = order[self.codes[order] >= 0]
        name_in_case = self.case[order] * np.intp(max(1, len(self.names))) + self.codes[order]
        is_true = np.isin(
            name_in_case, name_in_case[self.is_true[order]]
        )  # of a name that comes twice either place
        first = first_places(name_in_case, self.values[order])
        kept = order[first]
        offsets = np.concatenate([[0], np.cumsum(np.bincount(self.case[kept], minlength=len(self.ids)))])
        return CandidateFields(
            ids=self.ids,
            offsets=offsets,
            names=self.names,
            codes=self.codes[kept],
            values=self.values[kept],
            prices=self.prices[kept],
            is_true=is_true[first],
            has_probabilities=self.has_probabilities,
            n_repeated=len(order) - len(first),
        )


def first_places(keys: IntArray, values: FloatArray) -> IntArray:
    """The rows, rising, of which no other one has the same key and a higher value; of equal ones the first."""
    ordered = np.sort(keys)
    if not (ordered[1:] == ordered[:-1]).any():
        return np.arange(len(keys))
    by_place = np.lexsort((-values, keys))
    is_first = np.diff(keys[by_place], prepend=-1) != 0
    return np.sort(by_place[is_first])


def numbered(values: Sequence[Hashable]) -> tuple[IntArray, list[Hashable]]:
    """The number of each value in the order in which they first occur, and the values."""
    numbers: dict[Hashable, int] = {}
    found = [numbers.setdefault(value, len(numbers)) for value in values]
    return np.array(found, dtype=np.intp), list(numbers)


def read_frame(
    frame: Table,
    columns: LongColumns,
    truth: Mapping[str, Truth] | None,
    prices: Mapping[str, float] | None,
) -> LongTable:
    """A long table in memory, as `Candidates.from_frame` takes it."""
    import narwhals.stable.v1 as nw

    try:
        table = nw.from_native(frame, eager_only=True)
    except TypeError:
        problem = f"is a {type(frame).__name__}, no frame whose rows are at hand"
        fix = "pass a pandas, polars or pyarrow frame"
        raise InputTypeError(problem, argument="frame", fix=fix) from None

    def column(argument: str, name: str) -> Column:
        if name not in table.columns:
            problem = f"is {name!r}, and the frame has no such column"
            fix = f"choose from {', '.join(map(str, table.columns))}"
            raise InputError(problem, argument=argument, value=name, fix=fix)
        return np.asarray(table[name].to_numpy())

    case, ids = numbered(text_of(column("id", columns.id), "id"))
    codes, names = _numbered_names(column("candidate", columns.candidate))
    values, has_probabilities = _values_of(columns, column, codes)
    if columns.price is not None and prices is not None:
        problem = f"is {columns.price!r}, and prices are given too"
        raise InputError(problem, argument="price", value=columns.price, fix="use one of them")
    if columns.price is None:
        listed = prices_of(names, prices)[codes] if len(names) else np.ones(len(codes))
    else:
        listed = read_prices_of_rows(column("price", columns.price), codes)
    if (columns.hit is None) == (truth is None):
        fix = "pass hit, a column that says which candidates are true, or truth, their names by case"
        raise InputError("are both given" if truth else "are both missing", place="hit and truth", fix=fix)
    if columns.hit is not None:
        is_true = read_hits(column("hit", columns.hit), codes)
    else:
        assert truth is not None
        ids += [name for name in map(str, truth) if name not in set(ids)]
        is_true = hits_by_name(ids, case, names, codes, truth)
    return LongTable(
        tuple(map(str, ids)), case, tuple(map(str, names)), codes, values, listed, is_true, has_probabilities
    )


def text_of(values: Column, argument: str) -> list[str]:
    """Ids as text; 7.0 and 7 are the same one. A missing one is an error."""
    if values.dtype.kind == "f":
        numbers = values.astype(np.float64)
        bad = np.flatnonzero(~np.isfinite(numbers))
        if len(bad):
            raise InputError("is missing", argument=argument, row=int(bad[0]), fix="give every row one")
        if (numbers == np.floor(numbers)).all():
            values = values.astype(np.int64)
    texts = []
    for row, value in enumerate(values.tolist()):
        if is_missing(value):
            raise InputError("is missing", argument=argument, row=row, fix="give every row one")
        texts.append(str(value))
    return texts


def _numbered_names(values: Column) -> tuple[IntArray, list[Hashable]]:
    """Numbers of candidates' names, -1 where a row has none, and the names."""
    listed = values.tolist()
    is_empty = np.array([is_missing(value) or value == "" for value in listed], dtype=bool)
    codes = np.full(len(listed), -1, dtype=np.intp)
    found, names = numbered([str(value) for value, empty in zip(listed, is_empty, strict=True) if not empty])
    codes[~is_empty] = found
    return codes, names


def _values_of(
    columns: LongColumns, column: Callable[[str, str], Column], codes: IntArray
) -> tuple[FloatArray, bool]:
    """What orders candidates, the highest first, and whether it is probabilities."""
    order = columns.order
    if order is None:
        return -np.arange(len(codes), dtype=np.float64), False
    argument, name = order
    values = read_values(column(argument, name), argument, codes)
    return (-values if argument == "rank" else values), argument == "probability"


def read_values(
    values: Column, argument: str, codes: IntArray, tell: Tell = raise_first, otherwise: float = 0.0
) -> FloatArray:
    """Numbers of the rows that name a candidate; others count as 0.

    Parameters
    ----------
    values
        Numbers, or what can be read as such, (C,).
    argument
        What they are called in errors.
    codes
        Which candidate each row names, (C,); -1 where it names none.
    tell
        Who is told which rows have no number.
    otherwise
        What takes the place of a value that is no number, once that was told.
    """
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = _numbers_of_texts(values, argument, tell, otherwise)
    numbers = np.where(codes >= 0, numbers, 0.0)
    bad = np.flatnonzero(~np.isfinite(numbers))
    if len(bad):
        row = int(bad[0])
        tell(InputError(argument=argument, row=row, value=float(numbers[row]), fix="write a number"), bad)
        numbers[bad] = otherwise
    return numbers


def _numbers_of_texts(values: Column, argument: str, tell: Tell, otherwise: float) -> FloatArray:
    """Numbers written as text, (C,); what is none is told, and replaced."""
    numbers = np.full(len(values), otherwise)
    bad: list[int] = []
    for row, value in enumerate(values.tolist()):
        try:
            numbers[row] = float(value)
        except (TypeError, ValueError):
            bad.append(row)
    if bad:
        error = InputError(argument=argument, row=bad[0], value=values.tolist()[bad[0]], fix="write a number")
        tell(error, np.array(bad, dtype=np.intp))
    return numbers


def read_prices_of_rows(values: Column, codes: IntArray, tell: Tell = raise_first) -> FloatArray:
    """The price of each row's candidate; 1 where a row names none."""
    prices = np.where(codes >= 0, read_values(values, "price", codes, tell, otherwise=1.0), 1.0)
    bad = np.flatnonzero(~in_range(prices))
    if len(bad):
        row = int(bad[0])
        fix = f"it must be a positive number from {SMALLEST:g} to {LARGEST:g}"
        tell(InputError(argument="price", row=row, value=float(prices[row]), fix=fix), bad)
        prices[bad] = 1.0
    return prices


def prices_of(
    names: Sequence[Hashable], prices: Mapping[str, float] | None, tell: Tell = raise_first
) -> FloatArray:
    """The price of each name, 1 unless prices are given."""
    if prices is None:
        return np.ones(len(names))
    by_folded = {folded(name): float(price) for name, price in prices.items()}
    found = np.ones(len(names))
    without_price: list[int] = []
    for number, name in enumerate(names):
        price = prices.get(str(name), by_folded.get(folded(name), prices.get(OTHER_NAMES)))
        if price is None:
            without_price.append(number)
        else:
            found[number] = price
    if without_price:
        name = names[without_price[0]]
        problem = f"have no price of {name!r}"
        fix = f"add it, or a price of all that have none: {OTHER_NAMES}=1"
        error = InputError(problem, argument="prices", column=name, place="prices", fix=fix)
        tell(error, np.array(without_price, dtype=np.intp))
    bad = np.flatnonzero(~in_range(found))
    if len(bad):
        name = names[int(bad[0])]
        value = float(found[bad[0]])
        tell(InputError(argument="prices", column=name, value=value, fix="prices must be positive numbers"), bad)
        found[bad] = 1.0
    return found


def read_hits(values: Column, codes: IntArray, tell: Tell = raise_first) -> BoolArray:
    """Which rows are true: 0 and 1, false and true, in numbers or in words."""
    if values.dtype.kind in "biuf":
        numbers = values.astype(np.float64)
        is_fine = (numbers == 0) | (numbers == 1) | (codes < 0)
        if is_fine.all():
            return np.asarray((numbers == 1) & (codes >= 0))
    hits = np.zeros(len(values), dtype=bool)
    bad: list[int] = []
    for row, value in enumerate(values.tolist()):
        word = str(value).strip().lower()
        if codes[row] < 0 or word in FALSE:
            continue
        if word in TRUE_WORDS:
            hits[row] = True
        else:
            bad.append(row)
    if bad:
        value = values.tolist()[bad[0]]
        error = InputError(argument="hit", row=bad[0], value=value, fix="write 1 or 0, true or false")
        tell(error, np.array(bad, dtype=np.intp))
    return hits


def true_names(truth: Truth) -> list[str]:
    """The names that are true of a case."""
    names = [truth] if isinstance(truth, (str, bytes)) or not isinstance(truth, Collection) else list(truth)
    return [str(name) for name in names if not is_missing(name)]


def hits_by_name(
    ids: Sequence[Hashable],
    case: IntArray,
    names: Sequence[Hashable],
    codes: IntArray,
    truth: Mapping[str, Truth],
    tell: Tell = raise_first,
) -> BoolArray:
    """Which rows name a truth of their case: the same name, or the only one that is the same once folded."""
    folded_numbers: dict[str, int] = {}  # of folded names
    numbers = [folded_numbers.setdefault(folded(name), len(folded_numbers)) for name in names]
    folded_of_code = np.array(numbers, dtype=np.intp)
    n_folded = len(folded_numbers)
    hits = np.zeros(len(case), dtype=bool)
    truths = _truths_by_key(ids, truth, folded_numbers, tell)
    if not truths:
        return hits
    keys = np.where(codes >= 0, case * n_folded + folded_of_code[codes], -1)
    similar = np.flatnonzero(np.isin(keys, list(truths)))  # rows whose name may be a truth: far fewer than all
    codes_of_key: dict[int, set[int]] = {}
    for key, code in zip(keys[similar].tolist(), codes[similar].tolist(), strict=True):
        codes_of_key.setdefault(key, set()).add(code)
    true_pairs: list[int] = []  # case times names, plus code
    for key, alike in codes_of_key.items():
        for true_name in truths[key]:
            same = [code for code in alike if str(names[code]) == true_name]
            meant = same[:1] if same or len(alike) > 1 else list(alike)
            true_pairs += [key // n_folded * len(names) + code for code in meant]
    hits[similar] = np.isin(case[similar] * len(names) + codes[similar], true_pairs)
    return hits


def _truths_by_key(
    ids: Sequence[Hashable], truth: Mapping[str, Truth], folded_numbers: Mapping[str, int], tell: Tell
) -> dict[int, list[str]]:
    """The names that are true of cases, where some case lists one that is the same once folded.

    The key is the number of the case times how many folded names there are, plus the number of the folded name.
    """
    truth_by_id = {str(name): value for name, value in truth.items()}
    truths: dict[int, list[str]] = {}
    without_truth = [number for number, name in enumerate(ids) if str(name) not in truth_by_id]
    if without_truth:
        first = ids[without_truth[0]]
        problem = f"has no case {first!r}"
        fix = "say what is true of every case; of a case whose truth nobody can list, an identifier of its own"
        error = InputError(problem, argument="truth", value=str(first), fix=fix)
        tell(error, np.array(without_truth, dtype=np.intp))
    for number, name in enumerate(ids):
        for true_name in true_names(truth_by_id.get(str(name), [])):
            folded_number = folded_numbers.get(folded(true_name))
            if folded_number is not None:
                truths.setdefault(number * len(folded_numbers) + folded_number, []).append(true_name)
    return truths


def _values_of_lists(lists: Sequence[ListOfCase]) -> list[float]:
    """The numbers of all lists, one after the other; of names in order numbers that fall."""
    values: list[float] = []
    for candidates in lists:
        if isinstance(candidates, Mapping):
            values += map(float, candidates.values())
        else:
            values += [float(-place) for place in range(len(candidates))]
    return values


def read_lists(
    lists: Sequence[ListOfCase],
    truth: Sequence[Truth],
    ids: Sequence[object] | None,
    prices: Mapping[str, float] | None,
    has_probabilities: bool,
) -> LongTable:
    """A list per case, as `Candidates.from_lists` takes them."""
    if len(truth) != len(lists):
        problem = f"has {len(truth)} entries, and there are {len(lists)} lists"
        raise InputError(problem, argument="truth", value=len(truth), fix="pass one per list")
    case_names = [str(name) for name in (range(len(lists)) if ids is None else ids)]
    if len(case_names) != len(lists) or len(set(case_names)) != len(lists):
        raise InputError("must name each list, each once", argument="ids", value=len(case_names))
    is_valued = [isinstance(candidates, Mapping) for candidates in lists if len(candidates)]
    if any(is_valued) and not all(is_valued):
        row = is_valued.index(not is_valued[0])
        fix = "write names in order, or values by name, for all cases"
        raise InputError("are of two kinds", argument="lists", row=row, place="lists", fix=fix)
    case = np.repeat(np.arange(len(lists)), [len(candidates) for candidates in lists])
    codes, names = numbered([str(name) for candidates in lists for name in candidates])
    numbers = read_values(np.array(_values_of_lists(lists), dtype=np.float64), "lists", codes)
    price = prices_of(names, prices)[codes] if names else np.empty(0)
    is_true = hits_by_name(case_names, case, names, codes, dict(zip(case_names, truth, strict=True)))
    return LongTable(
        tuple(case_names),
        case,
        tuple(map(str, names)),
        codes,
        numbers,
        price,
        is_true,
        has_probabilities and any(is_valued),
    )
