"""Which column of a table with a row per case and candidate is what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from pandora_regret.core.inputs import Names, did_you_mean, matched, quoted
from pandora_regret.files.file_errors import FileError
from pandora_regret.files.problems import Problems
from pandora_regret.files.ranked.layout import ORDERS, USUAL_COLUMNS, ListLayout, OrderKind
from pandora_regret.files.source import Source


class OrderColumn(NamedTuple):
    """What orders candidates: the highest score or probability first, or the lowest rank."""

    kind: OrderKind
    column: str


@dataclass(frozen=True)
class LongTableColumns:
    """The columns of a long table, by what they are; None where there is none."""

    id: str | None
    candidate: str | None
    order: OrderColumn | None  # None: the order of rows
    price: str | None
    hit: str | None
    model: str | None
    facts: Names

    @property
    def can_be_streamed(self) -> bool:
        """Whether cases can be searched one after the other: orders of one model, with a column of hits."""
        is_order = self.order is None or self.order.kind != "probability"
        return is_order and self.hit is not None and self.candidate is not None and self.model is None

    @property
    def numbers(self) -> frozenset[str]:
        """Those that must hold numbers."""
        return frozenset(name for name in (self.order and self.order.column, self.price) if name)

    @property
    def names(self) -> list[str]:
        """All of them, each once."""
        listed = (self.id, self.candidate, self.order and self.order.column, self.price, self.hit, self.model)
        return list(dict.fromkeys(name for name in (*listed, *self.facts) if name))


def find_columns(
    source: Source, layout: ListLayout, problems: Problems, needs_id: bool = True
) -> LongTableColumns:
    """Which column of a table is what."""
    _check_columns(source, layout, needs_id, problems)
    columns = LongTableColumns(
        id=_single_column("id", layout.id, source) if needs_id else None,
        candidate=_single_column("candidate", layout.candidate, source),
        order=_order_column(source, layout),
        price=_single_column("price", layout.price, source),
        hit=None if layout.truth is not None else _single_column("hit", layout.hit, source),
        model=None if layout.model is None else _single_column("model", layout.model, source),
        facts=tuple(matched(layout.fact_columns, source.kinds).values()),
    )
    for role, column in {"id": columns.id if needs_id else "", "candidate": columns.candidate}.items():
        if column is None and not (role == "candidate" and columns.hit is not None):
            fix = f"say which column that is (--{role}): {quoted(source.kinds)}"
            raise FileError(
                f"has no column called {' or '.join(USUAL_COLUMNS[role])}", source.path, fix, argument=role
            )
    return columns


def _check_columns(source: Source, layout: ListLayout, needs_id: bool, problems: Problems) -> None:
    """Tell which columns were named that a table does not have."""
    paths = () if needs_id else (source.path,)  # of a folder, messages say which file
    stated = {
        "id": layout.id if needs_id else None,
        "candidate": layout.candidate,
        "price": layout.price,
        "hit": None if layout.truth is not None else layout.hit,
        "model": layout.model,
    }
    for role, name in (stated | dict(layout.orders)).items():
        if name is not None:
            with problems.noting(role, paths):
                _single_column(role, name, source)


def _single_column(role: str, stated: str | None, source: Source) -> str | None:
    """The column that was said, which must be there; else one of a usual name, if there is one."""
    if stated is None:
        return next(iter(matched(USUAL_COLUMNS.get(role, ()), source.kinds).values()), None)
    column = matched([stated], source.kinds).get(stated)
    if column is None:
        fix = did_you_mean(stated, list(source.kinds))
        raise FileError(f"has no column {stated!r}", source.path, fix, argument=role, value=stated)
    return column


def _order_column(source: Source, layout: ListLayout) -> OrderColumn | None:
    """What orders candidates: a column that was said, or one of a usual name; an error where two are."""
    stated = layout.orders
    is_said = any(stated.values())
    found: list[OrderColumn] = []
    for kind in ORDERS:
        if is_said and stated[kind] is None:
            continue
        column = _single_column(kind, stated[kind], source)
        if column is not None:
            found.append(OrderColumn(kind, column))
    if len(found) > 1:
        first = found[0].kind
        second = found[1].kind
        problem = f"has columns for {first} and {second}"
        fix = f"say what orders candidates: --{first}, or --{second}"
        raise FileError(problem, source.path, fix, argument=second)
    return found[0] if found else None
