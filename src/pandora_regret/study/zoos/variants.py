"""A hundred real models from a handful of checkpoints: encoders x resolution x depth x pooling x probe."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import product
from typing import TYPE_CHECKING, Any

from pandora_regret.inputs import InputError
from pandora_regret.optional import import_optional
from pandora_regret.study.predicting import matches
from pandora_regret.study.vision.encoders import Weights, available, build, mean_and_std, parameters_of
from pandora_regret.study.vision.features import Encoder
from pandora_regret.study.zoos.image_models import ImageZoo, Recipe

if TYPE_CHECKING:
    import torch

    Tensors = dict[str, torch.Tensor]


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
    probes : list of tables
        Changes to the probe, each making further models: {epochs = 5}, {label_smoothing = 0.2}, {fraction = 0.1}.
        An empty table is the probe as it is.
    """

    resolutions: list[int] = field(default_factory=lambda: [224])
    depths: list[str] = field(default_factory=lambda: ["*"])
    poolings: list[str] = field(default_factory=lambda: ["avg", "max", "avg+max", "token"])
    probes: list[dict[str, Any]] = field(default_factory=lambda: [{}])

    def recipes(self) -> dict[str, Recipe]:
        """Every combination that the encoders have."""
        return dict(self._combinations())

    def encoder(self, name: str) -> Encoder:
        """One encoder at one resolution."""
        bare, resolution = name.split("@")
        weights, layout = self._weights(), _layout(bare, int(resolution))
        return Encoder(
            name,
            partial(build, bare, weights, int(resolution)),
            partial(_read, layout),
            tuple(f"{depth}/{pooling}" for depth in layout.depths for pooling in layout.poolings),
            int(resolution),
            *mean_and_std(bare, self.mean_std),
            partial(weights.digest, bare),
            parameters_of,
        )

    def _combinations(self) -> Iterator[tuple[str, Recipe]]:
        bare = available(self._weights(), tuple(self.models), self.max_parameters)
        for encoder, resolution in product(bare, self.resolutions):
            layout = _layout(encoder, resolution)
            depths = [depth for depth in layout.depths if matches(depth, self.depths)]
            for depth, pooling, changes in product(depths, self._poolings(layout), self.probes):
                outputs = tuple(f"{depth}/{part}" for part in pooling.split("+"))
                recipe = Recipe(f"{encoder}@{resolution}", outputs, self._probe(**changes))
                yield "/".join([recipe.encoder, depth, pooling, *_spelled(changes)]), recipe

    def _poolings(self, layout: _Layout) -> list[str]:
        """Those asked for that this encoder has."""
        unknown = {part for pooling in self.poolings for part in pooling.split("+")} - {"avg", "max", "token"}
        if unknown:
            raise InputError(f"poolings has {sorted(unknown)}: choose avg, max, token, or several joined by +.")
        return [pooling for pooling in self.poolings if set(pooling.split("+")) <= set(layout.poolings)]


@dataclass(frozen=True)
class _Layout:
    """What can be read from an encoder."""

    depths: tuple[str, ...]
    poolings: tuple[str, ...]


@lru_cache(maxsize=1024)
def _layout(name: str, resolution: int) -> _Layout:
    """Found by a pass on the meta device, which computes shapes only."""
    torch = import_optional("torch", extra="images")
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
    return _Layout(tuple(depths), ("avg", "max", *token))


def _read(layout: _Layout, network: Any, images: torch.Tensor) -> Tensors:
    """All depths and poolings of one pass."""
    with_tokens = {"return_prefix_tokens": True} if "token" in layout.poolings else {}
    end, maps = network.forward_intermediates(images, norm=True, **with_tokens)
    if "end" in layout.depths:
        maps = [*maps, end]
    features: Tensors = {}
    for depth, seen in zip(layout.depths, maps, strict=True):
        spatial, tokens = seen if with_tokens else (seen, None)
        features |= {f"{depth}/avg": spatial.mean((2, 3)), f"{depth}/max": spatial.amax((2, 3))}
        if tokens is not None:
            features[f"{depth}/token"] = tokens[:, 0]
    return features


def _spelled(changes: dict[str, Any]) -> list[str]:
    """A probe's changes as the last part of a model's name."""
    return [",".join(f"{key}={value}" for key, value in changes.items())] if changes else []
