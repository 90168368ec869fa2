"""Predictions that people have already, as a store: a file per model, an archive of arrays, a long table."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from glob import glob, has_magic
from pathlib import Path
from typing import Any

from pandora_regret.files import Batch, Layout, Predictions, align, open_predictions, read_models
from pandora_regret.files.formats import FORMATS
from pandora_regret.files.text import COMPRESSED
from pandora_regret.inputs import InputError
from pandora_regret.study.prediction import Prediction, Target
from pandora_regret.study.store.folder import Store
from pandora_regret.study.store.labels import read_groups


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
        Files, folders of files, or patterns such as ``"runs/*.csv"``, in any format that `open_predictions` reads.
        A file is a model named after it, unless a model column, or the names of the arrays in an NPZ archive, say
        that it holds several.
    store_folder
        Where the store is, or is to be.
    layout
        Which column is what, where names do not tell.
    about
        What is known about the data and the models, to be kept with them.

    Returns
    -------
    Store
        The store, with the models of all files.

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
    files = PredictionFiles(paths, layout)
    with Store.create(
        store_folder, files.target.truth, files.target.classes, groups=files.target.groups, about=about
    ) as store:
        for name, prediction in files.predictions():
            store.save(name, prediction.values, logits=prediction.logits, metadata=prediction.metadata)
    return store


class PredictionFiles:
    """Models in files, opened together and read one after the other; a file that models share is read once."""

    def __init__(
        self, paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]], layout: Layout | None = None
    ) -> None:
        self.models = [model for path in _files(paths) for model in open_predictions(path, layout)]
        _check_names(self.models)
        for model in self.models:
            _check_no_weights(model)
        self._batches = read_models(self.models)
        self._first = next(self._batches)

    @property
    def target(self) -> Target:
        """Labels and classes, those of the first model."""
        classes, truth = tuple(map(str, self._first.classes)), self._first.truth
        return Target(truth, classes, read_groups(self._first.groups, len(truth)))

    def predictions(self) -> Iterator[tuple[str, Prediction]]:
        """The models' names and predictions, rows and classes as in the first; they can be walked through once."""
        first = self.models[0]
        yield first.name, _prediction(first, self._first)
        for model, batch in zip(self.models[1:], self._batches, strict=True):
            yield model.name, _prediction(model, align([self._first, batch], [first.name, model.name])[1])


def _prediction(model: Predictions, batch: Batch) -> Prediction:
    return Prediction(batch.values, model.logits, {"file": model.path})


def _check_no_weights(model: Predictions) -> None:
    """They would have to be those of every metric, and of the search, which knows none."""
    if model.columns.weight is not None:
        raise InputError(
            f"{model.path} has sample weights, column {model.columns.weight!r}: a study counts every row alike; "
            "drop or rename the column."
        )


def _files(paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> list[Path]:
    listed = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    files = [file for path in listed for file in _files_of(Path(path))]
    if not files:
        raise InputError("no file of predictions: pass at least one path.")
    return files


def _files_of(path: Path) -> list[Path]:
    """A file, those that a pattern matches, or those in a folder whose names say that they may be predictions."""
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if _may_be_predictions(file))
        if not files:
            raise InputError(f"{path} holds no file of predictions: they end in {', '.join(FORMATS)}.")
        return files
    if path.exists() or not has_magic(str(path)):
        return [path]
    matches = sorted(Path(match) for match in glob(str(path), recursive=True))
    if not matches:
        raise InputError(f"{path} matches no file: correct the pattern.")
    return [file for match in matches for file in _files_of(match)]


def _may_be_predictions(file: Path) -> bool:
    name = file.with_suffix("") if file.suffix in COMPRESSED else file
    return name.suffix in FORMATS and not file.name.startswith(".") and file.is_file()


def _check_names(models: list[Predictions]) -> None:
    seen: dict[str, Predictions] = {}
    for model in models:
        if not model.name.strip():
            raise InputError(f"{model.path} has rows without the name of a model: name it, or drop them.")
        other = seen.setdefault(model.name, model)
        if other is not model:
            raise InputError(
                f"{other.path} and {model.path} both hold a model called {model.name!r}: rename one of them."
            )
