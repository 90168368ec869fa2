"""What a study takes, said before anything is downloaded or computed."""

from typing import Any

from pandora_regret.study.spec import Study
from pandora_regret.study.zoos.image_zoos import LISTED, count_parameters, listed_encoders, official
from pandora_regret.text.table import Table

MEDMNIST = {  # training, validation and test images, channels and classes of the paper's two: needs no package
    "dermamnist": (7_007, 1_003, 2_005, 3, 7),
    "octmnist": (97_477, 10_832, 1_000, 1, 4),
}
PACE = (
    4_038  # images per second: one H200, the mean of 36 of timm's encoders, building included (benchmarks/zoo.py)
)
HEADER = ("Data", "Models", "Learned from", "Predicted", "Classes", "Hours", "Weights", "Images", "Predictions")


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
    rows, weights, images = [], dict[str, int](), 0
    for data in study.data:
        models, learned, predicted, classes, looks, of_encoders, to_fetch = _sizes(data.zoo)
        hours, stored = f"{looks / PACE / 3600:.2f}", models * predicted * classes * 4  # float32
        sizes = map(_gigabytes, (sum(of_encoders.values()), to_fetch, stored))
        rows.append([data.name, *(f"{count:,}" for count in (models, learned, predicted, classes)), hours, *sizes])
        weights |= of_encoders  # which are downloaded once
        images += to_fetch
    below = ["", f"{len(study.conditions)} conditions, {study.replicates} replicates of the bootstrap."]
    if any(hasattr(data.zoo, "recipes") for data in study.data):
        below += [
            f"To download: {_gigabytes(sum(weights.values()) + images)} at most: the weights of {len(weights)} "
            "encoders (float32, once) and images as bytes before compression. This plan downloaded nothing.",
            f"Hours: every encoder looks at every image once, {PACE:,} images per second on one NVIDIA H200, as "
            "benchmarks/zoo.py measured, downloads and probes not counted. The paper took about a day of a GPU.",
            f"Encoders of the hub are those of timm {LISTED}, unless another version is installed.",
        ]
    return Table(HEADER, rows, below=below)


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:.2f} GB"


def _official(name: str) -> Any:
    info = official(name)
    return *info["n_samples"].values(), info["n_channels"], len(info["label"])


def _sizes(zoo: Any) -> tuple[int, int, int, int, int, dict[str, int], int]:
    """Models, images to learn from, instances to predict, classes.

    And of images: how often an encoder looks at one; bytes to download, of weights by encoder, and of images.
    """
    if not hasattr(zoo, "recipes"):
        target = zoo.target()
        return len(zoo.names()), 0, len(target.truth), len(target.classes), 0, {}, 0
    recipes, to_fetch, weights = zoo.recipes(), 0, {}
    if zoo.images.endswith(".npz"):
        data = zoo.data()
        learned, predicted, classes = data.n_train, len(data.truth), len(data.classes)
    else:
        train, others, predicted, channels, classes = MEDMNIST.get(zoo.images) or _official(zoo.images)
        learned, to_fetch = min(train, zoo.train_cap), (train + others + predicted) * channels * zoo.size**2
    encoders = {encoder for encoder, _ in recipes.values()}
    if zoo.weights == "hub":
        names = {encoder.partition("@")[0] for encoder in encoders}
        weights = {name: 4 * (listed_encoders().get(name) or count_parameters(name)) for name in names}
    return len(recipes), learned, predicted, classes, len(encoders) * (learned + predicted), weights, to_fetch
