"""Pretrained image encoders of the timm library: which there are, how each is built, and how they look at images.

Images wait on the device as bytes and are resized and normalised there; while some networks run, the next is
built; the batch is the largest that fits, and the same throughout; nobody waits for the device before a network is
done.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from math import ceil
from pathlib import Path
from threading import Lock, Semaphore, local
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pandora_regret.inputs import InputError, read_choice
from pandora_regret.optional import import_optional
from pandora_regret.study.predicting import matches
from pandora_regret.study.store import Names, Plain

if TYPE_CHECKING:
    import torch

    Tensors = dict[str, torch.Tensor]

IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))  # mean and standard deviation of its channels
MEAN_STD = {"imagenet": "ImageNet's", "own": "what the encoder was trained with"}
SUFFIX = ".safetensors"
LISTED = "1.0.30"  # the version of timm whose encoders of 224 x 224 are in timm_encoders.json
BYTES_A_PIXEL = 1024  # of memory that a large encoder needs while it runs: a first guess, which need not be right
ON_GPU: Plain = {"precision": "float16", "largest_batch": 512, "at_once": 4}
ON_CPU: Plain = {"precision": "float32", "largest_batch": 8, "at_once": 1}
TOO_LARGE = ("out of memory", "ALLOC_FAILED", "can't allocate memory", "32-bit index", "canUse32BitIndexMath")

library = partial(import_optional, extra="images")
timm = partial(library, "timm")


# Which there are, and how each is built


@dataclass(frozen=True)
class Weights:
    """Where weights come from: "hub", "random", or a folder of files named <architecture>.<tag>.safetensors."""

    place: str = "hub"
    seed: int = 42  # of random weights

    @property
    def folder(self) -> Path | None:
        """Where the weights are local files."""
        return None if self.place in ("hub", "random") else Path(self.place)

    @cache  # reading a large file takes a while  # noqa: B019
    def digest(self, name: str) -> str:
        """What the weights are."""
        if self.folder is None:
            return f"{self.place} {self.seed}" if self.place == "random" else f"timm {timm().__version__} {name}"
        with (self.folder / f"{name}{SUFFIX}").open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()


def registered(name: str) -> str:
    """The name under which timm knows the encoder: its architecture, where the weights are the user's own."""
    return name if timm().models.is_model_pretrained(name) else name.split(".")[0]


def pretrained_config(name: str) -> Any:
    """What timm knows of a pretrained encoder: input size, mean, standard deviation, classes."""
    return timm().get_pretrained_cfg(registered(name))


@cache
def count_parameters(name: str) -> int:
    """Parameters of the network as published, its classifier included, counted without allocating any."""
    with library("torch").device("meta"):
        network = timm().create_model(registered(name))
    return sum(parameter.numel() for parameter in network.parameters())


@cache
def listed_encoders() -> dict[str, int]:
    """The parameters of every encoder that timm has pretrained on images of 3 x 224 x 224.

    Those of the version that is listed here are told without importing it, or torch.
    """
    try:
        installed = version("timm")
    except PackageNotFoundError:
        installed = LISTED  # for a plan; whoever builds one is told what to install
    if installed == LISTED:
        text = (files("pandora_regret.study.zoos") / "timm_encoders.json").read_text(encoding="utf-8")
        return dict(json.loads(text))
    names = sorted(timm().list_models(pretrained=True))
    size = (3, 224, 224)
    return {name: count_parameters(name) for name in names if pretrained_config(name).input_size == size}


def available(
    weights: Weights,
    patterns: Iterable[str] = ("*",),
    max_parameters: int = 50_000_000,
    *,
    made_for_224: bool = False,
) -> dict[str, int]:
    """The encoders of these names, or that fit these patterns, that are not too large, and their parameters.

    Timm's own may have to be made for three-channel images of 224 x 224; a folder's are of any size.
    """
    folder, wanted = weights.folder, tuple(patterns)
    if folder is not None and not folder.is_dir():
        raise InputError(
            f'weights is {weights.place!r}: it must be "hub", "random" or a folder of {SUFFIX} files.'
        )
    if folder is None and made_for_224:
        counts = listed_encoders()
    else:
        paths = sorted(folder.glob(f"*{SUFFIX}")) if folder else timm().list_models(pretrained=True)
        names = (Path(path).name.removesuffix(SUFFIX) for path in paths)
        built = (name for name in names if matches(name, wanted) and timm().is_model(name.split(".")[0]))
        counts = {name: count_parameters(name) for name in built}
    counts = {name: n for name, n in counts.items() if n <= max_parameters and matches(name, wanted)}
    if not counts:
        raise InputError(f"models is {list(wanted)}: {weights.place} has no encoder of such a name and size.")
    return counts


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
        library("torch").manual_seed(weights.seed)
    if weights.folder is not None:  # custom_load would expect the format that was published first, not this file
        file = weights.folder / f"{name}{SUFFIX}"
        options["pretrained_cfg_overlay"] = {"file": str(file), "custom_load": False}
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


