"""Several models on the same rows: matched by id, or by row order with equal labels if none has ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from pandora_regret.core.inputs import IntArray, quoted, remark_on
from pandora_regret.files.batch import Batch, fix_of_ids_written_otherwise
from pandora_regret.files.file_errors import Complaint, FileError
from pandora_regret.files.problems import RAISED, Problems
from pandora_regret.files.recognise import Remarks
from pandora_regret.files.roles import BY, COSTS, GROUP, LABEL, VOTES, WEIGHT
from pandora_regret.text import count, counted

SINGLE_PRECISION = 1e-6  # in which weights and costs of one file may have been written
SAME_CLASSES: Complaint = {
    "fix": "compare models of the same classes",
    "command_fix": "--missing-class-zero takes a class that a file lacks as probability 0",
}
SAME_ROWS = "files that are compared need the same rows"
ONLY_ONE_HAS: Complaint = {
    "fix": SAME_ROWS,
    "command_fix": f"{SAME_ROWS}; --common-rows keeps those that all have",
}
OTHER_CASES: Complaint = {
    "fix": "each file is a model of its own; parts of one model come one after the other, run by run"
}


@dataclass(frozen=True)
class _ModelPair:
    """Two models that are to go together, and who is told what keeps them from that."""

    first: Batch
    other: Batch
    problems: Problems

    def tell(self, kind: str, complaint: Complaint, n: int = 1, where: str = "", path: str | None = None) -> None:
        """Tell of a problem that n things have; it is the other file's unless `path` says."""
        error = FileError(path=path or self.other.path, where=where, **complaint)
        self.problems.in_file(kind, error, n, (self.first.path, self.other.path))


