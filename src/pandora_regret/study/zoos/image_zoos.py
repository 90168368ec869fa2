"""Zoos of image models: frozen encoders look at images, linear probes predict from what they see.

`TimmZoo` is the paper's: every pretrained timm model of moderate size. `VariantsZoo` makes a hundred real models
from a handful of checkpoints: encoders x resolution x depth x pooling x probe.
"""

from __future__ import annotations

import sys
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache, partial
from itertools import product
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pandora_regret.costs import available_costs, load_costs
from pandora_regret.inputs import InputError, IntArray
from pandora_regret.optional import MissingLibraryError
from pandora_regret.study.predicting import Outcome, matches
from pandora_regret.study.store import Names, Plain, Prediction, Target
from pandora_regret.study.zoos.encoders import (
    Encoder,
    Features,
    Machine,
    Weights,
    available,
    build,
    build_with_average,
    extract,
    library,
    mean_and_std,
    timm,
)


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
    made = getattr(library("medmnist"), official(name)["python_class"])
    place = {"root": str(Path(folder).resolve())} if folder else {}
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
    root = made(split="val", download=True, size=size, **place).root  # the smallest split
    return Path(root) / (f"{name}.npz" if size == 28 else f"{name}_{size}.npz")


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


if TYPE_CHECKING:
    from torch import Tensor

    Tensors = dict[str, Tensor]


@dataclass(frozen=True)
class Recipe:
    """One model: a probe on some of the features that one encoder gives, side by side."""

    encoder: str
    outputs: Names


@dataclass
class ImageZoo:
    """Linear probes on frozen encoders; what it contains is said by its kinds, which give recipes and encoders.

    Parameters
    ----------
    images : str
        An npz file in MedMNIST's layout, or the name of a MedMNIST data set, to be downloaded.
    size : int
        Which of MedMNIST's sizes to download.
    folder : str
        Where it is downloaded to; medmnist's own folder by default.
    classes : list of str
        Names in label order, where the file's name does not say them.
    train_cap : int
        At most so many training images, chosen by the seed.
    weights : str
        "hub", "random", or a folder of files named <architecture>.<tag>.safetensors.
    models : list of str
        Names of encoders, or patterns; all by default.
    max_parameters : int
        Larger encoders are left out.
    mean_std : str
        What inputs are normalised with: "imagenet", or each encoder's "own".
    device, precision : str
        "auto": the GPU in float16 by autocast, or else the CPU in float32.
    standardise : bool
        Whether probes see standardised features; the paper's see them as they are.
    seed : int
    """

    images: str
    size: int = 224
    folder: str = ""
    classes: list[str] = field(default_factory=list)
    train_cap: int = 10_000
    weights: str = "hub"
    models: list[str] = field(default_factory=lambda: ["*"])
    max_parameters: int = 50_000_000
    mean_std: str = "imagenet"
    device: str = "auto"
    precision: str = "auto"
    standardise: bool = False
    seed: int = 42

    most_jobs: ClassVar[int | None] = 1  # which has the device to itself

    def recipes(self) -> dict[str, Recipe]:
        """The models by name, always in the same order."""
        raise NotImplementedError

    def encoder(self, name: str) -> Encoder:
        """One of the recipes' encoders."""
        raise NotImplementedError

    def target(self) -> Target:
        """The test split."""
        data = self.data()
        return Target(data.truth, data.classes)

    def names(self) -> list[str]:
        return list(self.recipes())

    def batches(self, names: Sequence[str]) -> list[list[str]]:
        """Models on the same encoder belong together: it looks at the images once."""
        recipes = self.recipes()
        groups: dict[str, list[str]] = {}
        for name in names:
            groups.setdefault(recipes[name].encoder, []).append(name)
        return list(groups.values())

    def predict(self, names: Sequence[str]) -> Iterator[Outcome]:
        recipes, data, batches = self.recipes(), self.data(), self.batches(names)
        encoders = (self.encoder(recipes[batch[0]].encoder) for batch in batches)
        for batch, features in zip(batches, extract(encoders, data.pixels, self._machine()), strict=True):
            for name in batch:
                yield self._outcome(name, recipes[name], features, data)

    def about(self) -> Plain:
        timm()  # so that a study begins only where its models can be built
        machine, libraries = self._machine(), ("torch", "timm", "numpy", "medmnist")
        return {
            "zoo": type(self).__name__,
            "settings": asdict(self),
            "device": machine.device,
            "precision": machine.precision,
            "versions": {name: sys.modules[name].__version__ for name in libraries if name in sys.modules},
        }

    def _outcome(self, name: str, recipe: Recipe, features: Features, data: ImageData) -> Outcome:
        if features.failure:
            return Outcome(name, failure=features.failure)
        torch, start = library("torch"), time.perf_counter()
        n, encoder = data.n_train, features.encoder
        try:
            values = torch.cat([features.values[output] for output in recipe.outputs], dim=1)
            if not values.isfinite().all():
                raise ArithmeticError("the encoder gives features that are not finite")
            labels = torch.as_tensor(data.labels[:n], device=values.device)
            split = values[:n], labels, values[n:], len(data.classes)
            logits = probe_logits(*split, standardise=self.standardise, seed=self.seed).cpu()
            if not logits.isfinite().all():
                raise ArithmeticError("the probe gives predictions that are not finite")
        except Exception as error:  # whatever is wrong with this model, the others go on
            return Outcome(name, failure=f"{type(error).__name__}: {error}")
        details = {
            "encoder": encoder.name,
            "width": values.shape[1],
            "input_size": encoder.resolution,
            "seconds": features.seconds + time.perf_counter() - start,
            "images_per_second": len(values) / features.seconds if features.seconds > 0 else None,
        }
        return Outcome(name, Prediction(logits.numpy(), logits=True, metadata=details | features.about))

    def _encoder(self, name: str, build: Callable[..., Any], resolution: int, read: Any, outputs: Any) -> Encoder:
        bare, weights = name.partition("@")[0], Weights(self.weights, self.seed)
        built, digest = partial(build, bare, weights, resolution), partial(weights.digest, bare)
        return Encoder(name, built, read, outputs, resolution, *mean_and_std(bare, self.mean_std), digest)

    def _machine(self) -> Machine:
        return Machine(self.device, self.precision)

    def data(self) -> ImageData:
        """The images."""
        options = {name: getattr(self, name) for name in ("size", "folder", "train_cap", "seed")}
        return load_images(self.images, classes=tuple(self.classes), **options)


