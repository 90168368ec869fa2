"""What callers say of files with ranked lists: which column is what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pandora_regret.core.inputs import Names
from pandora_regret.files.dialect import RECOGNISED, Dialect
from pandora_regret.files.ranked.formats import ID_KEYS, VALUE_KEYS, ListKind

Format: TypeAlias = Literal["trec"]
OrderKind: TypeAlias = Literal["score", "probability", "rank"]
FILE_ID = "FILE"  # instead of a column of ids: each file of a folder is a case
USUAL_COLUMNS: Mapping[str, Names] = {  # names of columns by which they are recognised, where nobody names them
    "id": ID_KEYS,
    "candidate": ("candidate",),
    "score": ("score",),
    "probability": ("probability",),
    "rank": ("rank",),
    "price": ("price",),
    "hit": ("hit", "is_hit"),
}
ORDERS: tuple[OrderKind, ...] = ("score", "probability", "rank")


@dataclass(frozen=True)
class ListLayout:
    """Which column of files with ranked lists is what; None: found by its usual name, where there is one.

    Parameters
    ----------
    id
        Of what cases are called. "FILE": each file of a folder is a case, called like the file.
    candidate
        Of what candidates are called; in JSON lines, the key of the list.
    score, probability, rank
        What orders the candidates of a case: one of them, or else the order of rows.
    price
        What it costs to look at a candidate.
    hit
        Which candidates are true: 0 and 1, or false and true.
    truth
        Instead of `hit`, a file with ids and true names: several rows for a case, or lists; of TREC runs, qrels.
    weight, group, model, by
        Columns of cases: weights, what belongs together, models that share a file, what to break results down by.
    format
        "trec" for runs, six columns without a header.
    by_price
        Whether scores are divided by prices.
    common_rows
        Whether cases that are missing from at least one file are left out.
    dialect
        How files are written, where that is not to be recognised.
    """

    id: str | None = None
    candidate: str | None = None
    score: str | None = None
    probability: str | None = None
    rank: str | None = None
    price: str | None = None
    hit: str | None = None
    truth: str | None = None
    weight: str | None = None
    group: str | None = None
    model: str | None = None
    by: Names = ()
    format: Format | None = None
    by_price: bool = False
    common_rows: bool = False
    dialect: Dialect = RECOGNISED

    @property
    def value_keys(self) -> Mapping[str, ListKind]:
        """What values are called in the elements of JSON lists, and what they are."""
        if self.probability is not None:
            return {self.probability: "probability"}
        if self.score is not None:
            return {self.score: "score"}
        return VALUE_KEYS

    @property
    def orders(self) -> Mapping[OrderKind, str | None]:
        """The columns of which one orders candidates, by what they hold."""
        return {"score": self.score, "probability": self.probability, "rank": self.rank}

    @property
    def fact_columns(self) -> Names:
        """The columns that say something of a case."""
        named = (self.weight, self.group, *self.by)
        return tuple(dict.fromkeys(name for name in named if name is not None))