# How they look at images


@dataclass(frozen=True)
class Encoder:
    """A frozen network: how it is built, what it wants to see, what is read from it."""

    name: str
    build: Callable[[], Any]  # the network
    read: Callable[[Any, torch.Tensor], Tensors]  # network, images (B, 3, R, R) -> features (B, D) by name
    outputs: Names  # the names of those features
    resolution: int
    mean: tuple[float, ...]
    std: tuple[float, ...]
    weights: Callable[[], str]  # what the weights are: a digest of them, or where they come from


@dataclass(frozen=True)
class Machine:
    """Where features are computed and in which numbers; 0 and "auto" leave the choice to what is there."""

    device: str = "auto"
    precision: str = "auto"  # float16 (autocast), float32
    largest_batch: int = 0  # images of 224 x 224; smaller ones go in proportionally larger batches
    at_once: int = 0  # networks that run at the same time: while one is being planned, others compute

    def __post_init__(self) -> None:
        torch = library("torch")
        device = self.device if self.device != "auto" else "cuda" if torch.cuda.is_available() else "cpu"
        usual = ON_GPU if torch.device(device).type == "cuda" else ON_CPU
        for name, choice in (("device", device), *usual.items()):
            if getattr(self, name) in ("auto", 0):
                object.__setattr__(self, name, choice)
        read_choice(self.precision, "precision", dict.fromkeys(("float16", "float32"), "of numbers"))


@dataclass(frozen=True)
class Features:
    """What one encoder made of the images: features by name, or the reason why there are none."""

    encoder: Encoder
    values: Tensors = field(default_factory=dict)  # (N, D) each, on the device
    about: Plain = field(default_factory=dict)  # which weights, how many, and how it pools
    failure: str | None = None
    seconds: float = 0.0
    batch: int = 0  # images at once in the end


def extract(
    encoders: Iterable[Encoder], pixels: NDArray[np.uint8], machine: Machine | None = None
) -> Iterator[Features]:
    """The features of all images, encoder after encoder.

    Parameters
    ----------
    encoders : iterable of Encoder
        An encoder that fails is reported, and the others go on.
    pixels : (N, H, W, C) array of bytes
        C is 1 or 3; one channel is shown to the encoders as three equal ones.
    machine : Machine, optional

    Yields
    ------
    Features
        In the encoders' order.
    """
    session = _Session(machine or Machine(), pixels)
    ahead = 1 + session.machine.at_once
    waiting: deque[Future[Features]] = deque()
    threads = ThreadPoolExecutor(ahead)
    try:
        for encoder in encoders:
            waiting.append(threads.submit(session.features, encoder))
            if len(waiting) > ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        threads.shutdown(cancel_futures=True)  # whoever leaves early does not wait for what has not begun