def align(batches: Sequence[Batch], names: Sequence[str], problems: Problems = RAISED) -> list[Batch]:
    """Models on the same rows and classes in the same order: those of the first.

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
    first = batches[0]
    aligned = [first]
    for name, other in zip(names[1:], batches[1:], strict=True):
        pair = _ModelPair(first, other, problems)
        rows = _same_rows(pair)
        if set(first.classes) != set(other.classes):
            _tell_other_classes(pair, names[0], name)
        elif rows is not None:
            in_both = np.flatnonzero(rows >= 0)
            same_rows = other.with_classes(first.classes).take(rows[in_both])
            first_rows = first if len(in_both) == len(first) else first.take(in_both)
            _check_equal(_ModelPair(first_rows, same_rows, problems))
            aligned.append(same_rows)
    return aligned


def check_classes(first: Batch, other: Batch, problems: Problems) -> None:
    """Tell which classes only one of two models has, if any, whatever their rows are."""
    if set(first.classes) != set(other.classes):
        _tell_other_classes(_ModelPair(first, other, problems), first.model.name, other.model.name)


def _tell_other_classes(pair: _ModelPair, first_name: str, name: str) -> None:
    """Tell which classes only one of two models has."""
    lacking = sorted(set(pair.first.classes) - set(pair.other.classes))
    more = sorted(set(pair.other.classes) - set(pair.first.classes))
    differences = []
    if lacking:
        differences.append(f"lacks {quoted(lacking)}")
    if more:
        differences.append(f"has {quoted(more)}")
    unlike = f"unlike {pair.first.path} (model {first_name!r})"
    problem = f"(model {name!r}) {' and '.join(differences)}, {unlike}"
    pair.tell("classes", SAME_CLASSES | {"problem": problem}, len(lacking) + len(more))


def _same_rows(pair: _ModelPair) -> IntArray | None:
    """The row of the other for each of the first, -1 where only one has it; None where that cannot be told."""
    first = pair.first
    other = pair.other
    if first.ids is not None and other.ids is not None:
        rows = other.rows_of(first.ids)
        advice = ONLY_ONE_HAS
        if rows.max(initial=-1) < 0:  # no id is in both
            advice = fix_of_ids_written_otherwise(other.ids, first.ids, other.path) or OTHER_CASES
        _tell_lacking_ids(pair, first, other, advice)
        _tell_lacking_ids(pair, other, first, advice)
        return rows
    if first.ids is not None or other.ids is not None:
        without, having = (first, other) if first.ids is None else (other, first)
        complaint: Complaint = {
            "problem": f"has no ids but {having.path} has, so that rows cannot be matched",
            "argument": "id",
            "fix": f"say which column holds them (--id, or id in models.toml), or drop those of {having.path}",
        }
        pair.tell("ids", complaint, path=without.path)
        return None
    if len(first) != len(other):
        complaint = {
            "problem": f"has {len(other)} rows but {first.path} has {len(first)}",
            "fix": f"{SAME_ROWS}; an id column in each would match them",
        }
        pair.tell("ids", complaint, abs(len(first) - len(other)))
        return None
    return np.arange(len(first))


def _tell_lacking_ids(pair: _ModelPair, having: Batch, lacking: Batch, advice: Complaint) -> None:
    """Tell which ids of one model another lacks, if any."""
    ids = np.asarray(having.ids)
    only = np.flatnonzero(lacking.rows_of(ids) < 0).tolist()
    n = len(only)
    if n:
        name = ids.tolist()[only[0]]
        nor = f", nor of {n - 1} others" if n > 1 else ""
        problem = f"has no row of id {name!r} ({having.place(only[0])}){nor}"
        pair.tell("ids", advice | {"problem": problem}, n, path=lacking.path)


def _check_equal(pair: _ModelPair) -> None:
    """Tell where two models say something else about a row, which both have in the same place."""
    first = pair.first
    other = pair.other
    _check_labels(pair)
    _check_same(pair, WEIGHT.option, WEIGHT.singular, first.weights, other.weights)
    _check_same(pair, GROUP.option, GROUP.singular, first.groups, other.groups)
    _check_same(pair, VOTES.option, VOTES.singular, first.votes, other.votes)
    _check_same(pair, COSTS.option, COSTS.singular, first.costs, other.costs)
    other_by = other.by or {}
    for name, values in (first.by or {}).items():
        _check_same(pair, BY.option, name, values, other_by.get(name))


def _check_labels(pair: _ModelPair) -> None:
    """Tell which rows have other true classes; where there are votes, these say more."""
    first = pair.first
    other = pair.other
    if first.votes is not None:
        return
    # a truth may be missing yet, or outside the list of one model
    known = ~(first.outside | other.outside) & (first.truth >= 0) & (other.truth >= 0)
    rows = np.flatnonzero((first.truth != other.truth) & known)
    if len(rows):
        label = first.classes[first.truth[rows[0]]]
        other_label = first.classes[other.truth[rows[0]]]
        _tell_differing(pair, "truth", LABEL.option, LABEL.singular, rows, label, other_label)


def _check_same(
    pair: _ModelPair,
    option: str,
    title: str,
    values: NDArray[np.generic] | None,
    other_values: NDArray[np.generic] | None,
) -> None:
    """Tell which rows have other values, (n,) or (n, K), if both models have them."""
    if values is None or other_values is None:
        return
    if values.dtype.kind == "f":
        differ = ~np.isclose(values.astype(float), other_values.astype(float), rtol=SINGLE_PRECISION, atol=0)
    else:
        differ = np.asarray(values != other_values)
    rows = np.flatnonzero(differ.any(axis=tuple(range(1, differ.ndim))))
    if len(rows):
        value = values[rows[:1]].tolist()[0]
        other_value = other_values[rows[:1]].tolist()[0]
        _tell_differing(pair, option, option, title, rows, value, other_value)


def _tell_differing(
    pair: _ModelPair, kind: str, option: str, title: str, rows: IntArray, value: object, other_value: object
) -> None:
    """Tell which rows differ; the values are those of the first of them."""
    row = int(rows[0])
    more = f" ({counted(len(rows), 'row')} differ)" if len(rows) > 1 else ""
    by_id = " or match rows by an id column" if pair.other.ids is None else ""
    complaint: Complaint = {
        "problem": f"has the {title} {other_value!r} but {pair.first.place(row)} has {value!r} "
        f"for the same row{more}",
        "argument": option,
        "fix": f"correct one of them{by_id}",
    }
    pair.tell(kind, complaint, len(rows), path=pair.other.place(row))


def common_rows(
    batches: Sequence[Batch], names: Sequence[str], truth: Batch | None = None
) -> tuple[list[Batch], Remarks]:
    """Only the rows whose ids all models have, in the order of the first; and what was left out.

    Parameters
    ----------
    batches, names
        As in `align`.
    truth
        The rows of the truth's own file, if there is one, which must have the ids, too.

    Returns
    -------
    tuple
        The batches, and what was left out, counted.
    """
    ids = [batch.ids for batch in batches if batch.ids is not None]
    if len(ids) < len(batches):
        return list(batches), ()  # `align` says which lack them, or goes by their order
    rows = [batch.rows_of(ids[0]) for batch in batches]  # of each batch, for each row of the first
    rows_of_all = rows if truth is None else [*rows, truth.rows_of(ids[0])]
    in_all = np.flatnonzero(np.min(rows_of_all, axis=0) >= 0)
    if not len(in_all):
        usual: Complaint = {"fix": "say which column holds the ids (--id)"}
        advice = fix_of_ids_written_otherwise(ids[-1], ids[0], batches[-1].path) or usual
        command_fix = advice.get("command_fix")
        raise FileError("has no id that all others have", batches[-1].path, advice["fix"], command_fix=command_fix)
    common = [batch.take(places[in_all]) for batch, places in zip(batches, rows, strict=True)]
    all_ids = set(chain.from_iterable(batch_ids.tolist() for batch_ids in ids))
    sizes = dict(zip(names, map(len, batches), strict=True))
    return common, _rows_left_out(sizes, len(all_ids), len(in_all))


def _rows_left_out(sizes: Mapping[str, int], n_all: int, n_common: int) -> Remarks:
    """What is to be said of rows that not all models have: of all ids, and of each model's rows."""
    lost = [f"{name} lost {count(size - n_common)}" for name, size in sizes.items() if size > n_common]
    n = n_all - n_common
    are = "is" if n == 1 else "are"
    sentence = f"left out {counted(n, 'row')} that {are} missing from at least one file ({', '.join(lost)})"
    return remark_on("rows left out", n, sentence)
