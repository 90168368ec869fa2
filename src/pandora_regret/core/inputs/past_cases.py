"""Records of past cases: what each was, and what tests have shown, as texts."""

from collections.abc import Iterable, Mapping
from itertools import compress

import numpy as np

from pandora_regret.core.inputs.errors import InputError
from pandora_regret.core.inputs.kinds import PastCases
from pandora_regret.core.inputs.labels import is_missing
from pandora_regret.core.inputs.names import did_you_mean
from pandora_regret.core.inputs.tables import read_columns
from pandora_regret.text import typed


def as_outcome(value: object) -> str:
    """A value as the name of an outcome or a class: texts as they are, 1.0 as "1", and "" where it is blank."""
    if is_missing(value):
        return ""
    if isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool):
        return typed(float(value))
    return str(value).strip()


def read_records(records: PastCases, label: str) -> tuple[dict[str, list[str]], list[str]]:
    """The columns but for that of classes, as texts, and the classes; cases without a class are left out."""
    if isinstance(records, Mapping):
        names: Iterable[object] = records.keys()
        columns: Iterable[Iterable[object]] = records.values()
    else:
        columns, names = read_columns(records, None, "records")
    table = {str(name): list(map(as_outcome, column)) for name, column in zip(names, columns, strict=True)}
    if label not in table:
        raise InputError("is no column of the records", place=repr(label), fix=did_you_mean(label, table))
    truth = table.pop(label)
    if not any(truth) or any(len(values) != len(truth) for values in table.values()):
        problem = "have no class, or not one value each"
        fix = "give each case one row, and say what it was"
        raise InputError(problem, place="the cases of the records", fix=fix)
    return {name: list(compress(values, truth)) for name, values in table.items()}, list(filter(None, truth))
