"""The prediction store: a folder with the labels of one data set and one safetensors file per model.

Every file is written whole or not at all, so whatever kills the writer, and whenever, a file that is there is
done: it holds a model's float32 probabilities or logits, or the reason why there are none. What else is known
about a model, or about the data, is in the file's metadata.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pandora_regret.core.atomic import Place, write_atomically
from pandora_regret.core.inputs import (
    FloatArray,
    InputError,
    InputTypeError,
    IntArray,
    Names,
    Table,
    did_you_mean,
    read_labels,
    read_probabilities,
    read_truth,
)
from pandora_regret.optional import import_optional

Plain: TypeAlias = dict[str, Any]  # values that JSON holds
Arrays: TypeAlias = dict[str, NDArray[Any]]  # by name, of any type

SCHEMA = "pandora-predictions/1"
LABELS_FILE = "labels.safetensors"
KIND_OF_VALUES = {False: "probabilities", True: "logits"}  # the arrays' names in the files


@dataclass(frozen=True)
class Target:
    """What is predicted: the true classes of the instances, as column numbers, and the classes' names."""

    truth: IntArray  # (N,)
    classes: Names  # (K,)
    groups: IntArray | None = None  # (N,) numbers of groups that belong together, such as one patient's visits


@dataclass(frozen=True)
class Prediction:
    """What one model forecasts for all instances, and how it was made."""

    values: NDArray[np.floating]  # (N, K) probabilities, or logits
    logits: bool
    metadata: Plain = field(default_factory=dict)  # parameters, input size, seed, seconds, ...


