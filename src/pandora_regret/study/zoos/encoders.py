"""Pretrained image encoders of the timm library: which there are, and how each is built."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from pandora_regret.inputs import InputError, read_choice
from pandora_regret.optional import import_optional
from pandora_regret.study.predicting import matches

IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))  # mean and standard deviation of its channels
MEAN_STD = {"imagenet": "ImageNet's", "own": "what the encoder was trained with"}
SUFFIX = ".safetensors"


library = partial(import_optional, extra="images")
timm = partial(library, "timm")


@dataclass(frozen=True)
class Weights:
    """Where weights come from: "hub", "random", or a folder of files named <architecture>.<tag>.safetensors."""

    place: str = "hub"
    seed: int = 42  # of random weights

    @property
    def folder(self) -> Path | None:
        """Where the weights are local files."""
        return None if self.place in ("hub", "random") else Path(self.place)

    @cache  # reading a large file takes a while  # noqa: B019
    def digest(self, name: str) -> str:
        """What the weights are, for the cache of features."""
        if self.folder is None:
            return f"{self.place} {self.seed}" if self.place == "random" else f"timm {timm().__version__} {name}"
        with (self.folder / f"{name}{SUFFIX}").open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()


def registered(name: str) -> str:
    """The name under which timm knows the encoder: its architecture, where the weights are the user's own."""
    return name if timm().models.is_model_pretrained(name) else name.split(".")[0]


def pretrained_config(name: str) -> Any:
    """What timm knows of a pretrained encoder: input size, mean, standard deviation, classes."""
    return timm().get_pretrained_cfg(registered(name))


@cache
def count_parameters(name: str) -> int:
    """Parameters of the network as published, its classifier included, counted without allocating any."""
    with library("torch").device("meta"):
        network = timm().create_model(registered(name))
    return sum(parameter.numel() for parameter in network.parameters())


def available(
    weights: Weights,
    patterns: Iterable[str] = ("*",),
    max_parameters: int = 50_000_000,
    resolution: int | None = None,
) -> list[str]:
    """The encoders of these names, or that fit these patterns, that are not too large, sorted.

    Where a resolution is given, timm's own are those made for three-channel images of it; a folder's are of any.
    """
    folder, wanted, size = weights.folder, tuple(patterns), (3, resolution, resolution)
    if folder is None:
        names = sorted(timm().list_models(pretrained=True))
    elif folder.is_dir():
        stems = sorted(path.name.removesuffix(SUFFIX) for path in folder.glob(f"*{SUFFIX}"))
        names = [stem for stem in stems if timm().is_model(stem.split(".")[0])]
    else:
        raise InputError(
            f'weights is {weights.place!r}: it must be "hub", "random" or a folder of {SUFFIX} files.'
        )
    names = [name for name in names if matches(name, wanted)]
    if folder is None and resolution is not None:
        names = [name for name in names if pretrained_config(name).input_size == size]
    names = [name for name in names if count_parameters(name) <= max_parameters]
    if not names:
        raise InputError(f"models is {list(wanted)}: {weights.place} has no encoder of such a name and size.")
    return names


def mean_and_std(name: str, choice: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Of the channels: ImageNet's, or those that the encoder was trained with."""
    read_choice(choice, "mean_std", MEAN_STD)
    config = pretrained_config(name)
    return IMAGENET if choice == "imagenet" else (tuple(config.mean), tuple(config.std))


def build(name: str, weights: Weights, resolution: int, **options: Any) -> Any:
    """The network without its classifier, through timm's own way of loading."""
    config = pretrained_config(name)
    if config.fixed_input_size and tuple(config.input_size[1:]) != (resolution, resolution):
        options["img_size"] = resolution
    if weights.place == "random":
        library("torch").manual_seed(weights.seed)
    if weights.folder is not None:  # custom_load would expect the format that was published first, not this file
        file = weights.folder / f"{name}{SUFFIX}"
        options["pretrained_cfg_overlay"] = {"file": str(file), "custom_load": False}
    built = name if weights.place == "hub" else registered(name)
    return timm().create_model(built, pretrained=weights.place != "random", num_classes=0, **options)


def build_with_average(name: str, weights: Weights, resolution: int) -> Any:
    """The network with average pooling, or with its own where it rejects that."""
    try:
        network = build(name, weights, resolution, global_pool="avg")
        network.pooled_by = "avg"
    except (AssertionError, KeyError, RuntimeError, TypeError, ValueError) as error:
        if isinstance(error, RuntimeError) and "state_dict" not in str(error):  # not about pooling
            raise
        network = build(name, weights, resolution)
        network.pooled_by = "own"
    return network
