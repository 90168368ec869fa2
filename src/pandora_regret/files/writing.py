"""A prediction file again with other forecasts: the same rows and columns, in the format that its name says."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from functools import partial
from typing import IO, TypeAlias

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.feather as feather
import pyarrow.parquet as pq

from pandora_regret.core.atomic import write_atomically
from pandora_regret.core.inputs import FloatArray, InputError
from pandora_regret.files.batch import Batch, errors_with_places
from pandora_regret.files.predictions import Predictions
from pandora_regret.files.source import AnyPath

Rewrite: TypeAlias = Callable[[Batch], FloatArray]  # from some rows to their new forecasts, (n, K)
Writer: TypeAlias = Callable[[pa.Table, IO[bytes] | gzip.GzipFile], None]


def write_again(predictions: Predictions, path: AnyPath, new_forecasts: Rewrite) -> int:
    """Write a file's rows with new forecasts in place of the old; returns how many rows there are.

    All other columns are kept as they are. The file is there whole or not at all.
    """
    write = writer_of(path)
    try:
        table = pa.concat_tables(_rewritten(predictions, new_forecasts))
        packed = os.fspath(path).lower().endswith(".gz")

        def written(file: IO[bytes]) -> None:
            with gzip.GzipFile(fileobj=file, mode="wb", mtime=0) if packed else nullcontext(file) as out:
                write(table, out)

        write_atomically(path, written)
    except pa.ArrowException as error:  # such as lists in a column, in CSV
        raise InputError(f"cannot be written: {error}", place=os.fspath(path), fix="name another format") from None
    return len(table)


def _rewritten(predictions: Predictions, new_forecasts: Rewrite) -> Iterator[pa.Table]:
    """All columns, some rows at a time."""
    for block in predictions.blocks(predictions.sources[0].kinds):
        batch = predictions.batch(block)
        records = block.records
        with errors_with_places(batch.place):
            new = dict(zip(predictions.columns.forecasts, new_forecasts(batch).T, strict=True))
        for index, field in enumerate(records.schema):
            kind = field.type
            values = records.column(index)
            if field.name in new:
                values = pa.array(new[field.name]).cast(kind if pa.types.is_floating(kind) else pa.float64())
            elif pa.types.is_dictionary(kind):  # text, where a reader saves time by numbers for it
                values = values.cast(kind.value_type)
            records = records.set_column(index, field.name, values)
        yield records


def writer_of(path: AnyPath) -> Writer:
    """How a file of such a name is written; an error names those that can be."""
    for ending, writer in WRITERS.items():
        if os.fspath(path).lower().removesuffix(".gz").endswith(ending):
            return writer
    fix = f"name it so that it ends in one of {', '.join(WRITERS)}"
    raise InputError("cannot be written in a format of that name", place=os.fspath(path), fix=fix)


def _write_json_lines(table: pa.Table, file: IO[bytes] | gzip.GzipFile) -> None:
    """One object per line."""
    for row in table.to_pylist():
        file.write(json.dumps(row, ensure_ascii=False, default=str).encode() + b"\n")


WRITERS: dict[str, Writer] = {
    ".csv": arrow_csv.write_csv,
    ".tsv": partial(arrow_csv.write_csv, write_options=arrow_csv.WriteOptions(delimiter="\t")),
    **dict.fromkeys((".jsonl", ".ndjson"), _write_json_lines),
    **dict.fromkeys((".parquet", ".pq"), pq.write_table),
    **dict.fromkeys((".arrow", ".feather"), feather.write_feather),
}


def check_other_file(path: AnyPath, inputs: Iterable[str]) -> None:
    """That what is written is none of what is read."""
    if os.path.realpath(path) in {os.path.realpath(name) for name in inputs if name != "-"}:
        raise InputError("is read, too", place=os.fspath(path), fix="name another file to write")
