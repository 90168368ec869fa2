"""What zoos of image models share: frozen encoders look at images, linear probes predict from what they see."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pandora_regret.inputs import InputError
from pandora_regret.optional import import_optional
from pandora_regret.study.predicting import Outcome
from pandora_regret.study.store import Prediction, Target
from pandora_regret.study.vision.encoders import Weights
from pandora_regret.study.vision.feature_cache import FeatureCache
from pandora_regret.study.vision.features import Encoder, Features, Machine, extract
from pandora_regret.study.vision.images import ImageData, load_images
from pandora_regret.study.vision.probes import Probe

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Recipe:
    """One model: a probe on some of the features that one encoder gives, side by side."""

    encoder: str
    outputs: tuple[str, ...]
    probe: Probe


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
    interpolation : str
        "bilinear" or "bicubic": how images are brought to the encoder's resolution.
    device, precision : str
        "auto": the GPU in float16 by autocast, or else the CPU in float32.
    largest_batch : int
        Images of 224 x 224 at once; 0 leaves it to the device.
    cache : str
        A folder for features; none are kept by default.
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
    interpolation: str = "bilinear"
    device: str = "auto"
    precision: str = "auto"
    largest_batch: int = 0
    cache: str = ""
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
        data = self._data()
        return Target(data.truth, data.classes)

    def names(self) -> list[str]:
        return list(self.recipes())

    def batches(self, names: Sequence[str]) -> list[list[str]]:
        """Models on the same encoder belong together: it looks at the images once."""
        return list(self._by_encoder(names).values())

    def predict(self, names: Sequence[str]) -> Iterator[Outcome]:
        recipes, data, groups = self.recipes(), self._data(), self._by_encoder(names)
        machine = self._machine()
        encoders = (self.encoder(name) for name in groups)
        for features in extract(encoders, data.pixels, machine, self._cache(data, machine)):
            for name in groups[features.encoder.name]:
                yield self._outcome(name, recipes[name], features, data)

    def about(self) -> dict[str, Any]:
        machine = self._machine()
        return {
            "zoo": type(self).__name__,
            "settings": asdict(self),
            "device": machine.device,
            "precision": machine.precision,
            "versions": {library: _version(library) for library in ("torch", "timm", "numpy", "medmnist")},
        }

    def _by_encoder(self, names: Sequence[str]) -> dict[str, list[str]]:
        recipes = self.recipes()
        groups: dict[str, list[str]] = {}
        for name in names:
            if name not in recipes:
                raise InputError(f"{name!r} is not a model of this zoo; its names() are those that are.")
            groups.setdefault(recipes[name].encoder, []).append(name)
        return groups

    def _outcome(self, name: str, recipe: Recipe, features: Features, data: ImageData) -> Outcome:
        if features.failure:
            return Outcome(name, failure=features.failure)
        try:
            return Outcome(name, self._prediction(recipe, features, data))
        except Exception as error:  # whatever is wrong with this model, the others go on
            return Outcome(name, failure=f"{type(error).__name__}: {error}")

    def _prediction(self, recipe: Recipe, features: Features, data: ImageData) -> Prediction:
        start = time.perf_counter()
        values = import_optional("torch", extra="images").cat(
            [features.values[output] for output in recipe.outputs], dim=1
        )
        if not values.isfinite().all():
            raise ArithmeticError("the encoder gives features that are not finite")
        logits = _probed(recipe.probe, values, data).cpu()
        if not logits.isfinite().all():
            raise ArithmeticError("the probe gives predictions that are not finite")
        details = self._details(recipe, features, values.shape[1], time.perf_counter() - start)
        return Prediction(logits.numpy(), logits=True, metadata=details)

    def _details(self, recipe: Recipe, features: Features, width: int, seconds: float) -> dict[str, Any]:
        encoder = features.encoder
        return {
            "encoder": encoder.name,
            "features": list(recipe.outputs),
            "width": width,
            "input_size": encoder.resolution,
            "mean": list(encoder.mean),
            "std": list(encoder.std),
            "probe": asdict(recipe.probe),
            "seed": self.seed,
            "batch": features.batch,
            "seconds_features": features.seconds,
            "seconds": features.seconds + seconds,
            "images_per_second": features.images_per_second,
        } | features.about

    def _probe(self, **changes: Any) -> Probe:
        return Probe(**{"standardise": self.standardise, "seed": self.seed} | changes)

    def _weights(self) -> Weights:
        return Weights(self.weights, self.seed)

    def _machine(self) -> Machine:
        return Machine(self.device, self.precision, self.interpolation, self.largest_batch).found()

    def _cache(self, data: ImageData, machine: Machine) -> FeatureCache | None:
        seen = f"{machine.precision} {machine.interpolation}"
        return FeatureCache(Path(self.cache), data.digest, seen) if self.cache else None

    def _data(self) -> ImageData:
        return load_images(
            self.images,
            size=self.size,
            folder=self.folder,
            classes=tuple(self.classes),
            train_cap=self.train_cap,
            seed=self.seed,
        )


def _probed(probe: Probe, values: torch.Tensor, data: ImageData) -> torch.Tensor:
    torch = import_optional("torch", extra="images")
    labels = torch.as_tensor(data.labels[: data.n_train], device=values.device)
    return probe.logits(values[: data.n_train], labels, values[data.n_train :], len(data.classes))


def _version(library: str) -> str | None:
    try:
        return version(library)
    except PackageNotFoundError:
        return None
