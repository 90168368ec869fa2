"""Several models on the same rows: matched by id, or by row order with equal labels if none has ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from pandora_regret.files.batch import Batch
from pandora_regret.files.errors import FileError
from pandora_regret.files.roles import BY, KEPT, LABEL, Role
from pandora_regret.inputs import Done, IntArray
from pandora_regret.text import count, counted, listed

SINGLE_PRECISION = 1e-6
SAME_ROWS = "files that are compared need the same rows"
BY_COMMAND = f"{SAME_ROWS}; --common-rows keeps those that all have"


def align(batches: Sequence[Batch], names: Sequence[str]) -> list[Batch]:
    """The same rows and classes in the same order: those of the first.

    Classes are matched by name. Rows are matched by id where every file has ids, by row order where none has.
    Labels, and weights, groups and costs where both have them, must then be equal.

    Parameters
    ----------
    batches
        All rows of each model, from `read_all`.
    names
        What to call each of them in an error, besides its file.

    Returns
    -------
    list of Batch
        One for each model, with the same rows and classes in the same order.
    """
    first, *others = batches = _over_all_classes(batches)
    by_id = _have_ids(batches)
    aligned = [first]
    for name, other in zip(names[1:], others, strict=True):
        other = _in_order_of_classes(other, first, name, names[0])
        order = _order_by_id(first, other) if by_id else _order_of_rows(first, other)
        for role in KEPT:
            _check_equal(first, other, order, role)
        _check_same_values(first, other, order)
        aligned.append(other.take(order))
    return aligned


def _have_ids(batches: Sequence[Batch]) -> bool:
    """Whether all have; that only some have is an error, as rows in another order would go unnoticed."""
    without = next((batch for batch in batches if batch.ids is None), None)
    having = next((batch for batch in batches if batch.ids is not None), None)
    if without is not None and having is not None:
        problem = f"has no ids but {having.path} has, so that rows cannot be matched"
        fix = f"say which column holds them (--id, or id in models.toml), or drop those of {having.path}"
        raise FileError(problem, path=without.path, argument="id", fix=fix)
    return without is None


def common_rows(batches: Sequence[Batch], names: Sequence[str]) -> tuple[list[Batch], tuple[Done, ...]]:
    """Only the rows whose ids all models have, as they stand in each; and what was left out.

    Parameters
    ----------
    batches, names
        As in `align`.

    Returns
    -------
    tuple
        The batches, and what was left out, counted.
    """
    without = next((batch for batch in batches if batch.ids is None), None)
    if without is not None:
        fix = "rows that all files have are found by id; say which column it is (--id)"
        raise FileError("has no ids", path=without.path, argument="ids", fix=fix)
    ids = [batch.ids.tolist() for batch in batches if batch.ids is not None]
    in_all, in_any = set(ids[0]).intersection(*ids[1:]), set[Any]().union(*ids)
    if not in_all:
        problem = f"has no id in common with {' and '.join(batch.path for batch in batches[:-1])}"
        raise FileError(problem, path=batches[-1].path, fix="say which column holds the ids (--id)")
    rows = [np.array([i for i, name in enumerate(of) if name in in_all], dtype=np.intp) for of in ids]
    kept = [batch.take(these) for batch, these in zip(batches, rows, strict=True)]
    lost = {name: len(of) - len(in_all) for name, of in zip(names, ids, strict=True)}
    lacking = [name for name, of in zip(names, ids, strict=True) if len(of) < len(in_any)]
    return kept, _left_out(len(in_any) - len(in_all), lost, lacking)


def truths_outside(batches: Sequence[Batch], names: Sequence[str]) -> tuple[str, ...]:
    """A warning where truths that lists do not name differ between models of the same rows."""
    outside = [_is_other(batch, batch.truth) for batch in batches]
    if all((rows == outside[0]).all() for rows in outside):
        return ()
    bucket = next(source.other for batch in batches for source, _ in batch.origins if source.other is not None)
    of_each = [f"{count(int(rows.sum()))} of {name}" for rows, name in zip(outside, names, strict=True)]
    first = of_each[0].replace(" of ", " truths of ", 1)
    said = f"{listed([first, *of_each[1:]])} lie outside their lists and count as {bucket!r}, one test"
    return (f"{said}: a model that lists less can look cheaper.",)


def orders_too(batches: Sequence[Batch], names: Sequence[str]) -> tuple[Done, ...]:
    """The models with probabilities that are scored by order alone because another has no probabilities."""
    orders = [name for name, batch in zip(names, batches, strict=True) if batch.order_only]
    others = [name for name in names if name not in orders]
    if not orders or not others:
        return ()
    why = f"{listed(orders)} {'has' if len(orders) == 1 else 'have'} no probabilities"
    return (Done("order only", len(others), f"{listed(others)} scored by order alone, too, because {why}"),)


def _left_out(n: int, lost: Mapping[str, int], lacking: Sequence[str]) -> tuple[Done, ...]:
    """How many rows were left out, and what each model lost by that."""
    if not n:
        return ()
    rows, who = counted(n, "row"), lacking[0] if len(lacking) == 1 else "not all models"
    verb = "lacks" if len(lacking) == 1 else "have"
    of_each = ", ".join(f"{name} lost {count(times)}" for name, times in lost.items() if times)
    return (Done("rows left out", n, f"{rows} that {who} {verb} left out ({of_each})"),)


def _over_all_classes(batches: Sequence[Batch]) -> list[Batch]:
    """Rows with options of their own over the options of all files: those that only others name are impossible."""
    if all(batch.absent is None for batch in batches):
        return list(batches)
    classes = tuple(dict.fromkeys(name for batch in batches for name in batch.classes))
    return [batch if batch.absent is None else batch.with_classes(classes) for batch in batches]


def _in_order_of_classes(other: Batch, first: Batch, name: str, first_name: str) -> Batch:
    """The same batch with its classes in the order of the first's."""
    if other.classes == first.classes:
        return other
    position = {label: k for k, label in enumerate(other.classes)}
    missing = [label for label in first.classes if label not in position]
    unknown = sorted(set(other.classes) - set(first.classes))
    if missing or unknown:
        lists = (("lacks", missing), ("has", unknown))
        differences = " and ".join(f"{verb} {labels[:8]}" for verb, labels in lists if labels)
        problem = f"(model {name!r}) {differences}, unlike {first.path} (model {first_name!r})"
        raise FileError(problem, path=other.path, fix="compare models of the same classes")
    order = np.array([position[label] for label in first.classes])
    of_classes = {"votes": other.votes, "costs": other.costs}
    tables: dict[str, Any] = {
        name: np.ascontiguousarray(table[:, order]) for name, table in of_classes.items() if table is not None
    }
    columns, truth = tuple(other.columns[k] for k in order), np.argsort(order)[other.truth]
    return replace(other, classes=first.classes, columns=columns, truth=truth, **tables)