class _Session:
    """Images on a device, and encoders that look at them, several at a time, each in a thread of its own.

    The images lie on the device once, as bytes; networks come and go. While some run, another is being built, and
    while cuDNN plans one network's convolutions, others compute: that is what the threads are for, each with a
    CUDA stream of its own. `building` lets one network be built at a time, since random weights come from one
    generator, and `running` lets `at_once` of them compute. Nobody knows beforehand what fits into memory, so a
    batch that does not is halved, and `fits` remembers the size for the next encoder. Features leave a thread's
    stream finished, and marked as used by the caller's, so that their memory is not given away too early.
    """

    def __init__(self, machine: Machine, pixels: NDArray[np.uint8]) -> None:
        self.torch, self.machine = library("torch"), machine
        self.device = self.torch.device(machine.device)
        self.on_gpu = self.device.type == "cuda"
        stored = self.torch.from_numpy(np.require(pixels, requirements=["C", "W"])).to(self.device)
        self.images = stored.permute(0, 3, 1, 2)
        self.most = machine.largest_batch * 224**2  # pixels at once
        if self.on_gpu:
            cuda = self.torch.cuda
            kept = cuda.memory_reserved(self.device) - cuda.memory_allocated(self.device)  # by torch, for later
            free = cuda.mem_get_info(self.device)[0] + kept
            self.most = min(self.most, free // (BYTES_A_PIXEL * machine.at_once))
            cuda.synchronize(self.device)  # the images are there before any thread looks
        self.fits = self.most  # what the last encoder could take
        self.building, self.running, self.own = Lock(), Semaphore(machine.at_once), local()

    def features(self, encoder: Encoder) -> Features:
        """The encoder's features, or why there are none."""
        try:
            return self._looked(encoder)
        except Exception as error:  # whatever is wrong with this encoder, the others go on
            return Features(encoder, failure=f"{type(error).__name__}: {error}")

    def _looked(self, encoder: Encoder) -> Features:
        torch = self.torch
        if self.on_gpu and not hasattr(self.own, "stream"):  # each thread's kernels in a line of their own
            self.own.stream = torch.cuda.Stream(self.device)
        with torch.cuda.stream(self.own.stream) if self.on_gpu else nullcontext():
            with self.building:  # one at a time: random first weights come from one generator
                network = self._built(encoder)
            sizes = (parameter.numel() for parameter in network.parameters())
            about = {"weights": encoder.weights(), "parameters": sum(sizes)}
            if hasattr(network, "pooled_by"):
                about["pooling"] = network.pooled_by
            with self.running:
                start = time.perf_counter()
                parts, batch = self._all_batches(encoder, network)
                values = {name: torch.cat([part[name] for part in parts]) for name in encoder.outputs}
                if self.on_gpu:
                    torch.cuda.current_stream(self.device).synchronize()
                    for value in values.values():
                        value.record_stream(torch.cuda.default_stream(self.device))  # the caller's
                return Features(encoder, values, about, seconds=time.perf_counter() - start, batch=batch)

    def _built(self, encoder: Encoder) -> Any:
        """On the device itself where that works: drawing fifty million first weights takes a CPU half a second."""
        try:
            with self.torch.device(self.device):
                network = encoder.build()
        except (RuntimeError, TypeError):
            if not self.on_gpu:
                raise
            network = encoder.build()  # some networks compute with NumPy while they are built
        return network.eval().to(self.device, memory_format=self.torch.channels_last)

    def _all_batches(self, encoder: Encoder, network: Any) -> tuple[list[Tensors], int]:
        """Features of all images in order, in equal batches that are halved as often as memory demands.

        The last batch looks at some images again rather than be smaller: to cuDNN, every shape of a convolution is
        a new one to plan, which takes as long as thousands of images.
        """
        # The weights keep requires_grad: autocast remembers its half-precision copies of such weights only.
        torch, precision, n = self.torch, getattr(self.torch, self.machine.precision), len(self.images)
        scale = torch.tensor([encoder.mean, encoder.std]).mul_(255).reshape(2, 1, 3, 1, 1).to(self.device)
        half = torch.autocast(self.device.type, dtype=precision, enabled=precision != torch.float32)
        parts, done, size = [], 0, _even(n, min(self.most, 2 * self.fits) // encoder.resolution**2)
        with torch.inference_mode(), half:
            while done < n:
                start, part = min(done, n - size), None
                try:
                    part = self._look(encoder, network, scale, self.images[start : start + size])
                except RuntimeError as error:
                    if size == 1 or not any(words in str(error) for words in TOO_LARGE):
                        raise
                if part is None:
                    if self.on_gpu:
                        torch.cuda.empty_cache()  # after the handler: the error held on to what did not fit
                    size = _even(n, size // 2)
                else:
                    parts.append({name: values[done - start :] for name, values in part.items()})
                    done = start + size
        self.fits = size * encoder.resolution**2
        return parts, size

    def _look(self, encoder: Encoder, network: Any, scale: torch.Tensor, images: torch.Tensor) -> Tensors:
        images, side, (mean, std) = images.float(), encoder.resolution, scale
        if images.shape[-2:] != (side, side):
            resize = self.torch.nn.functional.interpolate
            images = resize(images, size=(side, side), mode="bilinear", antialias=True).clamp_(0, 255)
        normalised = (images - mean) / std  # one channel meets three means
        read = encoder.read(network, normalised.contiguous(memory_format=self.torch.channels_last))
        return {name: read[name].flatten(1) for name in encoder.outputs}


def _even(n: int, most: int) -> int:
    """The size of equal batches that are at most so large."""
    return ceil(n / ceil(n / max(1, most)))
