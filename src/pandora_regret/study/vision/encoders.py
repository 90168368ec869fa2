"""Pretrained image encoders of the timm library: which there are, and how each is built and described."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pandora_regret.inputs import InputError, read_choice
from pandora_regret.optional import import_optional
from pandora_regret.study.predicting import matches

IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))  # mean and standard deviation of its channels
MEAN_STD = {"imagenet": "ImageNet's", "own": "what the encoder was trained with"}
SUFFIX = ".safetensors"


def timm() -> Any:
    """The library."""
    return import_optional("timm", extra="images")


@dataclass(frozen=True)
class Weights:
    """Where weights come from: "hub", "random", or a folder of files named <architecture>.<tag>.safetensors."""

    place: str = "hub"
    seed: int = 42  # of random weights

    @property
    def is_folder(self) -> bool:
        """Whether the weights are local files."""
        return self.place not in ("hub", "random")

    def file(self, name: str) -> Path:
        """The local file of one encoder."""
        return Path(self.place) / f"{name}{SUFFIX}"

    @cache  # reading a large file takes a while  # noqa: B019
    def digest(self, name: str) -> str:
        """What the weights are, for the cache of features."""
        if not self.is_folder:
            return f"{self.place} {self.seed}" if self.place == "random" else f"timm {timm().__version__} {name}"
        with self.file(name).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def names(self) -> list[str]:
        """The encoders whose weights lie in the folder, or all that timm has weights for, sorted."""
        if not self.is_folder:
            return sorted(timm().list_models(pretrained=True))
        if not Path(self.place).is_dir():
            raise InputError(
                f'weights is {self.place!r}: it must be "hub", "random" or a folder of {SUFFIX} files.'
            )
        stems = sorted(path.name.removesuffix(SUFFIX) for path in Path(self.place).glob(f"*{SUFFIX}"))
        return [stem for stem in stems if timm().is_model(architecture(stem))]


def architecture(name: str) -> str:
    """The part of a name that says what is built; the rest says which weights.

    Examples
    --------
    >>> architecture("mobilenetv2_100.ra_in1k")
    'mobilenetv2_100'
    """
    return name.split(".")[0]


def registered(name: str) -> str:
    """The name under which timm knows the encoder: its architecture, where the weights are the user's own."""
    return name if timm().models.is_model_pretrained(name) else architecture(name)


def pretrained_config(name: str) -> Any:
    """What timm knows of a pretrained encoder: input size, mean, standard deviation, classes."""
    return timm().get_pretrained_cfg(registered(name))


@cache
def count_parameters(name: str) -> int:
    """Parameters of the network as published, its classifier included, counted without allocating any."""
    with import_optional("torch", extra="images").device("meta"):
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
    wanted, size = tuple(patterns), (3, resolution, resolution)
    of_any_size = weights.is_folder or resolution is None
    named = (name for name in weights.names() if matches(name, wanted))
    fitting = (name for name in named if of_any_size or pretrained_config(name).input_size == size)
    names = [name for name in fitting if count_parameters(name) <= max_parameters]
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
        import_optional("torch", extra="images").manual_seed(weights.seed)
    if weights.is_folder:  # custom_load would expect the format that was published first, not this file
        options["pretrained_cfg_overlay"] = {"file": str(weights.file(name)), "custom_load": False}
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


def parameters_of(network: Any) -> dict[str, Any]:
    """How large the encoder is without a classifier."""
    return {"parameters": sum(parameter.numel() for parameter in network.parameters())}
