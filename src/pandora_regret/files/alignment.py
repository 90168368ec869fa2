"""Several models on the same rows: matched by id, or by row order with equal labels if none has ids."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandora_regret.core.inputs import Fields, IntArray, noted, quoted
from pandora_regret.files.batch import Batch, ids_written_otherwise
from pandora_regret.files.roles import BY, ID, KEPT, LABEL
from pandora_regret.files.source import RAISED, AllDone, FileError, Problems
from pandora_regret.text import count, counted

SINGLE_PRECISION = 1e-6  # in which weights and costs of one file may have been written
SAME_CLASSES = {
    "fix": "compare models of the same classes",
    "command_fix": "--missing-class-zero takes a class that a file lacks as probability 0",
}
SAME_ROWS = "files that are compared need the same rows"
ONLY_ONE_HAS = {"fix": SAME_ROWS, "command_fix": f"{SAME_ROWS}; --common-rows keeps those that all have"}
OTHER_CASES = {"fix": "each file is a model of its own; parts of one model come one after the other, run by run"}
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
    first = batches[0]
    aligned = [first]
    for name, other in zip(names[1:], batches[1:], strict=True):
        tell = partial(_tell, problems, (first.path, other.path))
        lacking = sorted(set(first.classes) - set(other.classes))
        more = sorted(set(other.classes) - set(first.classes))
        rows = _same_rows(first, other, tell)
        if lacking or more:
            differences = []
            if lacking:
                differences.append(f"lacks {quoted(lacking)}")
            if more:
                differences.append(f"has {quoted(more)}")
            models = f"unlike {first.path} (model {names[0]!r})"
            problem = f"(model {name!r}) {' and '.join(differences)}, {models}"
            tell("classes", problem, len(lacking) + len(more), **SAME_CLASSES)
        elif rows is not None:
            in_both = np.flatnonzero(rows >= 0)
            aligned.append(other.with_classes(first.classes).take(rows[in_both]))
            _check_equal(first if len(in_both) == len(first) else first.take(in_both), aligned[-1], tell)
    return aligned


def _tell(
    problems: Problems, paths: tuple[str, str], kind: str, problem: str, n: int = 1, path: str = "", **details: Any
) -> None:
    """Tell what keeps two files from going together, the second of which has the problem unless `path` says."""
    problems.in_file(kind, FileError(problem, path or paths[1], **details), n, paths)


def _same_rows(first: Batch, other: Batch, tell: Tell) -> IntArray | None:
    """The row of the other for each of the first, -1 where only one has it; None where that cannot be told."""
    without, having = (first, other) if first.ids is None else (other, first)
    if without.ids is not None:
        rows = other.rows_of(first.ids)
        advice: Fields = ONLY_ONE_HAS
        if rows.max(initial=-1) < 0:  # no id is in both
            advice = ids_written_otherwise(other.ids, first.ids, other.path) or OTHER_CASES
        for having_row, lacking, found in ((first, other, rows), (other, first, first.rows_of(other.ids))):
            only = np.flatnonzero(found < 0).tolist()
            n = len(only)
            if n:
                name = np.asarray(having_row.ids).tolist()[only[0]]
                nor = f", nor of {n - 1} others" if n > 1 else ""
                problem = f"has no row of id {name!r} ({having_row.place(only[0])}){nor}"
                tell("ids", problem, n, lacking.path, **advice)
        return rows
    if having.ids is not None:
        problem = f"has no ids but {having.path} has, so that rows cannot be matched"
        fix = f"say which column holds them (--id, or id in models.toml), or drop those of {having.path}"
        tell("ids", problem, path=without.path, argument="id", fix=fix)
    elif n := abs(len(first) - len(other)):
        problem = f"has {len(other)} rows but {first.path} has {len(first)}"
        tell("ids", problem, n, fix=f"{SAME_ROWS}; an id column in each would match them")
    else:
        return np.arange(len(first))
    return None


def _check_equal(first: Batch, other: Batch, tell: Tell) -> None:
    """What both say about a row must be the same."""
    other_facts = _facts(other)
    for (option, title), values in _facts(first).items():
        is_label = option == LABEL.option
        other_values = other_facts.get((option, title))
        if values is None or other_values is None or (is_label and first.votes is not None):  # votes say more
            continue
        differ = values != other_values
        if values.dtype.kind == "f":
            differ = ~np.isclose(values, other_values, rtol=SINGLE_PRECISION, atol=0)
        if is_label:  # a truth may be missing yet, or outside the list of one model
            differ &= ~(first.outside | other.outside) & (values >= 0) & (other_values >= 0)
        rows = np.flatnonzero(differ.any(axis=tuple(range(1, differ.ndim))))
        if not len(rows):
            continue
        value = values[rows[:1]].tolist()[0]
        other_value = other_values[rows[:1]].tolist()[0]
        if is_label:
            value = first.classes[value]
            other_value = first.classes[other_value]
        more = f" ({counted(len(rows), 'row')} differ)" if len(rows) > 1 else ""
        problem = (
            f"has the {title} {other_value!r} but {first.place(rows[0])} has {value!r} for the same row{more}"
        )
        fix = f"correct one of them{' or match rows by an id column' if other.ids is None else ''}"
        kind = "truth" if is_label else option
        tell(kind, problem, len(rows), other.place(rows[0]), argument=option, fix=fix)


def _facts(batch: Batch) -> dict[tuple[str, str], NDArray[Any] | None]:
    """What a file says of each row besides its forecast, by the option that names the column, and by a title."""
    facts: dict[tuple[str, str], NDArray[Any] | None] = {}
    for role in KEPT:
        if role not in (ID, BY):
            facts[role.option, role.singular] = batch.kept(role)
    for name, values in (batch.by or {}).items():
        facts[BY.option, name] = values
    return facts


def common_rows(batches: Sequence[Batch], names: Sequence[str]) -> tuple[list[Batch], AllDone]:
    """Only the rows whose ids all models have, in the order of the first; and what was left out.

    Parameters
    ----------
    batches, names
        As in `align`.

    Returns
    -------
    tuple
        The batches, and what was left out, counted.
    """
    ids = [batch.ids for batch in batches if batch.ids is not None]
    if len(ids) < len(batches):
        return list(batches), ()  # `align` says which lack them, or goes by their order
    rows = [batch.rows_of(ids[0]) for batch in batches]
    have_truth = [np.append(batch.truth, -1)[places] >= 0 for batch, places in zip(batches, rows, strict=True)]
    in_all = np.flatnonzero(np.all(have_truth, axis=0))
    if not len(in_all):
        fix = "say which column holds the ids (--id); --ids-as-numbers reads 007 and 7.0 as 7"
        raise FileError("has no id that all others have", batches[-1].path, fix)
    n = len(set(chain.from_iterable(names_of_rows.tolist() for names_of_rows in ids))) - len(in_all)
    sizes = zip(names, map(len, batches), strict=True)
    lost = [f"{name} lost {count(size - len(in_all))}" for name, size in sizes if size > len(in_all)]
    sentence = f"{counted(n, 'row')} that not all files have left out ({', '.join(lost)})"
    kept = [batch.take(places[in_all]) for batch, places in zip(batches, rows, strict=True)]
    return kept, noted("rows left out", n, sentence)
