"""JSON lines as a source: a table, or rows that have lists or options of their own."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

from pandora_regret.files.arrow_columns import arrow_table, kinds_of
from pandora_regret.files.dialect import Dialect
from pandora_regret.files.file_errors import FileError
from pandora_regret.files.limits import Limit
from pandora_regret.files.lists import ListRecords, field_of_lists, table_of_lists
from pandora_regret.files.recognise import dialect_recognised
from pandora_regret.files.samples import SAMPLE_FIELDS, read_samples
from pandora_regret.files.source import Source, check_column_names
from pandora_regret.files.text import ONE_PER_LINE, JsonLines

OBJECTS_PER_BYTE = 32  # bytes of Python's objects for one of a line, as measured


def open_json(
    path: str, head: bytes, dialect: Dialect, classes: Sequence[str] | None, location: str, limit: Limit
) -> Source:
    """JSON lines: a table, or rows with lists of their own, as the first line tells."""
    file, sample, _ = JsonLines.begun(path, head, dialect, location)
    file = replace(file, remarks=dialect_recognised(path, file.encoding))
    rows = [values for _, values in file.objects(file.records(io.BytesIO(sample)))]
    names = list(dict.fromkeys(chain.from_iterable(rows)))
    if not names:
        raise FileError("has no rows", path, ONE_PER_LINE)
    if rows[0].keys() >= SAMPLE_FIELDS:
        return read_samples(file, _all_records(file, limit), classes or ())
    if field_of_lists(rows[0]):
        return table_of_lists(file, _all_records(file, limit), dialect.other, classes or ())
    check_column_names(names, path)
    return replace(file, kinds=kinds_of(arrow_table(rows, names)))


def _all_records(file: JsonLines, limit: Limit) -> ListRecords:
    """All rows of a file, by their places, as long as they may be held; none names anything twice."""
    lines = _limited(file, limit)
    return {f" line {number}": values for number, values in file.objects(lines, each_once=True)}


def _limited(file: JsonLines, limit: Limit) -> Iterator[tuple[int, bytes]]:
    """The lines of a file with their numbers, as long as all of their objects together may be held."""
    size = 0
    for _, (number, line) in file.rows():
        size += len(line)
        limit.check(OBJECTS_PER_BYTE * size)
        yield number, line