class Store:
    """Predictions of many models for the instances of one data set; see `create` and `open`.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> store = Store.create(folder, [0, 1], ["cat", "dog"])
    >>> store.save("a", np.array([[0.75, 0.25], [0.5, 0.5]]), metadata={"seed": 42})
    >>> store.record_failure("b", "NaN in its features")
    >>> store.unfinished(["a", "b", "c"])
    ['c']
    >>> Store.open(folder).probabilities(["a"])
    array([[[0.75, 0.25],
            [0.5 , 0.5 ]]])
    """

    def __init__(self, folder: Path, target: Target, about: Plain) -> None:
        self.folder = folder
        self.target = target
        self.about = about
        self.truth = target.truth
        self.classes = target.classes
        self.groups = target.groups

    @classmethod
    def create(
        cls,
        folder: Place,
        truth: ArrayLike,
        classes: Sequence[object],
        *,
        groups: ArrayLike | None = None,
        about: Plain | None = None,
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
        names = tuple(map(str, read_labels(classes, "classes")))
        if len(names) < 2 or np.size(truth) == 0:
            problem = f"there are {len(names)} classes and {np.size(truth)} instances"
            argument = "classes" if len(names) < 2 else "truth"
            fix = "a search needs at least two classes, and an instance"
            raise InputError(problem, argument=argument, place="", fix=fix)
        labels = read_truth(truth, range(len(names)), len(np.atleast_1d(truth)))
        target = Target(labels, names, number_resampled_groups(groups, len(labels)))
        folder = Path(folder)
        if not cls.exists(folder):
            folder.mkdir(parents=True, exist_ok=True)
            arrays: Arrays = {"truth": labels}
            if target.groups is not None:
                arrays["groups"] = target.groups
            write_arrays(folder / LABELS_FILE, arrays, {"classes": names, "about": about or {}})
        store = cls.open(folder)
        store.check_same(target)
        return store

    @classmethod
    def open(cls, folder: Place) -> Store:
        """A store that exists."""
        folder = Path(folder)
        try:
            arrays, header = read_arrays(folder / LABELS_FILE)
        except FileNotFoundError:
            problem = f"is no prediction store: it has no {LABELS_FILE}"
            raise InputError(problem, argument="folder", place=str(folder), value=str(folder)) from None
        target = Target(arrays["truth"], tuple(header["classes"]), arrays.get("groups"))
        return cls(folder, target, header["about"])

    @staticmethod
    def exists(folder: Place) -> bool:
        """Whether there is a store."""
        return (Path(folder) / LABELS_FILE).is_file()

    def check_same(self, target: Target) -> None:
        """Raise an InputError that says where they differ, unless labels, classes and groups are those stored."""
        self._check_same_part("classes", self.classes, target.classes)
        self._check_same_part("truth", self.truth, target.truth)
        self._check_same_part("groups", self.groups, target.groups)

    def _check_same_part(self, part: str, stored: ArrayLike | None, given_now: ArrayLike | None) -> None:
        """Raise an InputError unless one value per instance or class, or None, is stored as it is given now."""
        kept = np.atleast_1d(np.asarray(stored))
        new = np.atleast_1d(np.asarray(given_now))
        if np.array_equal(kept, new):
            return
        row = int(np.argmax(kept != new)) if kept.shape == new.shape else 0
        difference = f"{part} {row} of {len(kept)} is {kept[row]}, here {new[row]} of {len(new)}"
        problem = f"is a store of other data: {difference}; use another folder"
        raise InputError(problem, argument=part, row=row, place=str(self.folder), value=new.tolist()[row])

    @property
    def models(self) -> Names:
        """The models that have predictions, sorted."""
        return tuple(name for name, failure in self._outcomes().items() if failure is None)

    @property
    def failures(self) -> dict[str, str]:
        """The models that have none, and why."""
        return {name: failure for name, failure in self._outcomes().items() if failure is not None}

    def _outcomes(self) -> dict[str, str | None]:
        """Why each model that is done has no predictions; None where it has some."""
        files = [path for path in self.folder.glob("*.safetensors") if path.name != LABELS_FILE]
        headers = [read_arrays(path, header_only=True)[1] for path in files]
        return dict(sorted((header["model"], header["failure"]) for header in headers))

    def failure(self, name: str) -> str | None:
        """Why a model that is done has no predictions; None where it has some."""
        reason: str | None = read_arrays(self._file(name), header_only=True)[1]["failure"]
        return reason

    def save(self, name: str, values: Table, *, logits: bool = False, metadata: Plain | None = None) -> None:
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
        path = self._file(name)
        title = f"the prediction of {name!r}"
        table = read_probabilities(values, labels=self.classes, logits=logits, name=title).check()
        if len(table) != len(self.truth):
            problem = f"has {len(table)} rows but the store has {len(self.truth)} labels"
            raise InputError(problem, argument="values", place=title, value=len(table))
        exact = table.values
        if not logits and ((exact > 0) & (exact < np.finfo(np.float32).tiny)).any():  # would become 0
            with np.errstate(divide="ignore"):
                exact = np.log(exact)
            logits = True
        with np.errstate(over="ignore", under="ignore"):
            stored = exact.astype(np.float32)
        read_probabilities(stored, logits=logits, name=title).check()  # in the precision in which it will be read
        header = {"model": name, "failure": None, "classes": self.classes, "metadata": metadata or {}}
        write_arrays(path, {KIND_OF_VALUES[logits]: stored}, header)

    def record_failure(self, name: str, reason: str) -> None:
        """Keep why a model has no predictions, so that it is neither forgotten nor tried again."""
        write_arrays(self._file(name), {}, {"model": name, "failure": str(reason)})

    def forget_failures(self) -> None:
        """Let all models that failed be tried again."""
        for name in self.failures:
            self._file(name).unlink()

    def load(self, name: str) -> Prediction:
        """One model's predictions, float32."""
        try:
            arrays, header = read_arrays(self._file(name))
        except FileNotFoundError:
            fix = did_you_mean(name, self.models)
            problem = f"has no predictions of {name!r}"
            raise InputError(problem, argument="name", place=str(self.folder), value=name, fix=fix) from None
        if header["failure"] is not None:
            problem = f"has no predictions of {name!r}: it failed ({header['failure']})"
            raise InputError(problem, argument="name", place=str(self.folder), value=name)
        ((kind, values),) = arrays.items()
        names = header["classes"]
        if sorted(names) != sorted(self.classes) or values.shape != (len(self.truth), len(names)):
            problem = f"predicts {len(values)} cases of {', '.join(names)}, which are not those of the store"
            raise InputError(problem, place=str(self._file(name)), value=names, fix="delete it, and resume")
        columns = [names.index(name) for name in self.classes]
        return Prediction(values[:, columns], kind == KIND_OF_VALUES[True], header["metadata"])

    def probabilities(self, names: Iterable[str]) -> FloatArray:
        """Probabilities of some models, (M, N, K), in float64.

        Logits go through a softmax; rows that were stored as probabilities sum to 1 again, as they did before
        float32 took digits from them.
        """
        tables = []
        for name in names:
            prediction = self.load(name)
            odds = prediction.values.astype(np.float64)
            if prediction.logits:
                odds = np.exp(odds - odds.max(axis=1, keepdims=True))
            tables.append(odds / odds.sum(axis=1, keepdims=True))
        return np.stack(tables)

    def unfinished(self, names: Iterable[str]) -> list[str]:
        """Those that are still to be done: neither recorded as failed, nor here."""
        return [name for name in names if not self._file(name).exists()]

    def _file(self, name: str) -> Path:
        if not (name and isinstance(name, str)):
            problem = f"a model's name must be text, got {name!r}"
            raise InputTypeError(problem, argument="name", place="", value=name)
        return self.folder / file_name(name)


def file_name(model: str) -> str:
    """A file name for any text: readable, safe on every system, and of this model alone.

    The readable beginning may be the same for several models (``a/b`` and ``a:b``, ``A`` and ``a``); 128 bits of
    the name's SHA-256 tell them apart.

    Examples
    --------
    >>> file_name("ResNet/50.a1")
    'resnet-50.a1-2458897d82d89c0959e1e085bbd54cba.safetensors'
    """
    readable = re.sub(r"[^a-z0-9._]+", "-", model.lower()).strip("-._")[:60]
    unique = hashlib.sha256(model.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return f"{readable}-{unique}.safetensors" if readable else f"{unique}.safetensors"


def write_arrays(path: Path, arrays: Arrays, header: Plain) -> None:
    """A safetensors file of these arrays and of a dict; what JSON does not know becomes a number or its text."""
    text = json.dumps(header | {"schema": SCHEMA}, sort_keys=True, default=_json_value)
    arrays = {name: np.ascontiguousarray(values) for name, values in arrays.items()}
    content = import_optional("safetensors.numpy", extra="zoo").save(arrays, metadata={"about": text})
    write_atomically(path, content)


def _json_value(value: object) -> object:
    """An array or a number of NumPy as plain numbers, anything else as its text."""
    return value.tolist() if hasattr(value, "tolist") else str(value)


def read_arrays(path: Path, *, header_only: bool = False) -> tuple[Arrays, Plain]:
    """What `write_arrays` wrote, or the dict alone; a file that is not there is a `FileNotFoundError`."""
    library = import_optional("safetensors", extra="zoo")
    try:
        with library.safe_open(path, framework="numpy") as file:
            header = json.loads(file.metadata()["about"])
            schema = header.pop("schema", SCHEMA)
            if schema != SCHEMA:
                raise ValueError(f"it is of the kind {schema}, not {SCHEMA}")
            names = [] if header_only else file.keys()
            return {name: file.get_tensor(name) for name in names}, header
    except FileNotFoundError:
        raise
    except (library.SafetensorError, OSError, TypeError, KeyError, ValueError) as error:
        raise InputError(f"cannot be read ({error})", place=str(path), fix="delete it, and resume") from None


def number_resampled_groups(groups: ArrayLike | None, n_instances: int) -> IntArray | None:
    """Which group each instance belongs to, as numbers from 0, (N,); None where each is a group of its own."""
    if groups is None:
        return None
    names, numbers = np.unique(groups, return_inverse=True)
    if numbers.shape != (n_instances,):
        problem = f"has shape {numbers.shape}, but there are {n_instances} instances"
        raise InputError(problem, argument="groups", value=numbers.shape, fix="pass one each")
    if len(names) < 2:
        fix = "a resample needs at least two groups to draw from"
        raise InputError("are all the same", argument="groups", value=names.tolist(), fix=fix)
    return numbers.astype(np.intp)
