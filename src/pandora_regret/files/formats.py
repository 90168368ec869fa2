"""Which format a file has: said by its name, checked against its first bytes."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from pandora_regret.files.binary import ArrowFile, ParquetFile
from pandora_regret.files.candidates import is_list, read_lists
from pandora_regret.files.delimited import DelimitedFile
from pandora_regret.files.dialect import RECOGNISED, Dialect
from pandora_regret.files.errors import FileError
from pandora_regret.files.excel import ExcelSheet
from pandora_regret.files.json_lines import JsonLines, first_object
from pandora_regret.files.lm_eval import is_sample, read_samples
from pandora_regret.files.npz import FORECASTS, NpzFile, headers_of, models_of
from pandora_regret.files.source import Source, check_readable
from pandora_regret.files.standard_input import NAME, STANDARD_INPUT, spooled_input
from pandora_regret.files.text import COMPRESSED


def _open_json(path: str, said: Dialect, classes: Sequence[str] | None, location: str = "") -> Source:
    """JSON lines, which may be rows with options of their own."""
    file, sample = JsonLines.begin(path, said, location)
    first = first_object(sample)
    if is_sample(first):
        return read_samples(file, classes or ())
    return read_lists(file, said, classes or ()) if is_list(first) else file.with_schema(sample)


FORMATS: dict[str, tuple[str, Callable[[str, Dialect, Sequence[str] | None], Source] | None]] = {
    ".csv": ("text", lambda path, said, classes: DelimitedFile.open(path, said)),
    ".tsv": ("text", lambda path, said, classes: DelimitedFile.open(path, said, usual="\t")),
    ".jsonl": ("text", _open_json),
    ".ndjson": ("text", _open_json),
    **dict.fromkeys((".parquet", ".pq"), ("Parquet", lambda path, said, classes: ParquetFile.open(path))),
    **dict.fromkeys(
        (".arrow", ".arrows", ".feather", ".ipc"), ("Arrow", lambda path, said, classes: ArrowFile.open(path))
    ),
    **dict.fromkeys((".xlsx", ".xlsm"), ("Excel", lambda path, said, classes: ExcelSheet.open(path, said))),
    ".npz": ("NPZ", None),  # several tables
}
BEGINNINGS = {
    b"PAR1": ("Parquet", ".parquet"),
    b"ARROW1": ("Arrow", ".arrow"),
    b"\xff\xff\xff\xff": ("Arrow", ".arrow"),  # a stream
    b"PK\x03\x04": ("NPZ", ".npz"),  # or Excel
    b"PK\x05\x06": ("NPZ", ".npz"),  # an archive of nothing
    b"\x1f\x8b": ("gzip", ".csv.gz"),
    b"\x28\xb5\x2f\xfd": ("zstd", ".csv.zst"),
}
NEVER_TEXT = ("Parquet", "NPZ", "Excel")  # which begin as nothing else does


def open_sources(
    path: str | os.PathLike[str], classes: Sequence[str] | None = None, said: Dialect = RECOGNISED
) -> dict[str, Source]:
    """The tables of a file, each under the name that its model has unless a column says otherwise.

    `classes` name the columns of an archive that does not; `-` is standard input.
    """
    path = os.fspath(path)
    if path == STANDARD_INPUT:
        return {NAME: _open_standard_input(said, classes)}
    check_readable(path)
    extension = _extension(path)
    format_name, open_table = FORMATS[extension]
    if not _compression(path):
        _check_beginning(path, format_name, extension)
    file_name = Path(path).name
    stem = file_name[: len(file_name) - len(extension) - len(_compression(path))]
    if open_table is not None:
        return {stem: open_table(path, said, classes)}
    headers = headers_of(path)
    models = {stem if model == FORECASTS else model: model for model in models_of(path, headers)}
    return {name: NpzFile.open(path, model, headers, classes) for name, model in models.items()}


def _open_standard_input(said: Dialect, classes: Sequence[str] | None) -> Source:
    """CSV or JSON lines, as its content tells."""
    location = spooled_input()
    if not os.path.getsize(location):
        raise FileError("is empty (0 bytes)", path=NAME, fix="pipe predictions into the command")
    real = _format_of(location)
    if real is not None and real[0] != "gzip":
        raise FileError(
            f"holds {real[0]}", path=NAME, fix=f"save it as a file that ends in {real[1]}, and pass that"
        )
    sample, _ = JsonLines(NAME, {}, location=location).in_encoding(said.encoding).sample()
    if sample.lstrip().startswith(b"{"):
        return _open_json(NAME, said, classes, location)
    return DelimitedFile.open(NAME, said, location=location)


def _compression(path: str) -> str:
    return next((ending for ending in COMPRESSED if path.lower().endswith(ending)), "")


def _extension(path: str) -> str:
    """The ending that says the format, in lower case; text may be compressed."""
    compression = _compression(path)
    ending = Path(path[: len(path) - len(compression)]).suffix.lower()
    if ending not in FORMATS or (compression and FORMATS[ending][0] != "text"):
        real = _format_of(path)
        hint = f"; it holds {real[0]}, so call it {real[1]}" if real else ""
        known = f"{', '.join(FORMATS)}, text also compressed ({', '.join(COMPRESSED)})"
        fix = f"predictions are read from {known}{hint}"
        raise FileError(f"has the ending {Path(path).suffix!r}", path=path, fix=fix)
    return ending


def _check_beginning(path: str, format_name: str, extension: str) -> None:
    """A file's first bytes must be of the format that its name promises."""
    real = _format_of(path)
    if real is not None and real[0] != format_name:
        fix = f"rename it to end in {real[1]}"
        raise FileError(f"is called {extension} but holds {real[0]}", path=path, fix=fix)
    if real is None and format_name in NEVER_TEXT:
        fix = "it may be incomplete or damaged; write it again, or rename it to what it is"
        problem = f"is called {extension} but does not begin as {format_name} does"
        raise FileError(problem, path=path, fix=fix)


def _format_of(path: str) -> tuple[str, str] | None:
    with open(path, "rb") as file:
        beginning = file.read(8)
    known = next((known for mark, known in BEGINNINGS.items() if beginning.startswith(mark)), None)
    return _archive_of(path) if known == ("NPZ", ".npz") else known


def _archive_of(path: str) -> tuple[str, str]:
    """Which of the formats that are zip files; one that cannot be opened is what it is called."""
    try:
        with zipfile.ZipFile(path) as archive:
            is_excel = any(name.startswith(("xl/", "[Content_Types]")) for name in archive.namelist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        is_excel = path.lower().endswith((".xlsx", ".xlsm"))
    return ("Excel", ".xlsx") if is_excel else ("NPZ", ".npz")


def sources_of_parts(
    paths: Sequence[str | os.PathLike[str]], classes: Sequence[str] | None, said: Dialect = RECOGNISED
) -> Iterator[tuple[str, tuple[Source, ...]]]:
    """Each model's tables, one after the other, from files that are parts of one."""
    opened = [open_sources(path, classes, said) for path in paths]
    if len(opened) > 1 and all(len(tables) == 1 for tables in opened):
        opened = [{next(iter(opened[0])): next(iter(tables.values()))} for tables in opened]
    for name in opened[0]:
        without = next((path for path, tables in zip(paths, opened, strict=True) if name not in tables), None)
        if without is not None:
            problem = f"has no model {name!r} but {paths[0]} has"
            raise FileError(problem, path=os.fspath(without), fix="parts need the same models")
        yield name, tuple(tables[name] for tables in opened)
