"""The paper's zoo: every pretrained timm model of moderate size, frozen, with a linear probe."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pandora_regret.study.predicting import matches
from pandora_regret.study.vision.encoders import (
    Weights,
    available,
    build_with_average,
    mean_and_std,
    parameters_of,
    read_candidates,
    save_candidates,
    timm_version,
)
from pandora_regret.study.vision.features import Encoder
from pandora_regret.study.zoos.image_models import ImageZoo, Recipe

if TYPE_CHECKING:
    import torch


@dataclass
class TimmZoo(ImageZoo):
    """Pretrained timm models that take images of 224 x 224 and have at most 50 million parameters.

    With weights from a folder, the models are those whose files lie there, whatever size they were made for.

    Parameters
    ----------
    resolution : int
        Of the images that the encoders see.
    model_list : str
        A file that keeps the list of models: read if it is there, else written, with the version of timm.
    """

    resolution: int = 224
    model_list: str = ""

    def recipes(self) -> dict[str, Recipe]:
        """One model for each encoder."""
        return {name: Recipe(name, ("features",), self._probe()) for name in self.encoders()}

    def encoders(self) -> list[str]:
        return list(_encoders(self.weights, tuple(self.models), self.max_parameters, self.model_list))

    def encoder(self, name: str) -> Encoder:
        weights = self._weights()
        return Encoder(
            name,
            partial(build_with_average, name, weights, self.resolution),
            _pooled,
            ("features",),
            self.resolution,
            *mean_and_std(name, self.mean_std),
            partial(weights.digest, name),
            _described,
        )

    def about(self) -> dict[str, Any]:
        return super().about() | {"timm": timm_version(), "models": self.encoders()}


@cache  # counting the parameters of hundreds of architectures takes a minute
def _encoders(weights: str, patterns: tuple[str, ...], max_parameters: int, model_list: str) -> tuple[str, ...]:
    if not model_list:
        return tuple(available(Weights(weights), patterns, max_parameters, resolution=224))
    if not Path(model_list).exists():  # the whole list, whatever is asked for now
        save_candidates(Path(model_list), available(Weights(weights), ["*"], max_parameters, resolution=224))
    return tuple(name for name in read_candidates(Path(model_list)) if matches(name, patterns))


def _pooled(network: Any, images: torch.Tensor) -> dict[str, torch.Tensor]:
    return {"features": network(images)}


def _described(network: Any) -> dict[str, Any]:
    return {"pooling": network.pooled_by} | parameters_of(network)
