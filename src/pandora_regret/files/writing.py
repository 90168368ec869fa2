"""A prediction file again with other forecasts: the same rows and columns, in the format that its name says."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from pandora_regret.atomic import write_atomically
from pandora_regret.files.batch import Batch
from pandora_regret.files.columns import texts_of
from pandora_regret.files.predictions import Predictions
from pandora_regret.files.source import Records
from pandora_regret.files.text import DelimitedFile
from pandora_regret.inputs import FloatArray, InputError

Rewrite: TypeAlias = Callable[[Batch], FloatArray]  # from some rows to their new forecasts, (n, K)
Writer: TypeAlias = Callable[[Any, Iterable[Records], Predictions], None]


def write_again(predictions: Predictions, path: str | os.PathLike[str], new_forecasts: Rewrite) -> int:
    """Write a file's rows with new forecasts in place of the old; returns how many rows there are.

    All other columns are kept as they are. A CSV file keeps the separator, the decimal sign and the encoding of
    the one that it comes from. The file is there whole or not at all.
    """
    write, lengths = writer_of(path), list[int]()

    def written(file: Any) -> None:
        with ExitStack() as stack:
            if os.fspath(path).lower().endswith(".gz"):
                file = stack.enter_context(gzip.GzipFile(fileobj=file, mode="wb", mtime=0))
            write(file, _rewritten(predictions, new_forecasts, lengths), predictions)

    write_atomically(path, written)
    return sum(lengths)


def _rewritten(predictions: Predictions, new_forecasts: Rewrite, lengths: list[int]) -> Iterator[Records]:
    """All columns, some rows at a time; `lengths` says how many."""
    for source, row, records in predictions.walk(list(predictions.sources[0].kinds)):
        batch = predictions.batch(records, source, range(row, row + len(records)), row)
        with batch.blamed():
            table = new_forecasts(batch)
        new = dict(zip(predictions.columns.forecasts, table.T, strict=True))
        for index, field in enumerate(records.schema):
            kind = field.type
            if field.name in new:
                values = pa.array(new[field.name]).cast(kind if pa.types.is_floating(kind) else pa.float64())
                records = records.set_column(index, field.name, values)
            elif pa.types.is_dictionary(kind):  # text, where a reader saves time by numbers for it
                records = records.set_column(index, field.name, records.column(index).cast(kind.value_type))
        lengths.append(len(records))
        yield records


def writer_of(path: str | os.PathLike[str]) -> Writer:
    """How a file of such a name is written; an error names those that can be."""
    name = os.fspath(path).lower()
    for ending, writer in WRITERS.items():
        if name.endswith(ending):
            return writer
    fix = f"name it so that it ends in one of {', '.join(WRITERS)}"
    raise InputError("cannot be written in a format of that name", place=os.fspath(path), fix=fix)


def _write_csv(file: Any, tables: Iterable[Records], predictions: Predictions, usual: str = ",") -> None:
    like, commas = predictions.sources[0], frozenset[str]()
    separator, encoding = usual, "utf-8"
    if isinstance(like, DelimitedFile):
        separator, encoding = like.delimiter, like.encoding
        commas = like.decimals.union(predictions.columns.forecasts) if like.decimal == "," else commas
    text = io.TextIOWrapper(file, encoding=encoding, newline="", write_through=True)
    writer = csv.writer(text, delimiter=separator, lineterminator="\n")
    for number, records in enumerate(tables):
        if number == 0:
            writer.writerow(records.schema.names)
        columns = (_texts(records.column(name), name in commas) for name in records.schema.names)
        writer.writerows(zip(*columns, strict=True))
    text.flush()
    text.detach()


def _texts(column: Any, with_comma: bool) -> list[str]:
    texts = ["" if text is None or text == "nan" else text for text in texts_of(column).tolist()]
    return [text.replace(".", ",") for text in texts] if with_comma else texts


def _write_tsv(file: Any, tables: Iterable[Records], predictions: Predictions) -> None:
    _write_csv(file, tables, predictions, usual="\t")


def _write_json_lines(file: Any, tables: Iterable[Records], predictions: Predictions) -> None:
    for row in (row for records in tables for row in records.to_pylist()):
        file.write(json.dumps(row, ensure_ascii=False, default=str).encode() + b"\n")


def _write_parquet(file: Any, tables: Iterable[Records], predictions: Predictions) -> None:
    import pyarrow.parquet as pq

    _write_tables(tables, lambda schema: pq.ParquetWriter(file, schema))


def _write_arrow(file: Any, tables: Iterable[Records], predictions: Predictions) -> None:
    _write_tables(tables, lambda schema: pa.ipc.new_file(file, schema))


def _write_tables(tables: Iterable[Records], open_writer: Callable[[Any], Any]) -> None:
    with ExitStack() as stack:
        writer = None
        for records in tables:
            writer = writer or stack.enter_context(open_writer(records.schema))
            writer.write_table(records)


WRITERS: dict[str, Writer] = {
    **dict.fromkeys((".csv", ".csv.gz"), _write_csv),
    **dict.fromkeys((".tsv", ".tsv.gz"), _write_tsv),
    **dict.fromkeys((".jsonl", ".ndjson"), _write_json_lines),
    **dict.fromkeys((".parquet", ".pq"), _write_parquet),
    **dict.fromkeys((".arrow", ".feather"), _write_arrow),
}


def check_other_file(path: Path, inputs: Iterable[str]) -> None:
    """That what is written is none of what is read."""
    if any(name != "-" and os.path.realpath(name) == os.path.realpath(path) for name in inputs):
        raise InputError("is read, too", place=os.fspath(path), fix="name another file to write")
