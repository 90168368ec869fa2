"""Labels that come after their forecasts: a table of ids and true classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from pandora_regret.files.arrow import regrouped
from pandora_regret.files.errors import FileError
from pandora_regret.files.formats import open_sources
from pandora_regret.files.layout import Classes, Layout, some
from pandora_regret.files.reading import ColumnReader
from pandora_regret.files.roles import ID, LABEL, Role
from pandora_regret.files.source import ROWS_AT_ONCE, Source
from pandora_regret.inputs import IntArray


def read_label_table(path: str, classes: list[str], layout: Layout) -> tuple[Any, IntArray, Any]:
    """Ids (n,), column numbers of their true classes (n,), and their groups (n,) or None if they have none."""
    [source] = open_sources(path, said=layout.dialect).values()
    columns = [_column(source, role, layout) for role in (ID, LABEL)]
    group = layout.group if layout.group in source.kinds else None
    wanted, parts, row = [*columns, *filter(None, [group])], [], 0
    for records in regrouped(source.read(wanted, frozenset(), ROWS_AT_ONCE), ROWS_AT_ONCE):
        reader = ColumnReader(records, source, range(row, row + len(records)), Classes(classes))
        groups = None if group is None else reader.names(group)
        parts.append((reader.names(columns[0]), reader.labels(columns[1]), groups))
        row += len(records)
    if not row:
        raise FileError("has no rows", path=path, fix="there is no label to read")
    ids, labels, groups = zip(*parts, strict=True)
    return np.concatenate(ids), np.concatenate(labels), None if group is None else np.concatenate(groups)


def _column(source: Source, role: Role, layout: Layout) -> str:
    """The column that was asked for, or one of a usual name."""
    asked = getattr(layout, role.option)
    name = asked if asked is not None else next((usual for usual in role.usual if usual in source.kinds), None)
    if name is None or name not in source.kinds:
        fix = f"say which one it is (--{role.option})"
        raise FileError(f"has no {role.name} column among {some(source.kinds)}", path=source.path, fix=fix)
    return str(name)
