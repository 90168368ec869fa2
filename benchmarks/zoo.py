"""A zoo of frozen encoders: our extractor against the plain loop over a DataLoader, in the same run.

python benchmarks/zoo.py            a CUDA device, 36 architectures, 4,000 images: some minutes
python benchmarks/zoo.py --smoke    two tiny networks on the CPU, to see that the script runs
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import timm
import torch
from yardstick import finish, record

from pandora_regret.study.zoos.image_zoos import (
    IMAGENET,
    Encoder,
    build_with_average,
    count_parameters,
    extract,
)

# Every thirteenth of the 464 architectures that TimmZoo of timm 1.0.30 names, in alphabetical order.
ARCHITECTURES = (
    "caformer_s18", "coatnet_1_rw_224", "convnext_atto", "convnextv2_atto", "davit_tiny", "dla102x",
    "eca_nfnet_l0", "efficientnet_b0", "efficientvit_b1", "eva02_tiny_patch14_224", "gcvit_tiny", "hardcorenas_a",
    "hgnetv2_b5", "iformer_m_distilled", "legacy_seresnet18", "levit_conv_192", "mambaout_tiny", "mobilenetv2_050",
    "mobilenetv4_conv_small_050", "nfnet_l0", "pvt_v2_b0", "regnetx_008", "regnety_032", "repghostnet_150",
    "repvit_m2_3", "resmlp_36_224", "resnet26", "resnetaa50d", "resnext50_32x4d", "semnasnet_100",
    "skresnext50_32x4d", "swin_tiny_patch4_window7_224", "tf_mobilenetv3_large_100", "twins_pcpvt_small",
    "vit_small_patch16_rope_mixed_224", "xcit_nano_12_p8_224",
)  # fmt: skip
SMALL = ("test_resnet", "test_vit")
STUDY = {
    "DermaMNIST": 7_007 + 2_005,
    "OCTMNIST": 10_000 + 1_000,
}  # images that every model of the paper's study sees


@dataclass(frozen=True)
class Timing:
    building: float
    looking: float


class Normalised(torch.utils.data.Dataset[torch.Tensor]):
    """What one writes first: each image becomes a normalised float tensor in a worker of the DataLoader."""

    def __init__(self, pixels: np.ndarray) -> None:
        self.pixels = pixels
        self.mean, self.std = (torch.tensor(values).reshape(3, 1, 1) for values in IMAGENET)

    def __len__(self) -> int:
        return len(self.pixels)

    def __getitem__(self, index: int) -> torch.Tensor:
        image = torch.from_numpy(self.pixels[index]).permute(2, 0, 1).contiguous().float().div_(255)
        return image.sub_(self.mean).div_(self.std)


def plain_loop(name: str, loader: torch.utils.data.DataLoader[torch.Tensor], device: str) -> Timing:
    """Build, move, loop over batches of 64 under autocast, collect the features."""
    start = time.perf_counter()
    network = build_with_average(name, "random", 224).eval().to(device)
    synchronise(device)
    built = time.perf_counter()
    half = {"cuda": torch.float16, "cpu": torch.bfloat16}[device]
    with torch.no_grad(), torch.autocast(device, dtype=half, enabled=device == "cuda"):
        features = torch.cat([network(images.to(device, non_blocking=True)).cpu() for images in loader])
    assert len(features) == len(loader.dataset)
    return Timing(built - start, time.perf_counter() - built)


def random_encoder(name: str, network: torch.nn.Module | None = None) -> Encoder:
    """An encoder with random weights, to be built in time that counts, or built before."""

    def read(network: torch.nn.Module, images: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"features": network(images)}

    build = partial(build_with_average, name, "random", 224) if network is None else lambda: network
    return Encoder(name, build, read, 224, IMAGENET)


def built_before(names: Iterable[str], device: str) -> list[Encoder]:
    return [random_encoder(name, build_with_average(name, "random", 224).to(device)) for name in names]


def synchronise(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def random_images(n: int) -> np.ndarray:
    return np.random.default_rng(42).integers(0, 256, (n, 224, 224, 3), dtype=np.uint8)


def warm_up(pixels: np.ndarray, device: str) -> None:
    """The first kernels of a process load libraries: neither side pays for that."""
    name = "resnet18" if device == "cuda" else "test_resnet"
    list(extract([random_encoder(name)], pixels[:64], device))


def measure_ours(
    encoders: Iterable[Encoder], pixels: np.ndarray, device: str, what: str
) -> tuple[dict[str, float], float]:
    """Each encoder's seconds, while others run beside it, and seconds in total; one that fails is left out."""
    start = time.perf_counter()
    seconds = {}
    for features in extract(encoders, pixels, device):
        name, at = features.encoder.name, time.perf_counter() - start
        if features.failure:
            print(f"{what} {name:32} left out: {features.failure}", flush=True)
            continue
        assert all(len(values) == len(pixels) for values in features.values.values())
        seconds[name] = features.seconds
        print(
            f"{what} {name:32} {features.seconds:6.2f} s, done at {at:6.1f} s, batch {features.batch}", flush=True
        )
    return seconds, time.perf_counter() - start