def _order_by_id(first: Batch, other: Batch) -> IntArray:
    """The rows of the other that have the ids of the first, one by one."""
    assert first.ids is not None
    assert other.ids is not None
    position = {name: index for index, name in enumerate(other.ids.tolist())}
    names = first.ids.tolist()
    order = [position.pop(name, -1) for name in names]
    fixes = {"fix": SAME_ROWS, "command_fix": BY_COMMAND}
    if -1 in order:
        index, n = order.index(-1), order.count(-1)
        others = "" if n == 1 else f", nor of {n - 1} others"
        problem = f"has no row of id {names[index]!r} ({first.place(index)}){others}"
        raise FileError(problem, path=other.path, value=names[index], **fixes)
    if position:
        name, index = next(iter(position.items()))
        others = "" if len(position) == 1 else f" (and {len(position) - 1} others)"
        problem = f"id {name!r}{others} is not in {first.path}"
        raise FileError(problem, path=other.place(index), where=":", value=name, **fixes)
    return np.array(order, dtype=np.intp)


def _order_of_rows(first: Batch, other: Batch) -> IntArray:
    if len(first) != len(other):
        fix = f"{SAME_ROWS}; an id column in each would match them"
        problem = f"has {len(other)} rows but {first.path} has {len(first)}"
        raise FileError(problem, path=other.path, value=len(other), fix=fix)
    return np.arange(len(first))


def _check_equal(first: Batch, other: Batch, order: IntArray, role: Role) -> None:
    """What both say about a row must be the same."""
    ours, theirs = getattr(first, role.field), getattr(other, role.field)
    by_votes = role is LABEL and first.votes is not None and other.votes is not None  # which say more
    if role.must_agree and not (role.many or by_votes) and ours is not None and theirs is not None:
        differ = _differ(ours, theirs[order])
        if role is LABEL:  # a truth that one model's list names may be outside the other's
            differ &= ~(_is_other(first, ours) | _is_other(other, theirs[order]))
        if differ.any():
            _fail(first, other, order, role, int(np.argmax(differ)))


def _check_same_values(first: Batch, other: Batch, order: IntArray) -> None:
    """Columns that both have to break results down by must hold the same."""
    for name in set(first.by or ()) & set(other.by or ()):
        assert first.by is not None
        assert other.by is not None
        ours, theirs = first.by[name], other.by[name][order]
        if (differ := _differ(ours, theirs)).any():
            index = int(np.argmax(differ))
            source, row = other.origin(int(order[index]))
            problem = f"has {theirs[index]!r} in column {name!r} but {first.place(index)} has {ours[index]!r}"
            fix = "correct one of them"
            raise source.error(
                row, f"{problem} for the same row", argument=BY.option, value=theirs[index], fix=fix
            )


def _is_other(batch: Batch, truth: IntArray) -> NDArray[np.bool_]:
    """Rows whose truth their list does not name."""
    names = {source.other for source, _ in batch.origins}
    return np.isin(truth, [k for k, name in enumerate(batch.classes) if name in names])


def _differ(ours: Any, theirs: Any) -> NDArray[np.bool_]:
    """The rows that do; weights and costs of one file may have been written by single precision."""
    if ours.dtype.kind == "f":
        same = np.isclose(ours, theirs, rtol=SINGLE_PRECISION, atol=0).reshape(len(ours), -1)
        return np.asarray(~same.all(axis=1))
    return np.asarray(ours != theirs, dtype=np.bool_)


def _fail(first: Batch, other: Batch, order: IntArray, role: Role, index: int) -> NoReturn:
    source, row = other.origin(int(order[index]))
    ours, theirs = _value(first, role, index), _value(other, role, int(order[index]))
    problem = f"has the {role.title.removesuffix('s')} {theirs!r} but {first.place(index)} has {ours!r}"
    by_order = other.ids is None
    fix = f"correct one of them{' or match rows by an id column' if by_order else ''}"
    raise source.error(row, f"{problem} for the same row", argument=role.option, value=theirs, fix=fix)


def _value(batch: Batch, role: Role, index: int) -> Any:
    return batch.classes[batch.truth[index]] if role is LABEL else getattr(batch, role.field)[index].tolist()
