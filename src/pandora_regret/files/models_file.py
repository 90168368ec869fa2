"""Which files hold which model: as a person lists them, ``"Deep net=deepnet.csv"``, or in a TOML file.

The TOML file has one table per model, and what it leaves out is as for all models::

    [[models]]
    name = "Deep net"
    path = "deepnet_*.csv"          # a file, a list of files, or a pattern; relative to this file
    label = "diagnosis"
    proba_prefix = "logit_"
    logits = true

    [[models]]
    name = "Vendor A"
    path = "vendor.xlsx"
    sheet = "Export"
    columns = { Appendicitis = "P(app)", Hernia = "P(her)" }
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from glob import glob, has_magic
from pathlib import Path
from typing import Any

from pandora_regret.files.dialect import Dialect
from pandora_regret.files.layout import Layout
from pandora_regret.files.source import check_readable
from pandora_regret.inputs import InputError
from pandora_regret.records import check_keys, from_plain, parse_toml

REQUIRED = ("name", "path")


@dataclass(frozen=True)
class ModelFiles:
    """The files of one model, parts of one table, and how they are read."""

    paths: tuple[str, ...]
    layout: Layout
    name: str | None = None  # None: as the files call it


@dataclass(frozen=True)
class ModelEntry:
    """A ``[[models]]`` table; None: as for all models."""

    name: str
    path: str | tuple[str, ...]
    label: str | None = None
    id: str | None = None
    proba_prefix: str | None = None
    columns: dict[str, str] | None = None
    logits: bool | None = None
    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    sheet: str | int | None = None

    def files(self, defaults: Layout, folder: str) -> ModelFiles:
        """The same with what it leaves out."""
        said = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in REQUIRED}
        said = {name: value for name, value in said.items() if value is not None}
        of_text = {each.name: said.pop(each.name) for each in fields(Dialect) if each.name in said}
        layout = replace(defaults, dialect=replace(defaults.dialect, **of_text), **said)
        if said.get("columns") is not None and self.proba_prefix is None:
            layout = replace(layout, proba_prefix=None)
        return ModelFiles(_paths(self.path, folder), layout, self.name)


def read_models_argument(texts: Sequence[str], layout: Layout) -> list[ModelFiles]:
    """Models as a command's arguments name them: a file, ``NAME=FILE``, or a TOML file that describes several.

    Parameters
    ----------
    texts
        The arguments.
    layout
        Of all models, as far as a TOML file says nothing else.

    Returns
    -------
    list of ModelFiles
        One for each model.

    Examples
    --------
    >>> [(one.name, one.paths) for one in read_models_argument(["Deep net=deep.csv", "forest.csv"], Layout())]
    [('Deep net', ('deep.csv',)), (None, ('forest.csv',))]
    """
    models = [files for text in texts for files in _read_argument(text, layout)]
    names = Counter(files.name for files in models if files.name is not None)
    twice = next((name for name, times in names.items() if times > 1), None)
    if twice is not None:
        raise InputError(f"two models are called {twice!r}: give each a name of its own.", value=twice)
    return models


def _read_argument(text: str, layout: Layout) -> list[ModelFiles]:
    name, equals, path = text.partition("=")
    if equals and name.strip() and not os.path.exists(text):
        return [ModelFiles((path,), layout, name.strip())]
    if text.lower().endswith(".toml"):
        return read_models_file(text, layout)
    return [ModelFiles((text,), layout)]


def read_models_file(path: str, layout: Layout) -> list[ModelFiles]:
    """The models that a TOML file describes."""
    check_readable(path)
    content = parse_toml(Path(path).read_bytes(), path)
    tables = content.get("models")
    if not isinstance(tables, list) or not tables or set(content) != {"models"}:
        others = sorted(set(content) - {"models"})
        problem = (
            f"has {', '.join(map(repr, others))} beside its models" if others and tables else "lists no models"
        )
        fix = "write one [[models]] table per model, with name and path"
        raise InputError(problem, place=path, value=others, fix=fix)
    return [_read_entry(table, number, path, layout) for number, table in enumerate(tables, 1)]


def _read_entry(table: Any, number: int, path: str, layout: Layout) -> ModelFiles:
    place = f"{path}: models[{number}]"
    check_keys(ModelEntry, table, place)
    missing = next((key for key in REQUIRED if isinstance(table, dict) and key not in table), None)
    if missing is not None:
        raise InputError(f"lacks {missing!r}", place=place, fix=f"add {missing} = ...")
    try:
        return from_plain(ModelEntry, table, place).files(layout, os.path.dirname(path))
    except InputError as error:
        where = place if error.argument is None else f"{place}.{error.argument}"
        raise (error if error.place else error.replace(place=where)) from None


def _paths(said: str | tuple[str, ...], folder: str) -> tuple[str, ...]:
    """The files, those that a pattern names in order of their names."""
    paths: list[str] = []
    for path in (said,) if isinstance(said, str) else said:
        whole = os.path.join(folder, path)
        matches = sorted(glob(whole)) if has_magic(path) and not os.path.exists(whole) else [whole]
        if not matches:
            problem = f"is {path!r}, and no file is called like {whole}"
            raise InputError(problem, argument="path", value=path, fix="correct it")
        paths += matches
    if not paths:
        raise InputError("is empty", argument="path", fix="name at least one file")
    return tuple(paths)