@dataclass
class TimmZoo(ImageZoo):
    """Pretrained timm models that take images of 224 x 224 and have at most 50 million parameters.

    With weights from a folder, the models are those whose files lie there, whatever size they were made for.

    Parameters
    ----------
    resolution : int
        Of the images that the encoders see.
    """

    resolution: int = 224

    def recipes(self) -> dict[str, Recipe]:
        """One model for each encoder."""
        names = available(Weights(self.weights), self.models, self.max_parameters, made_for_224=True)
        return {name: Recipe(name, ("features",)) for name in names}

    def encoder(self, name: str) -> Encoder:
        return self._encoder(
            name,
            build_with_average,
            self.resolution,
            lambda network, images: {"features": network(images)},
            ("features",),
        )


@dataclass
class VariantsZoo(ImageZoo):
    """Linear probes on what encoders see at several depths, at several resolutions, pooled in several ways.

    A model's name says it all: "vit_small_patch16_224.augreg_in1k@112/block6/avg". One pass of an encoder at one
    resolution gives all of its depths and poolings.

    Parameters
    ----------
    resolutions : list of int
        What the images are resized to. Transformers take multiples of their patch.
    depths : list of str
        Names or patterns: stage1, stage2, ... of a convolutional network, and its `end` where that is another
        layer still; block1, block2, ... of a transformer, each through the final norm. All by default.
    poolings : list of str
        "avg" and "max" over the image, "token" for the class token of a transformer that has one; with + side by
        side, as in "avg+max".
    """

    resolutions: list[int] = field(default_factory=lambda: [224])
    depths: list[str] = field(default_factory=lambda: ["*"])
    poolings: list[str] = field(default_factory=lambda: ["avg", "max", "avg+max", "token"])

    def recipes(self) -> dict[str, Recipe]:
        """Every combination that the encoders have."""
        unknown = {part for pooling in self.poolings for part in pooling.split("+")} - {"avg", "max", "token"}
        if unknown:
            raise InputError(f"poolings has {sorted(unknown)}: choose avg, max, token, or several joined by +.")
        recipes = {}
        bare = available(Weights(self.weights), self.models, self.max_parameters)
        for encoder, resolution in product(bare, self.resolutions):
            (depths, parts), name = _layout(encoder, resolution), f"{encoder}@{resolution}"
            poolings = [pooling for pooling in self.poolings if set(pooling.split("+")) <= set(parts)]
            for depth, pooling in product((depth for depth in depths if matches(depth, self.depths)), poolings):
                outputs = tuple(f"{depth}/{part}" for part in pooling.split("+"))
                recipes[f"{name}/{depth}/{pooling}"] = Recipe(name, outputs)
        return recipes

    def encoder(self, name: str) -> Encoder:
        """One encoder at one resolution."""
        bare, _, resolution = name.partition("@")
        layout = _layout(bare, int(resolution))
        outputs = tuple("/".join(parts) for parts in product(*layout))
        return self._encoder(name, build, int(resolution), partial(_read_depths, *layout), outputs)


