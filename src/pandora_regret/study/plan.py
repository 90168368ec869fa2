"""What a study takes before anything runs: models, images, hours, and what must be downloaded."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from pandora_regret.study.study_file import Study
from pandora_regret.study.zoo import DataSet, Zoo
from pandora_regret.study.zoos.existing import FilesZoo
from pandora_regret.study.zoos.image_zoos import LISTED_TIMM, TimmZoo, count_parameters, listed_encoders, official
from pandora_regret.text import counted
from pandora_regret.text.table import DisplayTable


class ImageCounts(NamedTuple):
    """Of an official data set: images of each split, channels of an image, classes."""

    training: int
    validation: int
    test: int
    channels: int
    classes: int


@dataclass(frozen=True)
class ZooSize:
    """What a zoo has to do, and what it has to download for that."""

    models: int
    learned: int  # images to learn from
    predicted: int  # instances to predict
    classes: int
    looks: int = 0  # how often an encoder looks at an image
    weights: Mapping[str, int] = field(default_factory=dict)  # bytes to download, by encoder
    images: int = 0  # bytes to download


MEDMNIST = {  # the paper's two: needs no package
    "dermamnist": ImageCounts(7_007, 1_003, 2_005, 3, 7),
    "octmnist": ImageCounts(97_477, 10_832, 1_000, 1, 4),
}
# images per second: one H200, the mean of 36 of timm's encoders, building included (benchmarks/zoo.py)
PACE = 4_038
PLAN_HEADER = (
    "Data", "Models", "Learned from", "Predicted", "Classes", "Hours", "Weights", "Images", "Predictions",
)  # fmt: skip
OF_ENCODERS = ("Learned from", "Hours", "Weights", "Images")
SMALL_BYTES = 10_000_000  # bytes, which are said in megabytes
MOST_REASONS = 3  # why models cannot be read


def study_plan(study: Study) -> DisplayTable:
    """How many models, images and hours a study takes, and what must be downloaded; nothing is.

    Parameters
    ----------
    study
        From `read_study`.

    Returns
    -------
    DisplayTable
        A row per data set, and how the figures were found.
    """
    sizes = [_zoo_size(data.zoo) for data in study.data]
    rows = [_plan_row(data.name, size) for data, size in zip(study.data, sizes, strict=True)]
    has_encoders = any(isinstance(data.zoo, TimmZoo) for data in study.data)
    shown = [number for number, title in enumerate(PLAN_HEADER) if has_encoders or title not in OF_ENCODERS]
    header = [PLAN_HEADER[number] for number in shown]
    rows = [[row[number] for number in shown] for row in rows]
    conditions = counted(len(study.conditions), "condition")
    replicates = counted(study.replicates, "replicate")
    below = ["", f"{conditions}, {replicates} of the bootstrap."]
    for data in study.data:
        if isinstance(data.zoo, FilesZoo):
            below += _plan_of_files(data, data.zoo)
    if has_encoders:
        weights: dict[str, int] = {}  # of every encoder once, for it is downloaded once
        for size in sizes:
            weights |= size.weights
        to_download = sum(weights.values()) + sum(size.images for size in sizes)
        below += [
            f"To download: {_gigabytes(to_download)} at most: the weights of {len(weights)} "
            "encoders (float32, once) and images as bytes before compression. This plan downloaded nothing.",
            f"Hours: every encoder looks at every image once, {PACE:,} images per second on one NVIDIA H200, as "
            "benchmarks/zoo.py measured, downloads and probes not counted. The paper took about a day of a GPU.",
            f"Encoders of the hub are those that timm {LISTED_TIMM} has, whichever version is installed.",
        ]
    return DisplayTable(header, rows, below=below)


def _plan_of_files(data: DataSet, zoo: FilesZoo) -> Iterator[str]:
    """What is to be said of models in files: that nothing is computed, and which of them cannot be used."""
    data.costs_of(zoo.target().classes)  # raises where a class has no price
    yield f"{data.name}: the forecasts are in files; nothing is fitted or downloaded."
    failed = [outcome for outcome in zoo.predict(zoo.names()) if outcome.failure is not None]
    if failed:
        yield f"{data.name}: {counted(len(failed), 'model')} cannot be used and will be left out:"
    for outcome in failed[:MOST_REASONS]:
        yield f"  {outcome.name}: {outcome.failure}"


def _plan_row(name: str, size: ZooSize) -> list[str]:
    """The cells of one data set, in the order of `PLAN_HEADER`."""
    return [
        name,
        f"{size.models:,}",
        f"{size.learned:,}",
        f"{size.predicted:,}",
        f"{size.classes:,}",
        f"{size.looks / PACE / 3600:.2f}",
        _gigabytes(sum(size.weights.values())),
        _gigabytes(size.images),
        _gigabytes(size.models * size.predicted * size.classes * 4),  # float32
    ]


def _gigabytes(size: int) -> str:
    """A number of bytes in gigabytes, or in megabytes where it is small."""
    if 0 < size < SMALL_BYTES:
        return f"{size / 1e6:.1f} MB"
    return f"{size / 1e9:.2f} GB"


def _official_counts(name: str) -> ImageCounts:
    """The counts that the package medmnist states of one of its data sets."""
    info = official(name)
    training, validation, test = info["n_samples"].values()
    return ImageCounts(training, validation, test, info["n_channels"], len(info["label"]))


def _zoo_size(zoo: Zoo) -> ZooSize:
    """What a zoo has to do and to download, as far as can be said without downloading."""
    if isinstance(zoo, TimmZoo):
        return _size_of_images(zoo)
    target = zoo.target()
    return ZooSize(len(zoo.names()), learned=0, predicted=len(target.truth), classes=len(target.classes))


def _size_of_images(zoo: TimmZoo) -> ZooSize:
    """What a zoo of encoders has to do and to download."""
    recipes = zoo.recipes()
    if zoo.images.endswith(".npz"):
        data = zoo.data()
        learned = data.n_train
        predicted = len(data.truth)
        classes = len(data.classes)
        image_bytes = 0
    else:
        counts = MEDMNIST.get(zoo.images) or _official_counts(zoo.images)
        learned = min(counts.training, zoo.train_cap)
        predicted = counts.test
        classes = counts.classes
        n_images = counts.training + counts.validation + counts.test
        image_bytes = n_images * counts.channels * zoo.size**2
    encoders = {encoder for encoder, _ in recipes.values()}
    return ZooSize(
        models=len(recipes),
        learned=learned,
        predicted=predicted,
        classes=classes,
        looks=len(encoders) * (learned + predicted),
        weights=_weight_bytes(encoders) if zoo.weights == "hub" else {},
        images=image_bytes,
    )


def _weight_bytes(encoders: Iterable[str]) -> dict[str, int]:
    """The float32 weights of encoders of the hub, in bytes, by name without the resolution after "@"."""
    names = {encoder.partition("@")[0] for encoder in encoders}
    return {name: 4 * (listed_encoders().get(name) or count_parameters(name)) for name in names}
