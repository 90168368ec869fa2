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
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from glob import glob, has_magic
from pathlib import Path

from pandora_regret.files.layout import Dialect, Layout
from pandora_regret.files.source import check_readable
from pandora_regret.inputs import InputError
from pandora_regret.records import check_keys, from_plain, parse_toml


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
        """The same with what it leaves out, and the files that patterns name in order of their names."""
        said = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in ("name", "path")}
        said = {name: value for name, value in said.items() if value is not None}
        of_text = {each.name: said.pop(each.name) for each in fields(Dialect) if each.name in said}
        layout = replace(defaults, dialect=replace(defaults.dialect, **of_text), **said)
        if self.columns is not None and self.proba_prefix is None:
            layout = replace(layout, proba_prefix=None)
        paths: list[str] = []
        for path in (self.path,) if isinstance(self.path, str) else self.path:
            whole = os.path.join(folder, path)
            paths += sorted(glob(whole)) if has_magic(path) and not os.path.exists(whole) else [whole]
        if not paths:
            problem = f"is {self.path!r}, and no file is called like that in {folder or '.'}"
            raise InputError(problem, argument="path", value=self.path, fix="correct it")
        return ModelFiles(tuple(paths), layout, self.name)


@dataclass(frozen=True)
class ModelsFile:
    """A TOML file of models."""

    models: tuple[ModelEntry, ...]


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
    names = [files.name for files in models if files.name is not None]
    if twice := next((name for name in names if names.count(name) > 1), None):
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
    if not content.get("models"):
        fix = "write one [[models]] table per model, with name and path"
        raise InputError("lists no models", place=path, fix=fix)
    try:
        check_keys(ModelsFile, content, "")
        entries = from_plain(ModelsFile, content, "").models
        return [_files(entry, f"models[{number}]", layout, path) for number, entry in enumerate(entries)]
    except InputError as error:
        raise error.within(path) from None


def _files(entry: ModelEntry, place: str, layout: Layout, path: str) -> ModelFiles:
    try:
        return entry.files(layout, os.path.dirname(path))
    except InputError as error:
        raise error.replace(place=f"{place}.{error.argument}") from None
