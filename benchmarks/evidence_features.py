"""Features of the medical images for training_evidence.py: what a frozen encoder sees, one npz file a data set.

Run with ``PANDORA_DATA=folder python benchmarks/evidence_features.py``. The folder holds the images in MedMNIST's
layout, medmnist/dermamnist_64.npz and medmnist/octmnist_64.npz, and the encoder's weights,
weights/<ENCODER>.safetensors. Written is features/<data set>.npz. Made for a GPU; two cores need an hour or so.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from pandora_regret.atomic import write_atomically
from pandora_regret.study import VariantsZoo
from pandora_regret.study.vision.features import extract
from pandora_regret.study.vision.images import load_images

ENCODER, RESOLUTION, OUTPUT = "vit_small_patch14_reg4_dinov2.lvd142m", 224, "block12/avg"
DATA_SETS = ("dermamnist", "octmnist")


def write_features(folder: Path, name: str) -> None:
    source = str(folder / "medmnist" / f"{name}_64.npz")
    images = load_images(source)
    zoo = VariantsZoo(images=source, weights=str(folder / "weights"), mean_std="own")
    (seen,) = extract([zoo.encoder(f"{ENCODER}@{RESOLUTION}")], images.pixels)
    if seen.failure is not None:
        raise SystemExit(f"{name}: {seen.failure}")
    features = seen.values[OUTPUT].float().cpu().numpy().astype(np.float16)
    arrays = {"features": features, "labels": images.labels, "n_train": np.array(images.n_train)}
    (folder / "features").mkdir(exist_ok=True)
    write_atomically(folder / "features" / f"{name}.npz", lambda file: np.savez(file, **arrays))


if __name__ == "__main__":
    for data_set in DATA_SETS:
        write_features(Path(os.environ["PANDORA_DATA"]), data_set)
