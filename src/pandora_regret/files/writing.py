"""A prediction file again with other forecasts: the same rows and columns, in the format that its name says."""

import gzip
import json
import os
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from functools import partial
from itertools import chain
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

from pandora_regret.atomic import write_atomically
from pandora_regret.files.batch import Batch, blamed
from pandora_regret.files.columns import each_apart
from pandora_regret.files.predictions import Predictions
from pandora_regret.files.source import AnyPath, Tables
from pandora_regret.inputs import FloatArray, InputError

Rewrite: TypeAlias = Callable[[Batch], FloatArray]  # from some rows to their new forecasts, (n, K)


def write_again(predictions: Predictions, path: AnyPath, new_forecasts: Rewrite) -> int:
    """Write a file's rows with new forecasts in place of the old; returns how many rows there are.

    All other columns are kept as they are. The file is there whole or not at all.
    """
    write, lengths = writer_of(path), list[int]()

    def written(file: Any) -> None:
        packed = os.fspath(path).lower().endswith(".gz")
        with gzip.GzipFile(fileobj=file, mode="wb", mtime=0) if packed else nullcontext(file) as out:
            write(out, _rewritten(predictions, new_forecasts, lengths))

    try:
        write_atomically(path, written)
    except pa.ArrowException as error:  # such as lists in a column, in CSV
        raise InputError(f"cannot be written: {error}", place=os.fspath(path), fix="name another format") from None
    return sum(lengths)


def _rewritten(predictions: Predictions, new_forecasts: Rewrite, lengths: list[int]) -> Tables:
    """All columns, some rows at a time; `lengths` says how many."""
    for rows in predictions.walk(list(predictions.sources[0].kinds)):
        batch, records = predictions.batch(rows, 0), each_apart(rows.records, rows.source.kinds)
        with blamed(batch.place):
            new = dict(zip(predictions.columns.forecasts, new_forecasts(batch).T, strict=True))
        for index, field in enumerate(records.schema):
            kind, values = field.type, records.column(index)
            if field.name in new:
                values = pa.array(new[field.name]).cast(kind if pa.types.is_floating(kind) else pa.float64())
            elif pa.types.is_dictionary(kind):  # text, where a reader saves time by numbers for it
                values = values.cast(kind.value_type)
            records = records.set_column(index, field.name, values)
        lengths.append(len(records))
        yield records


def writer_of(path: AnyPath) -> Callable[[Any, Tables], None]:
    """How a file of such a name is written; an error names those that can be."""
    for ending, writer in WRITERS.items():
        if os.fspath(path).lower().removesuffix(".gz").endswith(ending):
            return writer
    fix = f"name it so that it ends in one of {', '.join(WRITERS)}"
    raise InputError("cannot be written in a format of that name", place=os.fspath(path), fix=fix)


def _write_json_lines(file: Any, tables: Tables) -> None:
    for row in chain.from_iterable(records.to_pylist() for records in tables):
        file.write(json.dumps(row, ensure_ascii=False, default=str).encode() + b"\n")


def _write_tables(open_writer: Any, file: Any, tables: Tables) -> None:
    for first in tables:  # which tells the types
        with open_writer(file, first.schema) as writer:
            for records in chain([first], tables):
                writer.write(records)


TABS = arrow_csv.WriteOptions(delimiter="\t")
WRITERS = {
    ".csv": partial(_write_tables, arrow_csv.CSVWriter),
    ".tsv": partial(_write_tables, partial(arrow_csv.CSVWriter, write_options=TABS)),
    **dict.fromkeys((".jsonl", ".ndjson"), _write_json_lines),
    **dict.fromkeys((".parquet", ".pq"), partial(_write_tables, pq.ParquetWriter)),
    **dict.fromkeys((".arrow", ".feather"), partial(_write_tables, pa.ipc.new_file)),
}


def check_other_file(path: AnyPath, inputs: Iterable[str]) -> None:
    """That what is written is none of what is read."""
    if os.path.realpath(path) in {os.path.realpath(name) for name in inputs if name != "-"}:
        raise InputError("is read, too", place=os.fspath(path), fix="name another file to write")
