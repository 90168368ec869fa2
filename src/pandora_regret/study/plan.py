"""What a study takes, said before anything is downloaded or computed."""

from typing import Any, NamedTuple

from pandora_regret.study.spec import Study
from pandora_regret.study.zoos.encoders import LISTED, count_parameters, listed_encoders
from pandora_regret.study.zoos.image_zoos import official
from pandora_regret.text.table import Content, Table

MEDMNIST: dict[str, Any] = {  # the paper's two, so that a plan needs no package
    "dermamnist": {"n_samples": {"train": 7_007, "val": 1_003, "test": 2_005}, "n_channels": 3, "label": range(7)},
    "octmnist": {"n_samples": {"train": 97_477, "val": 10_832, "test": 1_000}, "n_channels": 1, "label": range(4)},
}
PACE = (
    4_038  # images per second: one H200, the mean of 36 of timm's encoders, building included (benchmarks/zoo.py)
)
HEADER = ("Data", "Models", "Learned from", "Predicted", "Classes", "Hours", "Weights", "Images", "Predictions")


class DataPlan(NamedTuple):
    """What one data set takes; the last three of images alone."""

    models: int
    learned: int  # images to learn from
    predicted: int  # images or rows
    classes: int
    looks: int = 0  # of an encoder at an image
    weights: dict[str, int] = {}  # bytes to download, by encoder  # noqa: RUF012
    images: int = 0  # bytes to download


def study_plan(study: Study) -> Table:
    """How many models, images and hours a study takes, and what must be downloaded; nothing is.

    Parameters
    ----------
    study
        From `read_study`.

    Returns
    -------
    Table
        A row per data set, and how the figures were found.
    """
    plans = [_planned(data.zoo) for data in study.data]
    rows = [[data.name, *_cells(plan)] for data, plan in zip(study.data, plans, strict=True)]
    below = ["", f"{len(study.conditions)} conditions, {study.replicates} replicates of the bootstrap."]
    if any(plan.looks for plan in plans):
        weights = {name: size for plan in plans for name, size in plan.weights.items()}
        size = sum(weights.values()) + sum(plan.images for plan in plans)
        below += [
            f"To download: {_gigabytes(size)} at most: the weights of {len(weights)} encoders (float32, once) and "
            f"images as bytes before compression. Nothing was downloaded for this plan.",
            f"Hours: every encoder looks at every image once, {PACE:,} images per second on one NVIDIA H200, as "
            "benchmarks/zoo.py measured, downloads and probes not counted. The paper took about a day of a GPU.",
            f"Encoders of the hub are those of timm {LISTED}, unless another version is installed.",
        ]
    return Table(HEADER, rows, below=below)


def _cells(plan: DataPlan) -> list[Content]:
    stored = plan.models * plan.predicted * plan.classes * 4  # float32
    sizes = [_gigabytes(size) for size in (sum(plan.weights.values()), plan.images, stored)]
    return [*(f"{count:,}" for count in plan[:4]), f"{plan.looks / PACE / 3600:.2f}", *sizes]


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:.2f} GB"


def _planned(zoo: Any) -> DataPlan:
    if not hasattr(zoo, "recipes"):
        target = zoo.target()
        return DataPlan(len(zoo.names()), 0, len(target.truth), len(target.classes))
    recipes, to_fetch, weights = zoo.recipes(), 0, {}
    if zoo.images.endswith(".npz"):
        data = zoo.data()
        learned, predicted, classes = data.n_train, len(data.truth), len(data.classes)
    else:
        info = MEDMNIST.get(zoo.images) or official(zoo.images)
        counts, classes = info["n_samples"], len(info["label"])
        learned, predicted = min(counts["train"], zoo.train_cap), counts["test"]
        to_fetch = sum(counts.values()) * info["n_channels"] * zoo.size**2
    encoders = {recipe.encoder for recipe in recipes.values()}
    if zoo.weights == "hub":
        names = {encoder.partition("@")[0] for encoder in encoders}
        weights = {name: 4 * (listed_encoders().get(name) or count_parameters(name)) for name in names}
    looks = len(encoders) * (learned + predicted)
    return DataPlan(len(recipes), learned, predicted, classes, looks, weights, to_fetch)
