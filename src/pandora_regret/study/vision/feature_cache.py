"""Features on disk: one file for each encoder, data set and way of looking, checked whenever it is read."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from pandora_regret.inputs import InputError
from pandora_regret.study.store import read_arrays, write_arrays

if TYPE_CHECKING:
    from pandora_regret.study.vision.features import Encoder


@dataclass(frozen=True)
class FeatureCache:
    """A folder of features of one data set, seen in one way; a damaged file counts as absent."""

    folder: Path
    data: str  # digest of the images
    seen: str  # how they were looked at: precision, interpolation

    def path(self, encoder: Encoder) -> Path:
        """The file's name changes with everything that the features depend on."""
        settings = [
            *(encoder.name, encoder.digest, encoder.resolution, encoder.mean, encoder.std, encoder.outputs),
            *(self.data, self.seen),
        ]
        key = hashlib.sha256(json.dumps(settings).encode()).hexdigest()[:24]
        return self.folder / f"{encoder.name.replace('/', '_')}-{key}.safetensors"

    def read(self, encoder: Encoder) -> tuple[dict[str, NDArray[Any]], dict[str, Any]] | None:
        """The features and what was kept about them, or None if they are not there whole and unchanged."""
        try:
            return read_arrays(self.path(encoder))
        except (OSError, InputError):
            return None

    def write(self, encoder: Encoder, features: dict[str, NDArray[Any]], about: dict[str, Any]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        write_arrays(self.path(encoder), features, about)
