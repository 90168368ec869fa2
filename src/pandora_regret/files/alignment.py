"""Several models on the same rows: matched by id, or by row order with equal labels if none has ids."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandora_regret.files.batch import Batch, ids_written_otherwise
from pandora_regret.files.roles import BY, KEPT, LABEL
from pandora_regret.files.source import RAISED, AllDone, FileError, Problems, noted
from pandora_regret.inputs import IntArray
from pandora_regret.inputs.names import quoted
from pandora_regret.text import count, counted

SINGLE_PRECISION = 1e-6
SAME_CLASSES = {
    "fix": "compare models of the same classes",
    "command_fix": "--missing-class-zero takes a class that a file lacks as probability 0",
}
SAME_ROWS = "files that are compared need the same rows"
ONLY_ONE_HAS = {"fix": SAME_ROWS, "command_fix": f"{SAME_ROWS}; --common-rows keeps those that all have"}
Tell = Callable[..., None]


def align(batches: Sequence[Batch], names: Sequence[str], problems: Problems = RAISED) -> list[Batch]:
    """The same rows and classes in the same order: those of the first.

    Classes are matched by name. Rows are matched by id where every file has ids, by row order where none has.
    Labels, and weights, groups and costs where both have them, must then be equal.

    Parameters
    ----------
    batches
        All rows of each model, from `read_all`.
    names
        What to call each of them in an error, besides its file.
    problems
        Who is told what keeps them from being aligned; the first such problem is raised unless said.

    Returns
    -------
    list of Batch
        One for each model, with the same rows and classes in the same order.
    """
    aligned, first = [batches[0]], batches[0]
    for name, other in zip(names[1:], batches[1:], strict=True):
        tell = partial(_tell, problems, first, other)
        rows = _same_rows(first, other, tell)
        ours, theirs = set(first.classes), set(other.classes)
        if ours != theirs:
            lists = (("lacks", sorted(ours - theirs)), ("has", sorted(theirs - ours)))
            differences = " and ".join(f"{verb} {quoted(labels)}" for verb, labels in lists if labels)
            problem = f"(model {name!r}) {differences}, unlike {first.path} (model {names[0]!r})"
            tell("classes", problem, len(ours ^ theirs), **SAME_CLASSES)
        elif rows is not None:
            aligned.append(_with_classes_of(first, other).take(rows[1]))
            _check_equal(first if len(rows[0]) == len(first) else first.take(rows[0]), aligned[-1], tell)
    return aligned


def _tell(
    problems: Problems,
    first: Batch,
    other: Batch,
    kind: str,
    problem: str,
    n: int = 1,
    path: str = "",
    **about: Any,
) -> None:
    problems.in_file(kind, FileError(problem, path or other.path, **about), n, (first.path, other.path))


def _with_classes_of(first: Batch, other: Batch) -> Batch:
    """The other with its classes in the order of the first."""
    place = {label: k for k, label in enumerate(other.classes)}
    order = np.array([place[label] for label in first.classes])
    votes, costs = (None if of is None else of[:, order].copy() for of in (other.votes, other.costs))
    columns = tuple(other.columns[k] for k in order)
    truth = np.where(other.truth < 0, -1, np.argsort(order)[other.truth])
    return replace(other, classes=first.classes, columns=columns, truth=truth, votes=votes, costs=costs)


def _same_rows(first: Batch, other: Batch, tell: Tell) -> tuple[IntArray, IntArray] | None:
    """The rows of the first, and those of the other that belong to them; None where that cannot be told."""
    if first.ids is not None and other.ids is not None:
        return _by_id(first, other, tell)
    if first.ids is not None or other.ids is not None:
        without, having = (first, other) if first.ids is None else (other, first)
        problem = f"has no ids but {having.path} has, so that rows cannot be matched"
        fix = f"say which column holds them (--id, or id in models.toml), or drop those of {having.path}"
        tell("ids", problem, path=without.path, argument="id", fix=fix)
        return None
    if len(first) != len(other):
        problem = f"has {len(other)} rows but {first.path} has {len(first)}"
        tell(
            "ids", problem, abs(len(first) - len(other)), fix=f"{SAME_ROWS}; an id column in each would match them"
        )
        return None
    return np.arange(len(first)), np.arange(len(first))


def _by_id(first: Batch, other: Batch, tell: Tell) -> tuple[IntArray, IntArray]:
    """The rows whose ids both have, in the order of the first; ids that only one has are told."""
    ours, theirs = ([] if of.ids is None else of.ids.tolist() for of in (first, other))
    position = {name: index for index, name in enumerate(theirs)}
    order = np.array([position.pop(name, -1) for name in ours], dtype=np.intp)
    hint = ids_written_otherwise(other.ids, first.ids, other.path) if (order < 0).all() else {}
    about = hint or ONLY_ONE_HAS
    if n := int((order < 0).sum()):
        row, others = int(np.argmin(order)), f", nor of {n - 1} others" * (n > 1)
        tell("ids", f"has no row of id {ours[row]!r} ({first.place(row)}){others}", n, **about)
    if n := len(position):
        name, index = next(iter(position.items()))
        problem = f"id {name!r}{f' (and {n - 1} others)' * (n > 1)} is not in {first.path}"
        tell("ids", problem, n, path=f"{other.place(index)}:", **about)
    kept = np.flatnonzero(order >= 0)
    return kept, order[kept]


def _check_equal(first: Batch, other: Batch, tell: Tell) -> None:
    """What both say about a row must be the same."""
    pairs = {
        role.title.removesuffix("s"): (role.option, getattr(first, role.field), getattr(other, role.field))
        for role in KEPT
        if role.must_agree and not role.many
    }
    if first.votes is not None and other.votes is not None:
        del pairs[LABEL.name]  # votes say more
    mine, theirs = first.by or {}, other.by or {}
    pairs |= {name: (BY.option, mine[name], theirs[name]) for name in mine if name in theirs}
    for title, (argument, ours, others) in pairs.items():
        if ours is None or others is None:
            continue
        differ, is_label = _differ(ours, others), argument == LABEL.option
        if is_label:  # a truth may be missing yet, or outside the list of one model
            differ &= ~(_is_other(first) | _is_other(other)) & (ours >= 0) & (others >= 0)
        if n := int(differ.sum()):
            index = int(np.argmax(differ))
            a, b = (of[index : index + 1].tolist()[0] for of in (ours, others))
            a, b = (first.classes[a], first.classes[b]) if is_label else (a, b)
            more = f" ({counted(n, 'row')} differ)" if n > 1 else ""
            problem = f"has the {title} {b!r} but {first.place(index)} has {a!r} for the same row{more}"
            fix = f"correct one of them{' or match rows by an id column' if other.ids is None else ''}"
            kind = "truth" if is_label else argument
            tell(kind, problem, n, path=other.place(index), argument=argument, fix=fix)


def _differ(ours: Any, theirs: Any) -> NDArray[np.bool_]:
    """The rows that do; weights and costs of one file may have been written by single precision."""
    if ours.dtype.kind == "f":
        same = np.isclose(ours, theirs, rtol=SINGLE_PRECISION, atol=0).reshape(len(ours), -1)
        return np.asarray(~same.all(axis=1))
    return np.asarray(ours != theirs, dtype=np.bool_)


def _is_other(batch: Batch) -> NDArray[np.bool_]:
    """Rows whose truth their list does not name."""
    names = {source.other for source in batch.sources}
    return np.isin(batch.truth, [k for k, name in enumerate(batch.classes) if name in names])


def common_rows(batches: Sequence[Batch], names: Sequence[str]) -> tuple[list[Batch], AllDone]:
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
    if without := next((batch.path for batch in batches if batch.ids is None), None):
        fix = "rows that all files have are found by id; say which column it is (--id)"
        raise FileError("has no ids", without, fix, argument="ids")
    ids = [np.asarray(batch.ids).tolist() for batch in batches]
    true = [{*np.asarray(batch.ids)[batch.truth >= 0].tolist()} for batch in batches]
    in_all, in_any = set.intersection(*true), set().union(*ids)
    if not in_all:
        hints = (ids_written_otherwise(batch.ids, batches[0].ids, batch.path) for batch in batches)
        problem = f"has no id in common with {' and '.join(batch.path for batch in batches[:-1])}"
        about = next(filter(None, hints), {"fix": "say which column holds the ids (--id)"})
        raise FileError(problem, batches[-1].path, **about)
    kept = list[Batch]()
    for batch, of in zip(batches, ids, strict=True):
        some = batch.take(np.flatnonzero([name in in_all for name in of]))
        kept.append(replace(some, changes=replace(some.changes, outside=int(_is_other(some).sum()))))
    lacking = [name for name, of in zip(names, true, strict=True) if len(of) < len(in_any)]
    who = f"{lacking[0]} lacks" if len(lacking) == 1 < len(names) else "not all files have"
    lost = {name: len(of) - len(in_all) for name, of in zip(names, ids, strict=True)}
    of_each, n = (
        ", ".join(f"{name} lost {count(times)}" for name, times in lost.items() if times),
        len(in_any - in_all),
    )
    return kept, noted("rows left out", n, f"{counted(n, 'row')} that {who} left out ({of_each})")
