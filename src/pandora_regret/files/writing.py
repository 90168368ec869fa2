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
from typing import Any, BinaryIO, TypeAlias

import numpy as np
import pyarrow as pa

from pandora_regret.atomic import write_atomically
from pandora_regret.files.batch import Batch
from pandora_regret.files.columns import texts_of
from pandora_regret.files.predictions import Predictions
from pandora_regret.files.source import ROWS_AT_ONCE, Records, Source
from pandora_regret.files.text import DelimitedFile
from pandora_regret.inputs import FloatArray, InputError

Rewrite: TypeAlias = Callable[[Batch], FloatArray]  # from some rows to their new forecasts, (n, K)
Writer: TypeAlias = Callable[[BinaryIO, Iterable[Records], Source, frozenset[str]], None]


def write_again(predictions: Predictions, path: str | os.PathLike[str], new_forecasts: Rewrite) -> int:
    """Write a file's rows with new forecasts in place of the old; returns how many rows there are.

    All other columns are kept as they are. A CSV file keeps the separator, the decimal sign and the encoding of
    the one that it comes from. The file is there whole or not at all.
    """
    write = writer_of(path)
    written = [0]

    def tables() -> Iterator[Records]:
        for records in _rewritten(predictions, new_forecasts):
            written[0] += len(records)
            yield records

    source, forecasts = predictions.sources[0], frozenset(predictions.columns.forecasts)
    write_atomically(path, lambda file: write(file, tables(), source, forecasts))
    return written[0]


def _rewritten(predictions: Predictions, new_forecasts: Rewrite) -> Iterator[Records]:
    """All columns, some rows at a time."""
    columns = predictions.columns
    for source in predictions.sources:
        row = source.first
        for encoded in source.read(list(source.kinds), frozenset(columns.forecasts), ROWS_AT_ONCE):
            records = _decoded(encoded)
            batch = predictions.batch(records, source, range(row, row + len(records)), row)
            with batch.blamed():
                table = new_forecasts(batch)
            for k, name in enumerate(columns.forecasts):
                index = records.schema.get_field_index(name)
                kind = records.schema.field(name).type
                values = pa.array(table[:, k]).cast(kind if pa.types.is_floating(kind) else pa.float64())
                records = records.set_column(index, name, values)
            yield records
            row += len(records)


def _decoded(records: Records) -> Records:
    """Text as text, where a reader saves time by numbers for it."""
    for index, field in enumerate(records.schema):
        if pa.types.is_dictionary(field.type):
            text = records.column(index).cast(field.type.value_type)
            records = records.set_column(index, field.name, text)
    return records


def writer_of(path: str | os.PathLike[str]) -> Writer:
    """How a file of such a name is written; an error names those that can be."""
    name = os.fspath(path).lower()
    for ending, writer in WRITERS.items():
        if name.endswith(ending):
            return writer
    fix = f"name it so that it ends in one of {', '.join(WRITERS)}"
    raise InputError("cannot be written in a format of that name", place=os.fspath(path), fix=fix)


def _write_csv(
    file: BinaryIO, tables: Iterable[Records], source: Source, forecasts: frozenset[str], usual: str = ","
) -> None:
    like = source if isinstance(source, DelimitedFile) else None
    separator, encoding = (usual, "utf-8") if like is None else (like.delimiter, like.encoding)
    commas = frozenset() if like is None or like.decimal == "." else like.decimals | forecasts
    text = io.TextIOWrapper(file, encoding=encoding, newline="", write_through=True)
    writer = csv.writer(text, delimiter=separator, lineterminator="\n")
    for number, records in enumerate(tables):
        if number == 0:
            writer.writerow(records.schema.names)
        writer.writerows(
            zip(*(_texts(records, name, name in commas) for name in records.schema.names), strict=True)
        )
    text.flush()
    text.detach()


def _texts(records: Records, name: str, with_comma: bool) -> list[str]:
    """A column as it is written: floats in as few digits as tell them apart."""
    column = records.column(name)
    if pa.types.is_floating(column.type):
        numbers = np.asarray(column.to_numpy(zero_copy_only=False))
        texts = ["" if number is None or np.isnan(number) else _shortest(number) for number in numbers]
    else:
        texts = ["" if text is None else str(text) for text in texts_of(column).tolist()]
    return [text.replace(".", ",") for text in texts] if with_comma else texts


def _shortest(number: Any) -> str:
    return np.format_float_positional(number, trim="0") if 1e-4 <= abs(number) < 1e6 else str(number)


def _write_tsv(file: BinaryIO, tables: Iterable[Records], source: Source, forecasts: frozenset[str]) -> None:
    _write_csv(file, tables, source, forecasts, usual="\t")


def _zipped(write: Writer) -> Writer:
    def compressed(file: BinaryIO, tables: Iterable[Records], source: Source, forecasts: frozenset[str]) -> None:
        with gzip.GzipFile(fileobj=file, mode="wb", mtime=0) as inside:
            write(inside, tables, source, forecasts)  # type: ignore[arg-type]

    return compressed


def _write_json_lines(
    file: BinaryIO, tables: Iterable[Records], source: Source, forecasts: frozenset[str]
) -> None:
    for records in tables:
        for row in records.to_pylist():
            file.write(json.dumps(row, ensure_ascii=False, default=str).encode() + b"\n")


def _write_parquet(file: BinaryIO, tables: Iterable[Records], source: Source, forecasts: frozenset[str]) -> None:
    import pyarrow.parquet as pq

    _write_arrow_tables(tables, lambda schema: pq.ParquetWriter(file, schema))


def _write_arrow(file: BinaryIO, tables: Iterable[Records], source: Source, forecasts: frozenset[str]) -> None:
    _write_arrow_tables(tables, lambda schema: pa.ipc.new_file(file, schema))


def _write_arrow_tables(tables: Iterable[Records], open_writer: Callable[[Any], Any]) -> None:
    with ExitStack() as stack:
        writer = None
        for records in tables:
            writer = writer or stack.enter_context(open_writer(records.schema))
            table = records if isinstance(records, pa.Table) else pa.Table.from_batches([records])
            writer.write_table(table)


WRITERS: dict[str, Writer] = {
    ".csv": _write_csv,
    ".csv.gz": _zipped(_write_csv),
    ".tsv": _write_tsv,
    ".tsv.gz": _zipped(_write_tsv),
    ".jsonl": _write_json_lines,
    ".ndjson": _write_json_lines,
    ".parquet": _write_parquet,
    ".pq": _write_parquet,
    ".arrow": _write_arrow,
    ".feather": _write_arrow,
}


def check_other_file(path: Path, inputs: Iterable[str]) -> None:
    """That what is written is none of what is read."""
    if any(name != "-" and os.path.realpath(name) == os.path.realpath(path) for name in inputs):
        raise InputError("is read, too", place=os.fspath(path), fix="name another file to write")
