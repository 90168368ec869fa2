"""Image data sets in MedMNIST's layout: downloaded by the `medmnist` package, or from any local npz file."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandora_regret.costs import available_costs, load_costs
from pandora_regret.inputs import InputError, IntArray
from pandora_regret.optional import MissingLibraryError, import_optional


@dataclass(frozen=True)
class ImageData:
    """Images to learn from and images to predict, one after the other, with their classes."""

    pixels: NDArray[np.uint8]  # (N, H, W, C), C = 1 or 3
    labels: IntArray  # (N,)
    n_train: int  # the first so many are to learn from
    classes: tuple[str, ...]

    @property
    def truth(self) -> IntArray:
        """The classes of the images to predict."""
        return self.labels[self.n_train :]

    @cached_property
    def digest(self) -> str:
        """What the images are, in one line."""
        shape = f"{self.pixels.shape} {self.n_train};".encode()
        return hashlib.sha256(shape + hashlib.sha256(self.pixels.data).digest()).hexdigest()


@lru_cache(maxsize=1)  # a worker predicts many batches of models on the same images
def load_images(
    source: str,
    *,
    size: int = 224,
    folder: str = "",
    classes: tuple[str, ...] = (),
    train_cap: int = 10_000,
    seed: int = 42,
) -> ImageData:
    """Read a data set: its training split, capped, and its test split.

    Parameters
    ----------
    source : str
        An npz file with {train,test}_{images,labels}, or the name of a MedMNIST data set such as "dermamnist".
    size : int
        Which of MedMNIST's sizes to download; a local file has its own.
    folder : str
        Where downloads go; medmnist's own folder by default.
    classes : tuple of str
        Names in label order; by default those of the shipped pathway file, or MedMNIST's.
    train_cap : int
        A larger training split is cut down to a random subset of this size.
    seed : int
        Of that subset: the same seed, the same images.

    Returns
    -------
    ImageData
    """
    path = Path(source) if source.endswith(".npz") else _download(source, size, folder)
    train_images, train_labels = _read_split(path, "train")
    test_images, test_labels = _read_split(path, "test")
    kept = _capped(len(train_labels), train_cap, seed)
    labels = np.concatenate([train_labels[kept], test_labels])
    pixels = np.concatenate([train_images[kept], test_images])
    return ImageData(pixels, labels, len(kept), _class_names(classes, path, int(labels.max()) + 1))


def _download(name: str, size: int, folder: str) -> Path:
    """The npz file of a MedMNIST data set, downloaded unless it is there."""
    medmnist = import_optional("medmnist", extra="images")
    if name not in medmnist.INFO:
        known = ", ".join(sorted(medmnist.INFO))
        raise InputError(f"images is {name!r}, neither an npz file nor a MedMNIST data set: those are {known}.")
    place = {"root": str(Path(folder).resolve())} if folder else {}
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
    dataset_class = getattr(medmnist, medmnist.INFO[name]["python_class"])
    dataset = dataset_class(split="val", download=True, size=size, **place)  # its smallest: the file is read here
    return Path(dataset.root) / (f"{name}.npz" if size == 28 else f"{name}_{size}.npz")


def _read_split(path: Path, split: str) -> tuple[NDArray[np.uint8], IntArray]:
    images_key, labels_key = f"{split}_images", f"{split}_labels"
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            images, labels = arrays[images_key], arrays[labels_key]
    except FileNotFoundError:
        raise InputError(f"images is {str(path)!r}, and there is no such file.") from None
    except (KeyError, ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        what = f"npz with {images_key}, {labels_key}"
        raise InputError(f"{path} is not MedMNIST's layout ({what}): {error}.") from None
    pixels = _read_pixels(images, f"{images_key} of {path}")
    return pixels, _read_labels(labels, len(images), f"{labels_key} of {path}")


def _read_pixels(images: NDArray[Any], name: str) -> NDArray[np.uint8]:
    with_channels = images[..., None] if images.ndim == 3 else images
    if images.dtype != np.uint8 or with_channels.ndim != 4 or with_channels.shape[3] not in (1, 3):
        raise InputError(
            f"{name} must be bytes of shape (N, H, W), (N, H, W, 1) or (N, H, W, 3), "
            f"got {images.dtype} of shape {images.shape}."
        )
    return with_channels


def _read_labels(labels: NDArray[Any], n: int, name: str) -> IntArray:
    if labels.shape not in ((n,), (n, 1)) or labels.dtype.kind not in "iu" or (labels < 0).any() or n == 0:
        raise InputError(
            f"{name} must be whole numbers from 0, one for each of {n} images (at least one), "
            f"got {labels.dtype} of shape {labels.shape}: several labels per image cannot be searched for."
        )
    return labels.reshape(n).astype(np.intp)


def _class_names(asked: Sequence[str], path: Path, at_least: int) -> tuple[str, ...]:
    """The names asked for, or those of the shipped pathways, so that costs fit, or MedMNIST's, or numbers."""
    name = path.stem.split("_")[0]
    pathway = load_costs(name).classes if name in available_costs() else ()
    names = tuple(asked) or pathway or _medmnist_classes(name) or tuple(map(str, range(at_least)))
    if len(names) < at_least:
        raise InputError(
            f"{path} has labels up to {at_least - 1}, but only {len(names)} classes are named: {names}."
        )
    return names


def _medmnist_classes(name: str) -> tuple[str, ...]:
    try:
        info = import_optional("medmnist", extra="images").INFO
    except MissingLibraryError:
        return ()
    return tuple(info[name]["label"].values()) if name in info else ()


def _capped(n: int, cap: int, seed: int) -> IntArray:
    """Which training images are used, in their order."""
    if n <= cap:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, size=cap, replace=False))
