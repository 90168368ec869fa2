"""What the command `pandora compare` costs, against the same command with a decomposition in the same run.

Run with ``python benchmarks/compare.py``. Until recalibrated selves took its place, every comparison decomposed
each model's cost by maps of many parameters. Figures are processor seconds, which other work disturbs less.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from yardstick import claim, finish, record

COMMAND = [sys.executable, "-c", "from pandora_regret.cli import main; main()", "compare"]
SHAPES = {"3 x 3,000 rows x 1,000 classes": (3000, 1000, 0.1), "3 x 50,000 rows x 10 classes": (50_000, 10, 0.25)}
SKILLS = ((3.0, 1.0), (2.8, 1.6), (2.5, 1.0))  # what each model sees of the truth, and how sure of itself it is


def write_files(folder: Path, rows: int, classes: int) -> list[str]:
    """Three models' forecasts, and prices."""
    rng = np.random.default_rng(0)
    truth, names = rng.integers(0, classes, rows), [f"p_{k}" for k in range(classes)]
    for number, (skill, boldness) in enumerate(SKILLS):
        scores = rng.normal(size=(rows, classes))
        scores[np.arange(rows), truth] += skill
        odds = np.exp(boldness * scores)
        table = np.column_stack([truth, odds / odds.sum(axis=1, keepdims=True)])
        header, formats = ",".join(["label", *names]), ["%d"] + ["%.9g"] * classes
        np.savetxt(folder / f"model{number}.csv", table, formats, ",", header=header, comments="")
    prices = "".join(f"{k},{price:.2f}\n" for k, price in enumerate(rng.uniform(20, 400, classes)))
    (folder / "prices.csv").write_text("class,cost\n" + prices)
    files = [str(folder / f"model{number}.csv") for number in range(len(SKILLS))]
    return [*files, "--costs", str(folder / "prices.csv"), "--proba-prefix", "p_"]


def processor_seconds(arguments: list[str]) -> tuple[float, float]:
    """Of the command, from its start to its end; and how long one waits for it."""
    before, start = os.times(), time.perf_counter()
    subprocess.run([*COMMAND, *arguments], check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    used = sum(getattr(after, key) - getattr(before, key) for key in ("children_user", "children_system"))
    return used, time.perf_counter() - start


def main() -> int:
    print("| what | measured | promised | |\n| --- | --- | --- | --- |")
    for shape, (rows, classes, at_most) in SHAPES.items():
        with TemporaryDirectory() as folder:
            files = write_files(Path(folder), rows, classes)
            processor_seconds(files)  # compiles, and warms caches
            plain, waited = processor_seconds(files)
            decomposed, _ = processor_seconds([*files, "--decompose"])
        claim(shape, plain, "with `--decompose`", decomposed, at_most)
        record(f"{shape}: one waits", f"{waited:.1f} s", "", None)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
