"""Zoos of image models: frozen encoders look at images, linear probes predict from what they see.

`TimmZoo` is the paper's: every pretrained timm model of moderate size. `VariantsZoo` makes a hundred real models
from a handful of checkpoints: encoders x resolution x depth x pooling x probe.

Images wait on the device as bytes and are resized and normalised there; while some networks run, the next is
built; the batch is the largest that fits, and the same throughout; nobody waits for the device before a network is
done.
"""

from __future__ import annotations

import json
import sys
import time
import zipfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from functools import cache, lru_cache, partial
from importlib.resources import files
from itertools import groupby, product
from math import ceil, sqrt
from pathlib import Path
from threading import Lock, Semaphore, local
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pandora_regret.core.costs import available_costs, load_costs
from pandora_regret.core.inputs import InputError, IntArray, Names
from pandora_regret.optional import MissingLibraryError, import_optional
from pandora_regret.study.store import Plain, Prediction, Target
from pandora_regret.study.zoo import Outcome, matches

if TYPE_CHECKING:
    from torch import Tensor

    Tensors = dict[str, Tensor]

IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))  # mean and standard deviation of its channels
WEIGHTS_SUFFIX = ".safetensors"
LISTED_TIMM = "1.0.30"  # the version of timm whose encoders of 224 x 224 are in timm_encoders.json
ON_GPU = (512, 4)  # images of 224 x 224, and networks, at once
ON_CPU = (8, 1)
Pixels: TypeAlias = NDArray[np.uint8]  # (N, H, W, C), C = 1 or 3
TOO_LARGE = ("out of memory", "ALLOC_FAILED", "can't allocate memory", "32-bit index", "canUse32BitIndexMath")

library = partial(import_optional, extra="images")
timm = partial(library, "timm")


