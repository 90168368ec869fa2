"""Features on disk: one file for each encoder, data set and way of looking, checked whenever it is read."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pandora_regret.atomic import write_atomically
from pandora_regret.study.store.sealed import Arrays, BrokenSealError, seal, unseal

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

    def read(self, encoder: Encoder) -> tuple[Arrays, dict[str, Any]] | None:
        """The features and what was kept about them, or None if they are not there whole and unchanged."""
        try:
            return unseal(self.path(encoder).read_bytes())
        except (OSError, BrokenSealError):
            return None

    def write(self, encoder: Encoder, features: Arrays, about: dict[str, Any]) -> None:
        content = seal(features, about)
        self.folder.mkdir(parents=True, exist_ok=True)
        write_atomically(self.path(encoder), lambda file: file.write(content))
