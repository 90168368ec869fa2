"""Predictions that people have already, as a store: a file per model, an archive of arrays, a long table."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pandora_regret.files import Batch, Layout, Predictions, align, open_predictions, read_models
from pandora_regret.files.formats import FORMATS
from pandora_regret.files.text import COMPRESSED
from pandora_regret.inputs import InputError
from pandora_regret.study.store.folder import Store


def import_predictions(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    store_folder: str | os.PathLike[str],
    *,
    layout: Layout | None = None,
    about: dict[str, Any] | None = None,
) -> Store:
    r"""Keep the predictions of many models for the same instances in a store.

    Rows and classes of every file are matched to those of the first: classes by name, rows by id where there is
    one, else by order. A store that exists must be of the same labels; models that it has already are replaced.

    Parameters
    ----------
    paths
        Files, or folders of files, in any format that `open_predictions` reads. A file is a model named after it,
        unless a model column, or the names of the arrays in an NPZ archive, say that it holds several.
    layout
        Which column is what, where names do not tell.
    about
        What is known about the data and the models, to be kept with them.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "good.csv").write_text("label,cat,dog\ncat,0.75,0.25\ndog,0.5,0.5\n")
    >>> _ = (folder / "bad.csv").write_text("label,dog,cat\ncat,1,0\ndog,0,1\n")
    >>> store = import_predictions([folder / "good.csv", folder / "bad.csv"], folder / "store")
    >>> store.models, store.probabilities(["bad"]).tolist()
    (('bad', 'good'), [[[0.0, 1.0], [1.0, 0.0]]])
    """
    models = [model for path in _files(paths) for model in open_predictions(path, layout)]
    _check_each_name_once(models)
    for model in models:
        _check_no_weights(model)
    every = zip(models, read_models(models), strict=True)
    first, batch = next(every)
    with Store.create(store_folder, batch.truth, batch.classes, about=about) as store:
        _save(store, first, batch)
        for model, other in every:
            _save(store, model, align([batch, other], [first.name, model.name])[1])
    return store


def _save(store: Store, model: Predictions, batch: Batch) -> None:
    store.save(model.name, batch.values, logits=model.logits, metadata={"file": model.path})


def _check_no_weights(model: Predictions) -> None:
    """They would have to be those of every metric, and of the search, which knows none."""
    if model.columns.weight is not None:
        raise InputError(
            f"{model.path} has sample weights, column {model.columns.weight!r}: a study counts every row alike; "
            "drop or rename the column."
        )


def _files(paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> list[Path]:
    given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    found = [file for path in given for file in _files_of(Path(path))]
    if not found:
        raise InputError("no file of predictions: pass at least one path.")
    return found


def _files_of(path: Path) -> Iterator[Path]:
    """A file, or those in a folder whose names say that they may be predictions, sorted."""
    if not path.is_dir():
        yield path
        return
    found = sorted(file for file in path.iterdir() if _may_be_predictions(file))
    if not found:
        raise InputError(f"{path} holds no file of predictions: they end in {', '.join(FORMATS)}.")
    yield from found


def _may_be_predictions(file: Path) -> bool:
    name = file.with_suffix("") if file.suffix in COMPRESSED else file
    return name.suffix in FORMATS and not file.name.startswith(".") and file.is_file()


def _check_each_name_once(models: list[Predictions]) -> None:
    seen: dict[str, Predictions] = {}
    for model in models:
        other = seen.setdefault(model.name, model)
        if other is not model:
            raise InputError(
                f"{other.path} and {model.path} both hold a model called {model.name!r}: rename one of them."
            )
