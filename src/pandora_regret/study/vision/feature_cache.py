"""Features on disk: one file for each encoder, data set and way of looking, checked whenever it is read."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from pandora_regret.atomic import write_atomically
from pandora_regret.optional import import_optional

if TYPE_CHECKING:
    from pandora_regret.study.vision.features import Encoder

Arrays = dict[str, NDArray[Any]]


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
        safetensors = import_optional("safetensors", extra="images")
        try:
            with safetensors.safe_open(self.path(encoder), "numpy") as file:
                features = {name: file.get_tensor(name) for name in encoder.outputs}
                kept = file.metadata() or {}
        except (OSError, safetensors.SafetensorError):
            return None
        about = kept.get("about", "")
        return (features, json.loads(about)) if kept.get("sha256") == _digest(features, about) else None

    def write(self, encoder: Encoder, features: Arrays, about: dict[str, Any]) -> None:
        """Keep features, with the digest of their bytes."""
        text = json.dumps(about)
        save = import_optional("safetensors.numpy", extra="images").save
        content = save(features, metadata={"about": text, "sha256": _digest(features, text)})
        self.folder.mkdir(parents=True, exist_ok=True)
        write_atomically(self.path(encoder), lambda file: file.write(content))


def _digest(features: Arrays, about: str) -> str:
    digest = hashlib.sha256(about.encode())
    for name in sorted(features):
        values = features[name]
        digest.update(f"{name} {values.dtype} {values.shape};".encode())
        digest.update(values.tobytes())
    return digest.hexdigest()