@lru_cache(maxsize=1024)
def _layout(name: str, resolution: int) -> tuple[Names, Names]:
    """The depths and poolings of an encoder, found by a pass on the meta device, which computes shapes only."""
    torch = library("torch")
    try:
        with torch.device("meta"), torch.no_grad():
            network = build(name, Weights("random"), resolution).eval()
            end, maps = network.forward_intermediates(torch.empty(1, 3, resolution, resolution))
    except (AttributeError, AssertionError, RuntimeError, TypeError, ValueError) as error:
        raise InputError(
            f"{name} cannot be read at several depths at resolution {resolution} ({error}): "
            "leave it out by models, or choose another resolution."
        ) from None
    unit = "block" if hasattr(network, "num_prefix_tokens") else "stage"
    depths = [f"{unit}{number}" for number in range(1, len(maps) + 1)]
    if end.ndim == 4 and end.shape[2:] == maps[-1].shape[2:] and end.shape[1] != maps[-1].shape[1]:
        depths.append("end")  # a last layer that the stages do not include
    token = ("token",) if getattr(network, "has_class_token", False) else ()
    return tuple(depths), ("avg", "max", *token)


def _read_depths(depths: Names, poolings: Names, network: Any, images: Tensor) -> Tensors:
    """All depths and poolings of one pass."""
    with_tokens = {"return_prefix_tokens": True} if "token" in poolings else {}
    end, maps = network.forward_intermediates(images, norm=True, **with_tokens)
    if "end" in depths:
        maps = [*maps, end]
    features: Tensors = {}
    for depth, seen in zip(depths, maps, strict=True):
        spatial, tokens = seen if with_tokens else (seen, None)
        features |= {f"{depth}/avg": spatial.mean((2, 3)), f"{depth}/max": spatial.amax((2, 3))}
        if tokens is not None:
            features[f"{depth}/token"] = tokens[:, 0]
    return features


def probe_logits(
    train: Tensor,
    labels: Tensor,
    test: Tensor,
    n_classes: int,
    *,
    standardise: bool = False,
    seed: int = 42,
) -> Tensor:
    """What a linear head predicts for some features after one epoch of AdamW on others, as in the paper.

    Logits are (m, n_classes). Features are (n, D) and (m, D), labels (n,), all on one device. Where they are
    standardised, it is by the mean and the spread of those trained on.
    """
    torch = library("torch")
    train, test, (n, width) = train.float(), test.float(), train.shape
    if standardise:
        mean, spread = train.mean(0), train.std(0).clamp_min(1e-6)
        train, test = (train - mean) / spread, (test - mean) / spread
    chance = torch.Generator().manual_seed(seed)  # of the CPU: the same draws on every device
    head = torch.nn.utils.skip_init(torch.nn.Linear, width, n_classes)
    for parameter in (head.weight, head.bias):  # torch's usual first weights
        torch.nn.init.uniform_(parameter, -1 / sqrt(width), 1 / sqrt(width), generator=chance)
    head = head.to(train.device)
    optimiser = torch.optim.AdamW(head.parameters(), 1e-3, weight_decay=1e-4, fused=True)
    for rows in torch.randperm(n, generator=chance).to(train.device).split(64):
        torch.nn.functional.cross_entropy(head(train[rows]), labels[rows]).backward()
        optimiser.step()
        optimiser.zero_grad()
    with torch.no_grad():
        return head(test)  # type: ignore[no-any-return]
