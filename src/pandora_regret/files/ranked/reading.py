"""The rows of one file, whatever its format: a long table, lists in JSON lines, a TREC run, a folder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from pandora_regret.candidates.searched import SearchedOrders
from pandora_regret.core.inputs import InputError, Remark, quoted, remark_on
from pandora_regret.files.arrow_columns import coded
from pandora_regret.files.file_errors import FileError
from pandora_regret.files.formats import open_source, stem_of
from pandora_regret.files.problems import RAISED, Problems
from pandora_regret.files.ranked.columns import LongTableColumns, find_columns
from pandora_regret.files.ranked.formats import (
    is_lists,
    read_list_records,
    read_trec,
    stem_of_run,
    without_comments,
)
from pandora_regret.files.ranked.layout import FILE_ID, ListLayout
from pandora_regret.files.ranked.lists import long_table_of
from pandora_regret.files.ranked.rows import CaseFacts, RankedRows, rows_of_records, rows_of_table
from pandora_regret.files.ranked.values import TablePlaces, whole_column
from pandora_regret.files.source import ROWS_AT_ONCE, Source
from pandora_regret.text import counted

MOST_KEPT = 2_000_000  # rows of a file; those of a longer one are searched as they are read
ROWS_OF_PART = 1 << 19


def read_rows(
    path: str,
    layout: ListLayout,
    name: str | None = None,
    by_name: bool = False,
    problems: Problems = RAISED,
) -> list[RankedRows]:
    """The rows of a file, or of a folder with a file per case: one `RankedRows` for each model in it.

    Parameters
    ----------
    path
        The file, or the folder.
    layout
        Which column is what.
    name
        What the model is called; like the file unless given, or as a column of models says.
    by_name
        Whether prices are by candidates' names: then all of these are kept.
    problems
        Who is told what is wrong in the file.
    """
    if os.path.isdir(path):
        return [_read_folder(path, layout, name or names_of_folders([path])[path], problems)]
    if layout.format == "trec":
        return [rows_of_records(path, name or stem_of_run(path), read_trec(path, problems), layout, problems)]
    if is_lists(path, layout.candidate):
        records = read_list_records(path, layout.id, layout.candidate, layout.value_keys, problems)
        return [rows_of_records(path, name or stem_of(path), records, layout, problems)]
    return _read_long_table(path, layout, name, by_name, problems)


def _read_long_table(
    path: str, layout: ListLayout, name: str | None, by_name: bool, problems: Problems
) -> list[RankedRows]:
    """The rows of a table of one row per case and candidate."""
    plain, remarks = without_comments(path)
    source = replace(open_source(plain, None, layout.dialect), path=path)
    columns = find_columns(source, layout, problems)
    remarks += source.remarks
    if (source.n_rows or 0) > MOST_KEPT and columns.can_be_streamed and not by_name:
        streamed = None
        try:
            streamed = _read_in_parts(source, columns, layout, name or stem_of(path), remarks)
        except InputError:
            if problems is RAISED:
                raise  # otherwise all of the file is read, and all that is wrong told
        if streamed is not None:
            return [streamed]
    table = _table_of(source, columns)
    places = TablePlaces.of_file(path, len(table))
    if columns.model is None:
        return [rows_of_table(table, columns, source, name or stem_of(path), remarks, places, problems)]
    models, codes = coded(whole_column(table, columns.model))
    rows = []
    for number, model in enumerate(models):
        taken = np.flatnonzero(codes == number)
        notes = remarks if number == 0 else ()
        rows.append(
            rows_of_table(table.take(taken), columns, source, str(model), notes, places.take(taken), problems)
        )
    return rows


def _table_of(source: Source, columns: LongTableColumns) -> pa.Table:
    """The columns of a table in a file."""
    batches: list[pa.RecordBatch] = []
    for part in source.read(columns.names, columns.numbers, ROWS_AT_ONCE):
        batches += part.to_batches() if isinstance(part, pa.Table) else [part]
    if not batches:
        raise FileError("has no rows", source.path, "write a row per case and candidate")
    return pa.Table.from_batches(batches).combine_chunks()


def _read_in_parts(
    source: Source, columns: LongTableColumns, layout: ListLayout, name: str, remarks: tuple[Remark, ...]
) -> RankedRows | None:
    """The rows of a long file, of which each case is searched once all of its rows are read, and then let go.

    None where the rows of a case do not lie together: then all are read only at the end of the file.
    """
    assert columns.id is not None
    parts: list[SearchedOrders] = []
    facts: CaseFacts = {column: [] for column in columns.facts}
    finished: set[str] = set()
    n_searched = 0  # rows

    def search(table: pa.Table) -> bool:
        """Whether these rows can be searched: no case was finished before, and no rank is 0, which may be none."""
        nonlocal n_searched
        places = TablePlaces.of_file(source.path, len(table), n_searched)
        n_searched += len(table)
        rows = rows_of_table(table, columns, source, name, (), places, RAISED)
        if not finished.isdisjoint(rows.ids):
            return False
        is_rank = columns.order is not None and columns.order.kind == "rank"
        if is_rank and (rows.remarks or not rows.values.all()):
            return False
        finished.update(rows.ids)
        parts.append(SearchedOrders.of_table(long_table_of(rows, None, None, RAISED), layout.by_price))
        for column, texts in rows.facts.items():
            facts[column] += texts
        return True

    kept: list[pa.RecordBatch] = []  # rows of a case that may go on
    for part in source.read(columns.names, columns.numbers, ROWS_OF_PART):
        for batch in part.to_batches() if isinstance(part, pa.Table) else [part]:
            start = _start_of_last_case(batch, columns.id)
            if start > 0 and not search(pa.Table.from_batches([*kept, batch.slice(0, start)]).combine_chunks()):
                return None
            kept = [batch.slice(start)] if start > 0 else [*kept, batch]
    if kept and not search(pa.Table.from_batches(kept).combine_chunks()):
        return None
    return RankedRows(
        path=source.path,
        name=name,
        ids=[case for part in parts for case in part.ids],
        case=np.empty(0, dtype=np.intp),
        names=[],
        codes=np.empty(0, dtype=np.intp),
        values=np.empty(0),
        has_probabilities=False,
        prices=None,
        is_true=None,
        truths=None,
        facts=facts,
        remarks=remarks,
        searched=SearchedOrders.joined(parts),
    )


def _start_of_last_case(batch: pa.RecordBatch, column: str) -> int:
    """The row at which the last of the cases of a batch begins; 0 where all rows are of one case."""
    _, codes = coded(batch.column(column))
    of_others = np.flatnonzero(codes != codes[-1])
    return int(of_others[-1]) + 1 if len(of_others) else 0


def _read_folder(path: str, layout: ListLayout, name: str, problems: Problems) -> RankedRows:
    """A folder with a file per case, which is called like the file."""
    if layout.id != FILE_ID:
        raise FileError("is a folder", path, f"say that each file in it is a case (--id {FILE_ID})", argument="id")
    parts = []
    ids = []
    files: list[str] = []
    counts = []
    n_skipped = 0
    columns = None
    for file in _files_in(path):
        plain, skipped = without_comments(file)
        n_skipped += sum(remark.count for remark in skipped)
        source = replace(open_source(plain, None, layout.dialect), path=file)
        columns = find_columns(source, layout, problems, needs_id=False)
        ids.append(stem_of(file))
        files.append(file)
        if source.n_rows == 0:
            counts.append(0)
            continue
        parts.append(_table_of(source, columns))
        counts.append(len(parts[-1]))
    if columns is None or not parts:
        raise _no_files(path)
    table = pa.concat_tables(parts, promote_options="permissive").combine_chunks()
    case = np.repeat(np.arange(len(ids)), counts)
    remarks = remark_on(
        "lines skipped", n_skipped, f"{counted(n_skipped, 'comment line')} of {path} skipped", name
    )
    places = TablePlaces.of_files(files, counts)
    return rows_of_table(table, columns, replace(source, path=path), name, remarks, places, problems, (ids, case))


def _files_in(folder: str) -> list[str]:
    """The files in a folder but for hidden ones, by name."""
    names = sorted(name for name in os.listdir(folder) if not name.startswith("."))
    paths = [os.path.join(folder, name) for name in names]
    return [path for path in paths if os.path.isfile(path)]


def _no_files(path: str) -> FileError:
    """The error of a folder without files that have rows."""
    folders = sorted(entry.name for entry in os.scandir(path) if entry.is_dir())
    fix = "name a folder with a file per case"
    if folders:
        fix = f"name the one in it that has a file per case: {quoted(folders)}"
    return FileError("has no files with rows", path, fix)


def names_of_folders(paths: Sequence[str]) -> dict[str, str]:
    """What models are called whose cases lie in folders: like these, or the first above that tells them apart.

    PhEval calls all of them pheval_disease_results.
    """
    parts = [os.path.abspath(path).split(os.sep)[::-1] for path in paths]
    for level in zip(*parts, strict=False):
        if len(set(level)) == len(paths):
            return dict(zip(paths, level, strict=True))
    return {path: names[0] for path, names in zip(paths, parts, strict=True)}
