"""Several models on the same rows: matched by id, or by row order with equal labels if none has ids."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandora_regret.files.batch import Batch, ids_written_otherwise
from pandora_regret.files.roles import BY, KEPT, LABEL
from pandora_regret.files.source import RAISED, FileError, Problems
from pandora_regret.inputs import Done, IntArray
from pandora_regret.inputs.names import quoted
from pandora_regret.text import count, counted, listed

SINGLE_PRECISION = 1e-6
SAME_CLASSES = {
    "fix": "compare models of the same classes",
    "command_fix": "--missing-class-zero takes a class that a file lacks as probability 0",
}
SAME_ROWS = "files that are compared need the same rows"
ONLY_ONE_HAS = {"fix": SAME_ROWS, "command_fix": f"{SAME_ROWS}; --common-rows keeps those that all have"}


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
    aligned = [batches[0]]
    for name, other in zip(names[1:], batches[1:], strict=True):
        pair = _Pair(batches[0], other, problems)
        rows, theirs = pair.rows(), pair.in_order_of_classes(name, names[0])
        if rows is not None and theirs is not None:
            ours = batches[0] if len(rows[0]) == len(batches[0]) else batches[0].take(rows[0])
            aligned.append(theirs.take(rows[1]))
            pair.check_equal(ours, aligned[-1])
    return aligned


@dataclass(frozen=True)
class _Pair:
    """A model's rows, and another's that are to be put into the same order."""

    first: Batch
    other: Batch
    problems: Problems

    def _tell(self, kind: str, problem: str, count: int = 1, path: str = "", **attributes: Any) -> None:
        error = FileError(problem, path or self.other.path, **attributes)
        self.problems.in_file(kind, error, count, (self.first.path, self.other.path))

    def in_order_of_classes(self, name: str, first_name: str) -> Batch | None:
        """The other with its classes in the order of the first; None where they have not the same."""
        first, other = self.first, self.other
        ours, theirs = set(first.classes), set(other.classes)
        if ours != theirs:
            lists = (("lacks", sorted(ours - theirs)), ("has", sorted(theirs - ours)))
            differences = " and ".join(f"{verb} {quoted(labels)}" for verb, labels in lists if labels)
            problem = f"(model {name!r}) {differences}, unlike {first.path} (model {first_name!r})"
            self._tell("classes", problem, len(ours ^ theirs), **SAME_CLASSES)
            return None
        position = {label: k for k, label in enumerate(other.classes)}
        order = np.array([position[label] for label in first.classes])
        votes, costs = (None if of is None else of[:, order].copy() for of in (other.votes, other.costs))
        columns = tuple(other.columns[k] for k in order)
        truth = np.where(other.truth < 0, -1, np.argsort(order)[other.truth])
        return replace(other, classes=first.classes, columns=columns, truth=truth, votes=votes, costs=costs)

    def rows(self) -> tuple[IntArray, IntArray] | None:
        """The rows of the first, and those of the other that belong to them; None where that cannot be told."""
        first, other = self.first, self.other
        if first.ids is not None and other.ids is not None:
            return self._by_id(first.ids.tolist(), other.ids.tolist())
        if first.ids is not None or other.ids is not None:
            without, having = (first, other) if first.ids is None else (other, first)
            problem = f"has no ids but {having.path} has, so that rows cannot be matched"
            fix = f"say which column holds them (--id, or id in models.toml), or drop those of {having.path}"
            self._tell("ids", problem, path=without.path, argument="id", fix=fix)
            return None
        if len(first) != len(other):
            problem = f"has {len(other)} rows but {first.path} has {len(first)}"
            fix = f"{SAME_ROWS}; an id column in each would match them"
            self._tell("ids", problem, abs(len(first) - len(other)), fix=fix)
            return None
        return np.arange(len(first)), np.arange(len(first))

    def _by_id(self, ours: list[Any], theirs: list[Any]) -> tuple[IntArray, IntArray]:
        """The rows whose ids both have, in the order of the first; ids that only one has are told."""
        position = {name: index for index, name in enumerate(theirs)}
        order = np.array([position.pop(name, -1) for name in ours], dtype=np.intp)
        about = ids_written_otherwise(self.other.ids, self.first.ids, self.other.path) if (order < 0).all() else {}
        about = about or ONLY_ONE_HAS
        if n := int((order < 0).sum()):
            row, others = int(np.argmin(order)), f", nor of {n - 1} others" * (n > 1)
            problem = f"has no row of id {ours[row]!r} ({self.first.place(row)}){others}"
            self._tell("ids", problem, n, **about)
        if n := len(position):
            name, index = next(iter(position.items()))
            problem = f"id {name!r}{f' (and {n - 1} others)' * (n > 1)} is not in {self.first.path}"
            self._tell("ids", problem, n, path=f"{self.other.place(index)}:", **about)
        kept = np.flatnonzero(order >= 0)
        return kept, order[kept]

    def check_equal(self, first: Batch, other: Batch) -> None:
        """What both say about a row must be the same."""
        roles = [role for role in KEPT if role.must_agree and not role.many]
        if first.votes is not None and other.votes is not None:
            roles.remove(LABEL)  # votes say more
        said = [
            (role.title.removesuffix("s"), role.option, *(getattr(batch, role.field) for batch in (first, other)))
            for role in roles
        ]
        mine, theirs = first.by or {}, other.by or {}
        said += [(name, BY.option, mine[name], theirs[name]) for name in mine if name in theirs]
        for title, argument, ours, others in said:
            if ours is None or others is None:
                continue
            differ, is_label = _differ(ours, others), argument == LABEL.option
            if is_label:  # a truth may be missing yet, or outside the list of one model
                differ &= ~(_is_other(first) | _is_other(other)) & (ours >= 0) & (others >= 0)
            if n := int(differ.sum()):
                index = int(np.argmax(differ))
                a, b = (
                    first.classes[of[index]] if is_label else of[index : index + 1].tolist()[0]
                    for of in (ours, others)
                )
                more = f" ({counted(n, 'row')} differ)" if n > 1 else ""
                problem = f"has the {title} {b!r} but {first.place(index)} has {a!r} for the same row{more}"
                fix = f"correct one of them{' or match rows by an id column' if other.ids is None else ''}"
                about = {"path": other.place(index), "argument": argument, "fix": fix}
                self._tell("truth" if is_label else argument, problem, n, **about)


def _differ(ours: Any, theirs: Any) -> NDArray[np.bool_]:
    """The rows that do; weights and costs of one file may have been written by single precision."""
    if ours.dtype.kind == "f":
        same = np.isclose(ours, theirs, rtol=SINGLE_PRECISION, atol=0).reshape(len(ours), -1)
        return np.asarray(~same.all(axis=1))
    return np.asarray(ours != theirs, dtype=np.bool_)


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
    ids = [batch.ids.tolist() for batch in batches if batch.ids is not None]
    if len(ids) < len(batches):
        without = next(batch.path for batch in batches if batch.ids is None)
        fix = "rows that all files have are found by id; say which column it is (--id)"
        raise FileError("has no ids", without, fix, argument="ids")
    labelled = (np.flatnonzero(batch.truth >= 0).tolist() for batch in batches)
    true = [{of[row] for row in rows} for of, rows in zip(ids, labelled, strict=True)]
    in_all, in_any = set.intersection(*true), set.union(*map(set, ids))
    if not in_all:
        hints = (ids_written_otherwise(batch.ids, batches[0].ids, batch.path) for batch in batches)
        problem = f"has no id in common with {' and '.join(batch.path for batch in batches[:-1])}"
        about = next(filter(None, hints), {"fix": "say which column holds the ids (--id)"})
        raise FileError(problem, batches[-1].path, **about)
    rows = (np.flatnonzero([name in in_all for name in of]) for of in ids)
    kept = [_counted_anew(batch.take(these)) for batch, these in zip(batches, rows, strict=True)]
    lacking = [name for name, of in zip(names, true, strict=True) if len(of) < len(in_any)]
    who = f"{lacking[0]} lacks" if len(lacking) == 1 < len(names) else "not all files have"
    lost = {name: len(of) - len(in_all) for name, of in zip(names, ids, strict=True)}
    of_each = ", ".join(f"{name} lost {count(times)}" for name, times in lost.items() if times)
    n = len(in_any) - len(in_all)
    done = Done("rows left out", n, f"{counted(n, 'row')} that {who} left out ({of_each})")
    return kept, (done,) if n else ()


def _counted_anew(batch: Batch) -> Batch:
    return replace(batch, changes=replace(batch.changes, outside=int(_is_other(batch).sum())))


def orders_too(batches: Sequence[Batch], names: Sequence[str]) -> tuple[Done, ...]:
    """The models with probabilities that are scored by order alone because another has no probabilities."""
    orders = [name for name, batch in zip(names, batches, strict=True) if batch.order_only]
    others = [name for name in names if name not in orders]
    if not orders or not others:
        return ()
    why = f"{listed(orders)} {'has' if len(orders) == 1 else 'have'} no probabilities"
    return (Done("order only", len(others), f"{listed(others)} scored by order alone, too, because {why}"),)


def _is_other(batch: Batch) -> NDArray[np.bool_]:
    """Rows whose truth their list does not name."""
    names = {source.other for source, _ in batch.origins}
    return np.isin(batch.truth, [k for k, name in enumerate(batch.classes) if name in names])
