"""Whether files that are fine by themselves go together: the same ids, classes and truths, every class priced."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pandora_regret.files.layout import Classes, some
from pandora_regret.files.predictions import Predictions
from pandora_regret.files.prices import PriceList
from pandora_regret.files.reading import ColumnReader
from pandora_regret.files.source import Source
from pandora_regret.inputs import InputError
from pandora_regret.text import counted

NAMED = 3  # examples of each problem


@dataclass(frozen=True)
class Disagreement:
    """What keeps files from being compared, or priced."""

    kind: str  # "classes", "ids", "truth" or "prices"
    message: str
    count: int = 1
    paths: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Truths:
    """What a model's file says of its cases."""

    model: Predictions
    labels: dict[Any, tuple[str, Source, int]]  # by id: the true class, and where the row stands

    @property
    def path(self) -> str:
        return self.model.path


def disagreements(models: Sequence[Predictions], prices: PriceList | None) -> list[Disagreement]:
    """Everything that keeps models from being compared with the first of them, and priced; each problem once."""
    found = [*_of_prices(models, prices)]
    if len(models) > 1:
        first, *others = (_truths_of(model) for model in models)
        for other in others:
            found += [*_of_classes(first.model, other.model), *_of_ids(first, other), *_of_truths(first, other)]
    return found


def _of_prices(models: Sequence[Predictions], prices: PriceList | None) -> Iterator[Disagreement]:
    classes = list(dict.fromkeys(name for model in models for name in model.classes))
    if prices is not None and classes:
        try:
            prices.for_classes(classes)
        except InputError as error:
            missing = [name for name in classes if name not in prices.costs]
            yield Disagreement("prices", str(error), max(1, len(missing)), (prices.source,))


def _of_classes(first: Predictions, other: Predictions) -> Iterator[Disagreement]:
    ours, theirs = set(first.classes), set(other.classes)
    for verb, names in (("lacks", sorted(ours - theirs)), ("has", sorted(theirs - ours))):
        if names:
            unlike = f"unlike {first.path}: compare models of the same classes."
            message = f"{other.path} {verb} the classes {some(names)}, {unlike}"
            yield Disagreement("classes", message, len(names), (first.path, other.path))


def _of_ids(first: _Truths, other: _Truths) -> Iterator[Disagreement]:
    """Files with no id in common are parts of one table, which is fine."""
    if (first.model.columns.id is None) != (other.model.columns.id is None):
        having, without = (first, other) if other.model.columns.id is None else (other, first)
        message = f"{without.path} has no ids but {having.path} has: say which column holds them (--id)."
        yield Disagreement("ids", message, 1, (having.path, without.path))
    if not first.labels.keys() & other.labels.keys():
        return
    for one, another in ((first, other), (other, first)):
        lacking = [name for name in one.labels if name not in another.labels]
        if lacking:
            ids = f"{counted(len(lacking), 'id')} that {one.path} has ({_examples(lacking)})"
            message = f"{another.path} lacks {ids}: --common-rows compares on those that all have."
            yield Disagreement("ids", message, len(lacking), (one.path, another.path))


def _of_truths(first: _Truths, other: _Truths) -> Iterator[Disagreement]:
    common = [name for name in first.labels if name in other.labels]
    differ = [name for name in common if first.labels[name][0] != other.labels[name][0]]
    if differ:
        (ours, source, row), (theirs, their_source, their_row) = (of.labels[differ[0]] for of in (first, other))
        message = (
            f"{counted(len(differ), 'case')} with different truths: "
            f"{differ[0]!r} is {theirs!r} ({their_source.path}{their_source.place(their_row)}) but {ours!r} "
            f"({source.path}{source.place(row)}); correct one of them."
        )
        yield Disagreement("truth", message, len(differ), (first.path, other.path))


def _examples(names: Sequence[Any]) -> str:
    return ", ".join(map(repr, names[:NAMED])) + (", ..." if len(names) > NAMED else "")


def _truths_of(model: Predictions) -> _Truths:
    """The true class of every id; none where there are no ids, or votes instead of labels."""
    columns, labels = model.columns, dict[Any, tuple[str, Source, int]]()
    if columns.id is None or not columns.label:
        return _Truths(model, labels)
    wanted = [columns.label, columns.id, *([columns.model] if columns.model else [])]
    for source, file_row, records in model.walk(list(dict.fromkeys(wanted))):
        kept, numbers = model.kept(records, file_row)
        reader = ColumnReader(kept, source, numbers, Classes(columns.classes))
        truths = np.array(columns.classes, dtype=object)[reader.labels(columns.label)]
        rows = zip(reader.names(columns.id).tolist(), truths.tolist(), numbers, strict=True)
        labels |= {name: (truth, source, int(row)) for name, truth, row in rows}
    return _Truths(model, labels)