# Which there are, and how each is built


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
    """The parameters of every encoder that timm `LISTED_TIMM` has pretrained on images of 3 x 224 x 224.

    They come with this package, whichever timm is installed, or none: counting a thousand networks takes a minute
    or more, and a study has the same models everywhere. An encoder that the installed timm lacks fails alone.
    """
    text = (files("pandora_regret.study.zoos") / "timm_encoders.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


def count_encoders() -> dict[str, int]:
    """What `listed_encoders` would hold for the installed timm; its JSON is written anew from this."""
    names = sorted(timm().list_models(pretrained=True))
    made_for_224 = [name for name in names if pretrained_config(name).input_size == (3, 224, 224)]
    return {name: count_parameters(name) for name in made_for_224}


def available(
    weights: str,
    patterns: Iterable[str] = ("*",),
    max_parameters: int = 50_000_000,
    *,
    made_for_224: bool = False,
) -> dict[str, int]:
    """The encoders of these names, or that fit these patterns, that are not too large, and their parameters.

    Timm's own may have to be made for three-channel images of 224 x 224; a folder's are of any size.
    """
    local = weights not in ("hub", "random")
    wanted = tuple(patterns)
    if local and not Path(weights).is_dir():
        fix = f'it must be "hub", "random" or a folder of {WEIGHTS_SUFFIX} files'
        raise InputError(argument="weights", value=weights, fix=fix)
    if made_for_224 and not local:
        counts = listed_encoders()
    else:
        counts = {}
        for name in _encoders_in(weights) if local else timm().list_models(pretrained=True):
            architecture = name.split(".")[0]
            if matches(name, wanted) and timm().is_model(architecture):
                counts[name] = count_parameters(name)
    chosen = {name: n for name, n in counts.items() if n <= max_parameters and matches(name, wanted)}
    if not chosen:
        fix = f"{weights} has no encoder of such a name and size"
        raise InputError(argument="models", value=list(wanted), fix=fix)
    return chosen


def _encoders_in(folder: str) -> list[str]:
    """The names of the encoders whose weights lie in a folder, sorted."""
    return [path.name.removesuffix(WEIGHTS_SUFFIX) for path in sorted(Path(folder).glob(f"*{WEIGHTS_SUFFIX}"))]


def build(name: str, weights: str, resolution: int, seed: int = 42, **options: Any) -> Any:
    """The network without its classifier, through timm's own way of loading; `seed` is of random weights.

    Weights of a folder lie in its <architecture>.<tag>.safetensors.
    """
    config = pretrained_config(name)
    if config is None:
        problem = f"timm {timm().__version__} has no encoder {name}"
        raise InputError(problem, argument="models", place="", value=name, fix="install another version of timm")
    if config.fixed_input_size and tuple(config.input_size[1:]) != (resolution, resolution):
        options["img_size"] = resolution
    if weights == "random":
        library("torch").manual_seed(seed)
    elif weights != "hub":  # custom_load would expect the format that was published first
        file = str(Path(weights, f"{name}{WEIGHTS_SUFFIX}"))
        options["pretrained_cfg_overlay"] = {"file": file, "custom_load": False}
    architecture = name if weights == "hub" else registered(name)
    pretrained = weights != "random"
    try:
        return timm().create_model(architecture, pretrained=pretrained, num_classes=0, **options)
    except ZeroDivisionError:  # a head that divides by its number of classes when it draws its first weights
        if weights == "random":
            library("torch").manual_seed(seed)
        network = timm().create_model(architecture, pretrained=pretrained, **options)
        network.reset_classifier(0)
        return network


def build_with_average(name: str, weights: str, resolution: int, seed: int = 42) -> Any:
    """The network with average pooling, or with its own where it rejects that."""
    try:
        return build(name, weights, resolution, seed, global_pool="avg")
    except (AssertionError, KeyError, RuntimeError, TypeError, ValueError) as error:
        if isinstance(error, RuntimeError) and "state_dict" not in str(error):  # not about pooling
            raise
        return build(name, weights, resolution, seed)


# How they look at images


class Encoder(NamedTuple):
    """A frozen network: how it is built, what it wants to see, what is read from it."""

    name: str
    build: Callable[[], Any]  # the network
    read: Callable[[Any, Tensor], Tensors]  # network, images (B, 3, R, R) -> features (B, D) by name
    resolution: int
    mean_std: tuple[tuple[float, ...], tuple[float, ...]]  # of the channels, which images are normalised by


def chosen_device(device: str = "auto") -> str:
    """Where features are computed: on the GPU, if there is one, unless said."""
    if device != "auto":
        return device
    return "cuda" if library("torch").cuda.is_available() else "cpu"


@dataclass(frozen=True)
class Features:
    """What one encoder made of the images: features by name, or the reason why there are none."""

    encoder: Encoder
    values: Tensors = field(default_factory=dict)  # (N, D) each, on the device
    failure: str | None = None
    seconds: float = 0.0
    batch: int = 0  # images at once in the end


def extract(encoders: Iterable[Encoder], pixels: Pixels, device: str = "auto") -> Iterator[Features]:
    """The features of all images, encoder after encoder.

    Parameters
    ----------
    encoders : iterable of Encoder
        An encoder that fails is reported, and the others go on.
    pixels : (N, H, W, C) array of bytes
        C is 1 or 3; one channel is shown to the encoders as three equal ones.
    device : str
        As torch calls it; the GPU, if there is one, unless said.

    Yields
    ------
    Features
        In the encoders' order.
    """
    session = _Session(pixels, chosen_device(device))
    waiting = deque[Future[Features]]()
    threads = ThreadPoolExecutor(1 + session.at_once)
    try:
        for encoder in encoders:
            waiting.append(threads.submit(session.features, encoder))
            if len(waiting) > 1 + session.at_once:
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
    batch that does not is halved. Features leave a thread's
    stream finished, and marked as used by the caller's, so that their memory is not given away too early.
    """

    def __init__(self, pixels: Pixels, device: str) -> None:
        self.torch = torch = library("torch")
        self.device = torch.device(device)
        self.on_gpu = self.device.type == "cuda"
        largest_batch, self.at_once = ON_GPU if self.on_gpu else ON_CPU
        stored = torch.from_numpy(np.require(pixels, requirements=["C", "W"])).to(self.device)
        self.images = stored.permute(0, 3, 1, 2)
        self.most = largest_batch * 224**2  # pixels at once: smaller images go in larger batches
        if self.on_gpu:
            torch.cuda.synchronize(self.device)  # the images are there before any thread looks
        self.building = Lock()
        self.running = Semaphore(self.at_once)
        self.own = local()

    def features(self, encoder: Encoder) -> Features:
        """The encoder's features, or why there are none."""
        torch = self.torch
        if self.on_gpu and not hasattr(self.own, "stream"):  # each thread's kernels in a line of their own
            self.own.stream = torch.cuda.Stream(self.device)
        try:
            with torch.cuda.stream(self.own.stream) if self.on_gpu else nullcontext():
                with self.building:  # one at a time: random first weights come from one generator
                    network = self._built(encoder)
                with self.running:
                    start = time.perf_counter()
                    parts, batch = self._all_batches(encoder, network)
                    values = _join_features(parts)
                    if self.on_gpu:
                        torch.cuda.current_stream(self.device).synchronize()
                        for value in values.values():
                            value.record_stream(torch.cuda.default_stream(self.device))  # the caller's
                    return Features(encoder, values, seconds=time.perf_counter() - start, batch=batch)
        except Exception as error:  # whatever is wrong with this encoder, the others go on
            return Features(encoder, failure=f"{type(error).__name__}: {error}")

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
        torch = self.torch
        n = len(self.images)
        scale = torch.tensor(encoder.mean_std).mul_(255).reshape(2, 1, 3, 1, 1).to(self.device)
        half = torch.autocast(self.device.type, torch.float16, enabled=self.on_gpu)
        parts: list[Tensors] = []
        done = 0
        size = _even(n, self.most // encoder.resolution**2)
        with torch.inference_mode(), half:
            while done < n:
                start = min(done, n - size)
                part = None
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
                    # Copies: a view of one token would keep the whole output of its block in memory.
                    parts.append({name: values[done - start :].clone() for name, values in part.items()})
                    done = start + size
        return parts, size

    def _look(self, encoder: Encoder, network: Any, scale: Tensor, images: Tensor) -> Tensors:
        """What an encoder reads from images (bytes, (B, C, H, W)), resized and normalised as it wants them."""
        images = images.float()
        side = encoder.resolution
        mean, std = scale
        if images.shape[-2:] != (side, side):
            resize = self.torch.nn.functional.interpolate
            images = resize(images, size=(side, side), mode="bilinear", antialias=True).clamp_(0, 255)
        normalised = (images - mean) / std  # one channel meets three means
        read = encoder.read(network, normalised.contiguous(memory_format=self.torch.channels_last))
        return {name: values.flatten(1) for name, values in read.items()}


def _join_features(parts: Sequence[Tensors]) -> Tensors:
    """The features of all batches, by name."""
    joined = {}
    for name in parts[0]:
        joined[name] = library("torch").cat([part[name] for part in parts])
    return joined


def _even(n: int, most: int) -> int:
    """The size of equal batches that are at most so large."""
    return ceil(n / ceil(n / max(1, most)))


# The images


class ImageData(NamedTuple):
    """Images to learn from and images to predict, one after the other, with their classes."""

    pixels: Pixels
    labels: IntArray  # (N,)
    n_train: int  # the first so many are to learn from
    classes: Names

    @property
    def truth(self) -> IntArray:
        """The classes of the images to predict."""
        return self.labels[self.n_train :]


@lru_cache(maxsize=1)  # a worker predicts many batches of models on the same images
def load_images(
    source: str,
    *,
    size: int = 224,
    folder: str = "",
    classes: Names = (),
    train_cap: int = 10_000,
    seed: int = 42,
) -> ImageData:
    """Read a data set: its training split, capped, and its test split.

    Parameters
    ----------
    source : str
        An npz file with {train,test}_{images,labels}, or the name of a MedMNIST data set such as "dermamnist".
    size : int
        Which of MedMNIST's sizes to download; a local file has its own.
    folder : str
        Where downloads go; medmnist's own folder by default.
    classes : tuple of str
        Names in label order; by default those of the shipped pathway file, or MedMNIST's.
    train_cap : int
        A larger training split is cut down to a random subset of this size.
    seed : int
        Of that subset: the same seed, the same images.

    Returns
    -------
    ImageData
    """
    path = Path(source) if source.endswith(".npz") else _download(source, size, folder)
    train_images, train_labels = _read_split(path, "train")
    test_images, test_labels = _read_split(path, "test")
    kept = np.arange(len(train_labels))
    if len(kept) > train_cap:
        kept = np.sort(np.random.default_rng(seed).choice(len(kept), size=train_cap, replace=False))
    labels = np.concatenate([train_labels[kept], test_labels])
    pixels = np.concatenate([train_images[kept], test_images])
    return ImageData(pixels, labels, len(kept), _class_names(classes, path, int(labels.max()) + 1))


def _download(name: str, size: int, folder: str) -> Path:
    """The npz file of a MedMNIST data set, downloaded unless it is there."""
    data_class = getattr(library("medmnist"), official(name)["python_class"])
    place = {"root": str(Path(folder).resolve())} if folder else {}
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
    root = data_class(split="val", download=True, size=size, **place).root  # the smallest split
    return Path(root) / (f"{name}.npz" if size == 28 else f"{name}_{size}.npz")


def official(name: str) -> Any:
    """What the `medmnist` package knows of a data set."""
    info = library("medmnist").INFO
    if name not in info:
        names = ", ".join(sorted(info))
        problem = f"is {name!r}, neither an npz file nor a MedMNIST data set"
        raise InputError(problem, argument="images", value=name, fix=f"those are {names}")
    return info[name]


def _read_split(path: Path, split: str) -> tuple[Pixels, IntArray]:
    """The images, (N, H, W, 1 or 3), and labels, (N,), of one split of a file in the layout of MedMNIST."""
    try:
        with path.open("rb") as file, np.load(file) as arrays:
            images = arrays[f"{split}_images"]
            labels = arrays[f"{split}_labels"]
    except FileNotFoundError:
        problem = f"is {str(path)!r}, and there is no such file"
        raise InputError(problem, argument="images", value=str(path)) from None
    except (KeyError, ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        layout = f"npz with {split}_images, {split}_labels"
        problem = f"is not MedMNIST's layout ({layout}): {error}"
        raise InputError(problem, argument="images", place=str(path), value=str(path)) from None
    pixels = images[..., None] if images.ndim == 3 else images
    n = len(images)
    is_image = images.dtype == np.uint8 and pixels.ndim == 4 and pixels.shape[3] in (1, 3)
    is_class = labels.shape in ((n,), (n, 1)) and labels.dtype.kind in "iu" and (labels >= 0).all()
    if not is_image or not is_class or n == 0:
        problem = (
            f"must be bytes of shape (N, H, W), (N, H, W, 1) or (N, H, W, 3), got "
            f"{images.dtype} of shape {images.shape}, and {split}_labels whole numbers from 0, one for each, "
            f"got {labels.dtype} of shape {labels.shape}"
        )
        place = f"{split}_images of {path}"
        fix = "several labels per image cannot be searched for"
        raise InputError(problem, argument="images", place=place, value=str(path), fix=fix)
    return pixels, labels.reshape(n).astype(np.intp)


def _class_names(requested: Names, path: Path, at_least: int) -> Names:
    """The names asked for, or those of the shipped pathways, so that costs fit, or MedMNIST's, or numbers."""
    name = path.stem.split("_")[0]
    names = requested
    if not names and name in available_costs():
        names = load_costs(name).classes
    if not names:
        try:
            names = tuple(official(name)["label"].values())
        except (MissingLibraryError, InputError):
            names = tuple(map(str, range(at_least)))
    if len(names) < at_least:
        problem = f"has labels up to {at_least - 1}, but only {len(names)} classes are named: {names}"
        raise InputError(problem, argument="classes", place=str(path), value=names)
    return names


Recipe: TypeAlias = tuple[str, Names]  # a model: its encoder, and which of its features a probe sees


@dataclass
class TimmZoo:
    """Linear probes on pretrained timm encoders that take images of 224 x 224, of at most 50 million parameters.

    With weights from a folder, the encoders are those whose files lie there, whatever size they were made for.

    Parameters
    ----------
    images : str
        An npz file in MedMNIST's layout, or the name of a MedMNIST data set, to be downloaded.
    size : int
        Which of MedMNIST's sizes to download.
    folder : str
        Where it is downloaded to; medmnist's own folder by default.
    classes : list of str
        Names in label order, where the file's name does not say them.
    train_cap : int
        At most so many training images, chosen by the seed.
    weights : str
        "hub", "random", or a folder of files named <architecture>.<tag>.safetensors.
    models : list of str
        Names of encoders, or patterns; all by default.
    max_parameters : int
        Larger encoders are left out.
    mean_std : str
        What inputs are normalised with: "imagenet", or each encoder's "own".
    device : str
        "auto": the GPU in float16 by autocast, or else the CPU in float32.
    seed : int
    """

    images: str
    size: int = 224
    folder: str = ""
    classes: Names = ()
    train_cap: int = 10_000
    weights: str = "hub"
    models: Names = ("*",)
    max_parameters: int = 50_000_000
    mean_std: Literal["imagenet", "own"] = "imagenet"
    device: str = "auto"
    seed: int = 42

    most_jobs: ClassVar[int | None] = 1  # which has the device to itself

    def recipes(self) -> dict[str, Recipe]:
        """The models by name, always in the same order: one for each encoder."""
        names = available(self.weights, self.models, self.max_parameters, made_for_224=True)
        return {name: (name, ("features",)) for name in names}

    def encoder(self, name: str) -> Encoder:
        """One of the recipes' encoders."""
        return self._encoder(name, build_with_average, 224, lambda network, images: {"features": network(images)})

    def target(self) -> Target:
        """Truth and classes of the test split, whose images are forecast."""
        data = self.data()
        return Target(data.truth, data.classes)

    def names(self) -> list[str]:
        return list(self.recipes())

    def batches(self, names: Sequence[str]) -> list[list[str]]:
        """Models on the same encoder belong together: it looks at the images once."""
        recipes = self.recipes()
        return [list(group) for _, group in groupby(names, key=lambda name: recipes[name][0])]

    def predict(self, names: Sequence[str]) -> Iterator[Outcome]:
        recipes = self.recipes()
        data = self.data()
        batches = self.batches(names)
        encoders = (self.encoder(recipes[batch[0]][0]) for batch in batches)
        for batch, features in zip(batches, extract(encoders, data.pixels, self.device), strict=True):
            for name in batch:
                yield self._outcome(name, recipes[name][1], features, data)

    def about(self) -> Plain:
        timm()  # so that a study begins only where its models can be built
        libraries = [name for name in ("torch", "timm", "numpy", "medmnist") if name in sys.modules]
        return {
            "zoo": type(self).__name__,
            "settings": asdict(self),
            "device": chosen_device(self.device),
            "versions": {name: sys.modules[name].__version__ for name in libraries},
        }

    def _outcome(self, name: str, outputs: Names, features: Features, data: ImageData) -> Outcome:
        if features.failure:
            return Outcome(name, failure=features.failure)
        torch = library("torch")
        start = time.perf_counter()
        n = data.n_train
        try:
            values = torch.cat([features.values[output] for output in outputs], dim=1)
            if not values.isfinite().all():
                raise ArithmeticError("the encoder gives features that are not finite")
            labels = torch.as_tensor(data.labels[:n], device=values.device)
            logits = probe_logits(values[:n], labels, values[n:], len(data.classes), seed=self.seed).cpu()
        except Exception as error:  # whatever is wrong with this model, the others go on
            return Outcome(name, failure=f"{type(error).__name__}: {error}")
        details = {
            "encoder": features.encoder.name,
            "width": values.shape[1],
            "input_size": features.encoder.resolution,
            "seconds": features.seconds + time.perf_counter() - start,
        }
        return Outcome(name, Prediction(logits.numpy(), logits=True, metadata=details))

    def _encoder(self, name: str, build: Callable[..., Any], resolution: int, read: Any) -> Encoder:
        bare = name.partition("@")[0]
        built = partial(build, bare, self.weights, resolution, self.seed)
        own = pretrained_config(bare)
        mean_std = IMAGENET
        if self.mean_std == "own" and own is not None:  # an encoder that timm lacks fails when it is built
            mean_std = tuple(own.mean), tuple(own.std)
        return Encoder(name, built, read, resolution, mean_std)

    def data(self) -> ImageData:
        """Images to learn from and to predict, with their classes, at the size asked for."""
        return load_images(
            self.images,
            size=self.size,
            folder=self.folder,
            classes=tuple(self.classes),
            train_cap=self.train_cap,
            seed=self.seed,
        )


@dataclass
class VariantsZoo(TimmZoo):
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
    """

    resolutions: tuple[int, ...] = (224,)
    depths: Names = ("*",)
    poolings: Names = ("avg", "max", "avg+max", "token")

    def recipes(self) -> dict[str, Recipe]:
        """Every combination that the encoders have."""
        unknown = {part for pooling in self.poolings for part in pooling.split("+")} - {"avg", "max", "token"}
        if unknown:
            problem = f"has {sorted(unknown)}"
            fix = "choose avg, max, token, or several joined by +"
            raise InputError(problem, argument="poolings", value=sorted(unknown), fix=fix)
        recipes = {}
        bare = available(self.weights, self.models, self.max_parameters)
        for encoder, resolution in product(bare, self.resolutions):
            depths, parts = _layout(encoder, resolution)
            name = f"{encoder}@{resolution}"
            poolings = [pooling for pooling in self.poolings if set(pooling.split("+")) <= set(parts)]
            for depth, pooling in product((depth for depth in depths if matches(depth, self.depths)), poolings):
                outputs = tuple(f"{depth}/{part}" for part in pooling.split("+"))
                recipes[f"{name}/{depth}/{pooling}"] = name, outputs
        return recipes

    def encoder(self, name: str) -> Encoder:
        """One encoder at one resolution."""
        bare, _, resolution = name.partition("@")
        read = partial(_read_depths, *_layout(bare, int(resolution)))
        return self._encoder(name, build, int(resolution), read)


@lru_cache(maxsize=1024)
def _layout(name: str, resolution: int) -> tuple[Names, Names]:
    """The depths and poolings of an encoder, found by a pass on the meta device, which computes shapes only."""
    torch = library("torch")
    try:
        with torch.device("meta"), torch.no_grad():
            network = build(name, "random", resolution).eval()
            end, maps = network.forward_intermediates(torch.empty(1, 3, resolution, resolution))
    except (AttributeError, AssertionError, RuntimeError, TypeError, ValueError) as error:
        problem = f"cannot be read at several depths at resolution {resolution} ({error})"
        fix = "leave it out by models, or choose another resolution"
        raise InputError(problem, argument="models", place=name, value=name, fix=fix) from None
    unit = "block" if hasattr(network, "num_prefix_tokens") else "stage"
    depths = [f"{unit}{number}" for number in range(1, len(maps) + 1)]
    if end.ndim == 4 and end.shape[2:] == maps[-1].shape[2:] and end.shape[1] != maps[-1].shape[1]:
        depths.append("end")  # a last layer that the stages do not include
    token = ("token",) if getattr(network, "has_class_token", False) else ()
    return tuple(depths), ("avg", "max", *token)


def _read_depths(depths: Names, poolings: Names, network: Any, images: Tensor) -> Tensors:
    """All depths and poolings of one pass."""
    with_tokens = {"return_prefix_tokens": True} if "token" in poolings else {}
    end, maps = network.forward_intermediates(images, norm=True, **with_tokens)
    if "end" in depths:
        maps = [*maps, end]
    features: Tensors = {}
    for depth, seen in zip(depths, maps, strict=True):
        spatial, tokens = seen if with_tokens else (seen, None)
        features |= {f"{depth}/avg": spatial.mean((2, 3)), f"{depth}/max": spatial.amax((2, 3))}
        if tokens is not None:
            features[f"{depth}/token"] = tokens[:, 0]
    return features


def probe_logits(train: Tensor, labels: Tensor, test: Tensor, n_classes: int, *, seed: int = 42) -> Tensor:
    """What a linear head predicts for some features after one epoch of AdamW on others, as in the paper.

    Logits are (m, n_classes). Features are (n, D) and (m, D), labels (n,), all on one device.
    """
    torch = library("torch")
    train = train.float()
    test = test.float()
    n, width = train.shape
    chance = torch.Generator().manual_seed(seed)  # of the CPU: the same draws on every device
    head = torch.nn.utils.skip_init(torch.nn.Linear, width, n_classes)
    for parameter in (head.weight, head.bias):  # torch's usual first weights
        torch.nn.init.uniform_(parameter, -1 / sqrt(width), 1 / sqrt(width), generator=chance)
    head = head.to(train.device)
    optimiser = torch.optim.AdamW(head.parameters(), 1e-3, weight_decay=1e-4, fused=True)
    for rows in torch.randperm(n, generator=chance).to(train.device).split(64):
        torch.nn.functional.cross_entropy(head(train[rows]), labels[rows]).backward()
        optimiser.step()
        optimiser.zero_grad()
    with torch.no_grad():
        return head(test)  # type: ignore[no-any-return]
