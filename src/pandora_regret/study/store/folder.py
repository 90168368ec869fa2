"""The prediction store: a folder with the labels of one data set and the predictions of many models for it.

::

    labels.safetensors          the true classes; their names and what is known about the data, as metadata
    manifest.json               each model's file and its sha256; the reasons of the models that failed
    predictions/*.safetensors   one file per model: float32 probabilities or logits, and metadata

Every file is written under a temporary name, synced and renamed; predictions first, then the manifest. What the
manifest does not know is not done, so whatever kills the writer, and whenever, the store is valid.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pandora_regret.inputs import FloatArray, InputError, InputTypeError, IntArray, Table, read_probabilities
from pandora_regret.study.prediction import Prediction, Target
from pandora_regret.study.store.disk import StoreError, hold_lock, read, remove_leftovers, write, writing
from pandora_regret.study.store.labels import (
    check_same,
    identity,
    read_labels_file,
    read_target,
    write_labels_file,
)
from pandora_regret.study.store.manifest import Manifest, file_name
from pandora_regret.study.store.sealed import BrokenSealError, seal, unseal

__all__ = ["Store", "StoreError"]

LABELS, MANIFEST, PREDICTIONS, LOCK = "labels.safetensors", "manifest.json", "predictions", ".lock"
KINDS = {False: "probabilities", True: "logits"}  # the arrays' names in the files
LEAST = np.finfo(np.float32).tiny  # of the probabilities that float32 holds with all its digits


class Store:
    """Predictions of many models for the instances of one data set; see `create` and `open`.

    Any number of processes may read; the first call that writes (`save`, `record_failure`, `unfinished`) makes
    this object the one writer until it is closed, or its process ends.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with Store.create(folder, [0, 1], ["cat", "dog"]) as store:
    ...     store.save("a", np.array([[0.75, 0.25], [0.5, 0.5]]), metadata={"seed": 42})
    ...     store.record_failure("b", "NaN in its features")
    ...     store.unfinished(["a", "b", "c"])
    ['c']
    >>> Store.open(folder).probabilities(["a"])
    array([[[0.75, 0.25],
            [0.5 , 0.5 ]]])
    """

    _lock: BinaryIO | None = None  # held by the writer

    def __init__(self, folder: Path, target: Target, about: dict[str, Any]) -> None:
        self.folder = folder
        self.about = about
        self._target = target
        self._manifest = self._read_manifest()

    @classmethod
    def create(
        cls,
        folder: str | os.PathLike[str],
        truth: ArrayLike,
        classes: Sequence[Any],
        *,
        groups: ArrayLike | None = None,
        about: dict[str, Any] | None = None,
    ) -> Store:
        """A store for these labels; one that exists already is continued if its labels are the same.

        Parameters
        ----------
        truth
            The true class of each instance, as a column number.
        classes
            The classes' names, in column order.
        groups
            Which instances belong together, such as one patient's: any names, one per instance.
        about
            What is known about the data and the zoo. A store that exists keeps what it was created with.
        """
        folder, target = Path(folder), read_target(truth, classes, groups)
        if not cls.exists(folder):
            with writing(folder):
                folder.mkdir(parents=True, exist_ok=True)
            write_labels_file(folder / LABELS, target, about or {})
        store = cls.open(folder)
        check_same(store._target, target, folder)
        return store

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Store:
        """A store that exists."""
        folder = Path(folder)
        try:
            return cls(folder, *read_labels_file(folder / LABELS))
        except FileNotFoundError:
            raise InputError(f"{folder} is no prediction store: it has no {LABELS}.") from None
        except BrokenSealError:
            raise InputError(
                f"{folder / LABELS} is corrupt: create the store again with the same labels, which keeps the "
                "predictions, or restore the file from a copy."
            ) from None

    @staticmethod
    def exists(folder: str | os.PathLike[str]) -> bool:
        """Whether there is a store, with labels that are whole; where they are not, `create` repairs it."""
        try:
            read_labels_file(Path(folder) / LABELS)
        except (FileNotFoundError, BrokenSealError):
            return False
        return True

    def close(self) -> None:
        """Let another process write."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    @property
    def truth(self) -> IntArray:
        """The true class of each instance, as a column number, (N,)."""
        return self._target.truth

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes' names, in column order."""
        return self._target.classes

    @property
    def groups(self) -> IntArray | None:
        """Which group each instance belongs to, (N,); None where each is a group of its own."""
        return self._target.groups

    @property
    def models(self) -> tuple[str, ...]:
        """The models that have predictions, sorted."""
        return tuple(sorted(self._manifest.models))

    @property
    def failures(self) -> dict[str, str]:
        """The models that have none, and why."""
        return dict(sorted(self._manifest.failures.items()))

    def save(
        self, name: str, values: Table, *, logits: bool = False, metadata: dict[str, Any] | None = None
    ) -> None:
        """Keep one model's predictions as float32, in place of earlier ones of that name.

        Parameters
        ----------
        values
            Probabilities, or logits, shape (N, K); a frame's columns are matched to the classes by name.
        logits
            Whether they are logits. Logarithms of probabilities are logits too: probabilities among which one is
            too small for float32, but not zero, are kept as their logarithms.
        metadata
            What is known about the model: parameters, input size, seed, library versions, seconds, ...
        """
        stored, logits = self._read_values(_read_name(name), values, bool(logits))
        self._take_lock()
        known = {"model": name, "labels": self._manifest.labels, "metadata": metadata or {}}
        content = seal({KINDS[logits]: stored}, known)
        write(self._file(name), content)
        self._write_manifest(self._manifest.with_model(name, hashlib.sha256(content).hexdigest()))

    def record_failure(self, name: str, reason: str) -> None:
        """Keep why a model has no predictions, so that it is neither forgotten nor tried again."""
        self._take_lock()
        self._write_manifest(self._manifest.with_failure(_read_name(name), str(reason)))

    def forget_failures(self) -> None:
        """Let all models that failed be tried again."""
        self._take_lock()
        self._write_manifest(replace(self._manifest, failures={}))

    def load(self, name: str) -> Prediction:
        """One model's predictions, float32, after a look at their checksum."""
        if _read_name(name) not in self._manifest.models:
            raise InputError(f"{self.folder} has no predictions of {name!r}{self._why_not(name)}.")
        content = self._verified(name)
        if content is None:
            raise InputError(f"{self._file(name)} is corrupt or missing: resume the study, which redoes {name!r}.")
        arrays, known = unseal(content)
        ((kind, values),) = arrays.items()
        return Prediction(values, kind == KINDS[True], known["metadata"])

    def probabilities(self, names: Iterable[str]) -> FloatArray:
        """Probabilities of some models, (M, N, K), in float64.

        Logits go through a softmax; rows that were stored as probabilities sum to 1 again, as they did before
        float32 took digits from them.
        """
        listed = list(names)
        table = np.empty((len(listed), len(self.truth), len(self.classes)))
        for index, name in enumerate(listed):
            prediction = self.load(name)
            table[index] = _odds(prediction.values) if prediction.logits else prediction.values
            table[index] /= table[index].sum(axis=1, keepdims=True)
        return table

    def unfinished(self, names: Iterable[str]) -> list[str]:
        """Those that are still to be done: neither recorded as failed, nor here with the right checksum.

        Predictions whose file is corrupt or missing are dropped from the manifest. For a mere look at a store that
        another process may be writing, see `models` and `failures`.
        """
        self._take_lock()
        listed = list(names)
        corrupt = {n for n in listed if n in self._manifest.models and self._verified(n) is None}
        if corrupt:
            self._write_manifest(self._manifest.without(corrupt))
        return [n for n in listed if n not in self._manifest.models and n not in self._manifest.failures]

    def _read_values(self, name: str, values: Table, logits: bool) -> tuple[NDArray[np.float32], bool]:
        """What will be stored, and whether as logits.

        It is checked as it was given, and again in the precision in which it will be read.
        """
        what = f"the prediction of {name!r}"
        table = read_probabilities(values, labels=self.classes, logits=logits, name=what).check()
        if len(table) != len(self.truth):
            raise InputError(f"{what} has {len(table)} rows but the store has {len(self.truth)} labels.")
        exact, logits = _that_float32_keeps(table.values, logits)
        with np.errstate(over="ignore", under="ignore"):
            stored = exact.astype(np.float32)
        read_probabilities(stored, logits=logits, name=what).check()
        return stored, logits

    def _file(self, name: str) -> Path:
        return self.folder / PREDICTIONS / file_name(name)

    def _verified(self, name: str) -> bytes | None:
        """The content of a model's file, if it is what was written."""
        try:
            content = self._file(name).read_bytes()
        except OSError:
            return None
        return content if hashlib.sha256(content).hexdigest() == self._manifest.models.get(name) else None

    def _why_not(self, name: str) -> str:
        if name in self.failures:
            return f": it failed ({self.failures[name]})"
        return f"; it has {', '.join(map(repr, self.models[:8]))}{', ...' if len(self.models) > 8 else ''}"

    def _take_lock(self) -> None:
        """Become the writer: nobody else's temporary files are alive now, and nobody else changes the manifest."""
        if self._lock is None:
            self._lock = hold_lock(self.folder / LOCK)
            with writing(self.folder / PREDICTIONS):
                (self.folder / PREDICTIONS).mkdir(exist_ok=True)
            remove_leftovers(self.folder)
            remove_leftovers(self.folder / PREDICTIONS)
            self._write_manifest(self._read_manifest())  # another process may have written since, or broken it

    def _read_manifest(self) -> Manifest:
        """The manifest; one that is lost, corrupt or of other labels is made again from the files' own checksums.

        Recorded failures are lost with it: those models are tried once more.
        """
        labels = identity(self._target)
        with suppress(FileNotFoundError, BrokenSealError):
            manifest = Manifest.from_bytes(read(self.folder / MANIFEST))
            if manifest.labels == labels:
                return manifest
        return Manifest(labels, dict(self._genuine_files(labels)))

    def _genuine_files(self, labels: str) -> Iterator[tuple[str, str]]:
        """Models and checksums of the files that are whole, and about these labels."""
        for path in sorted((self.folder / PREDICTIONS).glob("*.safetensors")):
            content = read(path)
            try:
                _, known = unseal(content)
            except BrokenSealError:
                continue
            if known.get("labels") == labels and path == self._file(known["model"]):
                yield known["model"], hashlib.sha256(content).hexdigest()

    def _write_manifest(self, manifest: Manifest) -> None:
        write(self.folder / MANIFEST, manifest.to_bytes())
        self._manifest = manifest


def _read_name(name: Any) -> str:
    if not isinstance(name, str) or not name:
        raise InputTypeError(f"a model's name must be text, got {name!r}.")
    return name


def _that_float32_keeps(values: NDArray[Any], logits: bool) -> tuple[NDArray[Any], bool]:
    """The same, as logarithms where float32 would make an impossibility of something merely improbable."""
    if logits or not ((values > 0) & (values < LEAST)).any():
        return values, logits
    with np.errstate(divide="ignore"):
        return np.log(values), True


def _odds(logits: NDArray[Any]) -> FloatArray:
    """Up to a factor of each row."""
    return np.asarray(np.exp(logits.astype(np.float64) - logits.max(axis=1, keepdims=True)))
