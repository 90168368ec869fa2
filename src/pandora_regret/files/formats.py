"""Which format a file has: said by its name, checked against its first bytes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from pandora_regret.files.binary import ArrowFile, ParquetFile
from pandora_regret.files.npz import FORECASTS, NpzFile, models_of
from pandora_regret.files.source import Source, check_readable
from pandora_regret.files.text import COMPRESSED, DelimitedFile, JsonLines
from pandora_regret.inputs import InputError


def _tabs(path: str) -> Source:
    return DelimitedFile(path, delimiter="\t")


FORMATS: dict[str, tuple[str, Callable[[str], Source]]] = {
    ".csv": ("text", DelimitedFile),
    ".tsv": ("text", _tabs),
    ".jsonl": ("text", JsonLines),
    ".ndjson": ("text", JsonLines),
    ".parquet": ("Parquet", ParquetFile),
    ".pq": ("Parquet", ParquetFile),
    ".arrow": ("Arrow", ArrowFile),
    ".arrows": ("Arrow", ArrowFile),
    ".feather": ("Arrow", ArrowFile),
    ".ipc": ("Arrow", ArrowFile),
    ".npz": ("NPZ", NpzFile),
}
BEGINNINGS = {
    b"PAR1": ("Parquet", ".parquet"),
    b"ARROW1": ("Arrow", ".arrow"),
    b"\xff\xff\xff\xff": ("Arrow", ".arrow"),  # a stream
    b"PK\x03\x04": ("NPZ", ".npz"),
    b"PK\x05\x06": ("NPZ", ".npz"),  # an archive of nothing
    b"\x1f\x8b": ("gzip", ".csv.gz"),
    b"\x28\xb5\x2f\xfd": ("zstd", ".csv.zst"),
}


def open_sources(path: str | os.PathLike[str]) -> dict[str, Source]:
    """The tables of a file, each under the name that its model has unless a column says otherwise."""
    path = os.fspath(path)
    check_readable(path)
    extension = _extension(path)
    kind, open_one = FORMATS[extension]
    if not path.endswith(COMPRESSED):
        _check_beginning(path, kind, extension)
    stem = Path(path).name.removesuffix(_compression(path)).removesuffix(extension)
    if extension != ".npz":
        return {stem: open_one(path)}
    return {stem if model == FORECASTS else model: NpzFile(path, model=model) for model in models_of(path)}


def _compression(path: str) -> str:
    return next((ending for ending in COMPRESSED if path.endswith(ending)), "")


def _extension(path: str) -> str:
    """The ending that says the format; text may be compressed."""
    compression = _compression(path)
    ending = Path(path.removesuffix(compression)).suffix
    if ending not in FORMATS or (compression and FORMATS[ending][0] != "text"):
        found = _format_of(path)
        hint = f"; it holds {found[0]}, so call it {found[1]}" if found else ""
        raise InputError(
            f"{path} has the ending {Path(path).suffix!r}: predictions are read from {', '.join(FORMATS)}, "
            f"text also compressed ({', '.join(COMPRESSED)}){hint}."
        )
    return ending


def _check_beginning(path: str, kind: str, extension: str) -> None:
    """A file's first bytes must be of the kind that its name promises."""
    found = _format_of(path)
    if found is not None and found[0] != kind:
        raise InputError(f"{path} is called {extension} but holds {found[0]}: rename it to end in {found[1]}.")
    if found is None and kind in ("Parquet", "NPZ"):
        raise InputError(
            f"{path} is called {extension} but does not begin as {kind} does: it may be incomplete or damaged; "
            "write it again, or rename it to what it is."
        )


def _format_of(path: str) -> tuple[str, str] | None:
    with open(path, "rb") as file:
        beginning = file.read(8)
    return next((known for mark, known in BEGINNINGS.items() if beginning.startswith(mark)), None)


def sources_of_parts(paths: list[str | os.PathLike[str]]) -> Iterator[tuple[str, tuple[Source, ...]]]:
    """Each model's tables, one after the other, from files that are parts of one."""
    opened = [open_sources(path) for path in paths]
    if len(opened) > 1 and all(len(tables) == 1 for tables in opened):
        opened = [{next(iter(opened[0])): next(iter(tables.values()))} for tables in opened]
    for name in opened[0]:
        without = next((path for path, tables in zip(paths, opened, strict=True) if name not in tables), None)
        if without is not None:
            raise InputError(f"{without} has no model {name!r} but {paths[0]} has: parts need the same models.")
        yield name, tuple(tables[name] for tables in opened)
