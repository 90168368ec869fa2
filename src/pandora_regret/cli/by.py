"""`--by`: which columns results are broken down by, and what the files hold in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pandora_regret.files import Batch


def columns_of(breakdowns: Sequence[str]) -> tuple[str, ...]:
    """The columns that are needed, from ``("site,age:10", "site*sex")``: site, age and sex."""
    from pandora_regret.compare.grouping import read_cuts

    return tuple(dict.fromkeys(cut.column for text in _each(breakdowns) for cut in read_cuts(text)))


def values_of(breakdowns: Sequence[str], batches: Sequence[Batch]) -> dict[str, Any]:
    """What `compare` takes as `by`; a column may stand in any of the files."""
    from pandora_regret.compare.grouping import read_cuts
    from pandora_regret.inputs import InputError

    columns = {name: values for batch in reversed(batches) for name, values in (batch.by or {}).items()}
    by: dict[str, Any] = {}
    for text in _each(breakdowns):
        names = [cut.column for cut in read_cuts(text)]
        missing = next((name for name in names if name not in columns), None)
        if missing is not None:
            fix = "name a column that one of the files has"
            if ":" in missing:
                name = missing.rpartition(":")[0]
                fix = f"write bins such as {name}:10 (ten bins), {name}:18|65 (edges) or {name}:each"
            raise InputError(f"names {missing!r}, which no file has", argument="by", value=missing, fix=fix)
        by[text] = columns[names[0]] if len(names) == 1 else tuple(columns[name] for name in names)
    return by


def _each(breakdowns: Sequence[str]) -> list[str]:
    from pandora_regret.files.pairs import listed

    return [text for several in breakdowns for text in listed(several)]
