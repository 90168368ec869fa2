"""The models that a command's arguments name, or a file describes.

Models are listed as a person does, ``"Deep net=deepnet.csv"``, or in a TOML file that has one table per model, and
what it leaves out is as for all models::

    truth = "cases.csv"             # where prediction files have no labels
    id = "patient"                  # of all files, and so is label
    label = "diagnosis"

    [[models]]
    name = "Deep net"
    path = "deepnet_*.csv"          # a file, a list of files, or a pattern; relative to this file
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
from dataclasses import dataclass, replace
from glob import glob, has_magic

from pandora_regret.core.inputs import Fields, InputError, Names
from pandora_regret.core.records import check_keys, from_plain, read_toml
from pandora_regret.files.dialect import Dialect
from pandora_regret.files.layout import Layout, ModelFiles
from pandora_regret.files.source import Source


@dataclass(frozen=True, kw_only=True)
class ModelEntry(Dialect):
    """A ``[[models]]`` table; None: as for all models."""

    name: str
    path: str | Names
    label: str | None = None
    id: str | None = None
    proba_prefix: str | None = None
    columns: dict[str, str] | None = None
    logits: bool | None = None
    ids_as_numbers: bool | None = None
    missing_class_zero: bool | None = None

    def files(self, defaults: Layout, folder: str) -> ModelFiles:
        """The model with what the table leaves out, and the files that patterns name, in order of their names."""
        paths = list[str]()
        for pattern in (self.path,) if isinstance(self.path, str) else self.path:
            whole = os.path.join(folder, pattern)
            paths += sorted(glob(whole)) if has_magic(pattern) and not os.path.exists(whole) else [whole]
        if not paths:
            problem = (
                f"of model {self.name!r} is {self.path!r}, and no file is called like that in {folder or '.'}"
            )
            raise InputError(problem, argument="path", value=self.path, fix="correct it")
        return ModelFiles(tuple(paths), self._layout(defaults), self.name, defaults)

    def _layout(self, defaults: Layout) -> Layout:
        """The layout of this model: what is stated here, else as for all models."""
        written = Fields(
            separator=self.separator,
            decimal=self.decimal,
            encoding=self.encoding,
            sheet=self.sheet,
            other=self.other,
            max_memory=self.max_memory,
        )
        settings = Fields(
            label=self.label,
            id=self.id,
            proba_prefix=self.proba_prefix,
            columns=self.columns,
            logits=self.logits,
            ids_as_numbers=self.ids_as_numbers,
            missing_class_zero=self.missing_class_zero,
        )
        dialect = replace(defaults.dialect, **_stated(written))
        if self.columns:  # which take the place of a prefix that is meant for all
            defaults = replace(defaults, proba_prefix=None)
        return replace(defaults, dialect=dialect, **_stated(settings))


def _stated(settings: Fields) -> Fields:
    """The settings that are not None."""
    return {name: value for name, value in settings.items() if value is not None}


@dataclass(frozen=True)
class ModelsFile:
    """A TOML file of models."""

    models: tuple[ModelEntry, ...]
    truth: str | None = None
    label: str | None = None
    id: str | None = None

    def layout(self, options: Layout, folder: str) -> Layout:
        """The layout of all models: what was asked for by an option, else what is stated here."""
        truth = options.truth
        if truth is None and self.truth is not None:
            truth = os.path.join(folder, self.truth)
        return replace(options, truth=truth, label=options.label or self.label, id=options.id or self.id)


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
    models: list[ModelFiles] = []
    for text in texts:
        name, equals, path = text.partition("=")
        if equals and name.strip() and not os.path.exists(text):
            models.append(ModelFiles((path,), layout, name.strip()))
        elif text.lower().endswith(".toml"):
            models += _read_models_file(text, layout)
        else:
            models.append(ModelFiles((text,), layout))
    times = Counter(model.name for model in models)
    twice = next((name for name, n in times.items() if name and n > 1), None)
    if twice is not None:
        problem = f"two files are called {twice}"
        fix = "give each model a name of its own"
        raise InputError(problem, argument="files", place="", value=twice, fix=fix)
    truth = next((model.layout.truth for model in models if model.layout.truth is not None), None)
    return [_with_truth(model, truth) for model in models]


def _with_truth(model: ModelFiles, truth: str | Source | None) -> ModelFiles:
    """A model whose truth stands in this file."""
    of_all = None if model.of_all is None else replace(model.of_all, truth=truth)
    return replace(model, layout=replace(model.layout, truth=truth), of_all=of_all)


def _read_models_file(path: str, layout: Layout) -> list[ModelFiles]:
    """The models that a TOML file describes."""
    fix = "write one [[models]] table per model, with name and path"
    content = read_toml(path, fix)
    folder = os.path.dirname(path)
    try:
        if not content.get("models"):
            raise InputError("lists no models", argument="models", place="", fix=fix)
        check_keys(ModelsFile, content, "")
        listed = from_plain(ModelsFile, content, "")
        of_all = listed.layout(layout, folder)
        return [entry.files(of_all, folder) for entry in listed.models]
    except InputError as error:
        raise error.within(path) from None
