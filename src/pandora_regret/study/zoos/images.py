"""Image data sets in MedMNIST's layout: downloaded by the `medmnist` package, or from any local npz file."""

import hashlib
import zipfile
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandora_regret.costs import available_costs, load_costs
from pandora_regret.inputs import InputError, IntArray
from pandora_regret.optional import MissingLibraryError
from pandora_regret.study.store import Names
from pandora_regret.study.zoos.encoders import library


@dataclass(frozen=True)
class ImageData:
    """Images to learn from and images to predict, one after the other, with their classes."""

    pixels: NDArray[np.uint8]  # (N, H, W, C), C = 1 or 3
    labels: IntArray  # (N,)
    n_train: int  # the first so many are to learn from
    classes: Names

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
    classes: Names = (),
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
    kept = np.arange(len(train_labels))
    if len(kept) > train_cap:
        kept = np.sort(np.random.default_rng(seed).choice(len(kept), size=train_cap, replace=False))
    labels = np.concatenate([train_labels[kept], test_labels])
    pixels = np.concatenate([train_images[kept], test_images])
    return ImageData(pixels, labels, len(kept), _class_names(classes, path, int(labels.max()) + 1))


def _download(name: str, size: int, folder: str) -> Path:
    """The npz file of a MedMNIST data set, downloaded unless it is there."""
    medmnist, python_class = library("medmnist"), official(name)["python_class"]
    place = {"root": str(Path(folder).resolve())} if folder else {}
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
    dataset = getattr(medmnist, python_class)(split="val", download=True, size=size, **place)  # the smallest
    return Path(dataset.root) / (f"{name}.npz" if size == 28 else f"{name}_{size}.npz")


def official(name: str) -> Any:
    """What the `medmnist` package knows of a data set."""
    info = library("medmnist").INFO
    if name not in info:
        names = ", ".join(sorted(info))
        raise InputError(f"images is {name!r}, neither an npz file nor a MedMNIST data set: those are {names}.")
    return info[name]


def _read_split(path: Path, split: str) -> tuple[NDArray[np.uint8], IntArray]:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            images, labels = arrays[f"{split}_images"], arrays[f"{split}_labels"]
    except FileNotFoundError:
        raise InputError(f"images is {str(path)!r}, and there is no such file.") from None
    except (KeyError, ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        what = f"npz with {split}_images, {split}_labels"
        raise InputError(f"{path} is not MedMNIST's layout ({what}): {error}.") from None
    pixels, n = images[..., None] if images.ndim == 3 else images, len(images)
    if images.dtype != np.uint8 or pixels.ndim != 4 or pixels.shape[3] not in (1, 3):
        raise InputError(
            f"{split}_images of {path} must be bytes of shape (N, H, W), (N, H, W, 1) or (N, H, W, 3), "
            f"got {images.dtype} of shape {images.shape}."
        )
    if labels.shape not in ((n,), (n, 1)) or labels.dtype.kind not in "iu" or (labels < 0).any() or n == 0:
        raise InputError(
            f"{split}_labels of {path} must be whole numbers from 0, one for each of {n} images (at least one), "
            f"got {labels.dtype} of shape {labels.shape}: several labels per image cannot be searched for."
        )
    return pixels, labels.reshape(n).astype(np.intp)


def _class_names(asked: Names, path: Path, at_least: int) -> Names:
    """The names asked for, or those of the shipped pathways, so that costs fit, or MedMNIST's, or numbers."""
    name, names = path.stem.split("_")[0], asked
    if not names and name in available_costs():
        names = load_costs(name).classes
    if not names:
        try:
            names = tuple(official(name)["label"].values())
        except (MissingLibraryError, InputError):
            names = tuple(map(str, range(at_least)))
    if len(names) < at_least:
        raise InputError(
            f"{path} has labels up to {at_least - 1}, but only {len(names)} classes are named: {names}."
        )
    return names