def measure_plain(names: Iterable[str], pixels: np.ndarray, device: str, workers: int) -> dict[str, Timing]:
    loader = torch.utils.data.DataLoader(
        Normalised(pixels), batch_size=64, num_workers=workers, pin_memory=device == "cuda"
    )
    timings = {}
    for name in names:
        timings[name] = timing = plain_loop(name, loader, device)
        print(f"plain {name:32} {timing.looking:6.2f} s, built in {timing.building:.2f} s", flush=True)
    return timings


def table(n: int, seconds: dict[str, float], plain: dict[str, Timing]) -> str:
    lines = [
        "| architecture | million parameters | plain loop, images/s | its building, s | ours, s, beside others |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, timing in plain.items():
        millions = count_parameters(name) / 1e6
        lines.append(
            f"| {name} | {millions:.1f} | {n / timing.looking:.0f} | {timing.building:.2f} | {seconds[name]:.2f} |"
        )
    return "\n".join(lines) + "\n"


def report(images: int, with_building: float, without: float, plain: dict[str, Timing], workers: int) -> None:
    plain_looking = sum(timing.looking for timing in plain.values())
    plain_total = plain_looking + sum(timing.building for timing in plain.values())
    rate, ratio = images / with_building, plain_total / with_building
    plain_rate = images / plain_looking
    record(
        f"{len(plain)} encoders, {images} looks, building included",
        f"{rate:.0f} images/s, {ratio:.2f} x plain loop with {workers} workers at {images / plain_total:.0f}",
        "at least 3",
        ratio >= 3 if len(plain) >= 30 else None,
    )
    record(
        "the same, all networks built before",
        f"{images / without:.0f} images/s, {plain_looking / without:.2f} x plain loop at {plain_rate:.0f}",
        "",
        None,
    )
    for study, seen in STUDY.items():
        hours = 600 * seen / rate / 3600
        record(f"600 encoders on {study}, {seen} images each", f"{hours:.2f} h, without downloads", "", None)


def main() -> int:
    options = parse()
    device = "cpu" if options.smoke else "cuda"
    names = SMALL if options.smoke else ARCHITECTURES[: options.encoders]
    pixels = random_images(64 if options.smoke else options.images)
    print(f"timm {timm.__version__}, torch {torch.__version__}, {os.cpu_count()} cores, {device}", flush=True)
    warm_up(pixels, device)
    seconds, with_building = measure_ours(map(random_encoder, names), pixels, device, "ours ")
    images = len(pixels) * len(seconds)
    print(f"ours: {images / with_building:.0f} images/s", flush=True)
    if options.ours_alone:
        return 0
    _, without = measure_ours(built_before(seconds, device), pixels, device, "built")
    plain = measure_plain(seconds, pixels, device, options.workers)
    report(images, with_building, without, plain, options.workers)
    if options.table:
        options.table.write_text(table(len(pixels), seconds, plain), encoding="utf-8")
    return finish()


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="two tiny networks on the CPU")
    parser.add_argument("--images", type=int, default=4_000)
    parser.add_argument("--encoders", type=int, default=len(ARCHITECTURES), help="the first so many")
    parser.add_argument("--workers", type=int, default=4, help="processes of the plain loop's DataLoader")
    parser.add_argument("--ours-alone", action="store_true", help="no plain loop: to try settings")
    parser.add_argument("--table", type=Path, help="a file for the table of all architectures")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
