"""What scoring a file costs beside reading it, and how much memory that takes, against what pyarrow alone needs.

Run with ``python benchmarks/stream.py`` on a quiet machine; it takes 40 bytes per row of the temporary folder.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from yardstick import ENVIRONMENT, claim, finish, in_turn, processor_seconds, record

CLASSES = [f"class {k}" for k in range(10)]
ROWS_AT_ONCE = 1 << 20
MOST_MEGABYTES = 450


def write_file(path: Path, n_rows: int) -> None:
    """Forecasts in float32, in row groups of the usual size, labels as column numbers."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng, writer = np.random.default_rng(0), None
    for start in range(0, n_rows, ROWS_AT_ONCE):
        n = min(ROWS_AT_ONCE, n_rows - start)
        values = rng.exponential(size=(n, len(CLASSES))).astype(np.float32)
        values /= values.sum(axis=1, keepdims=True)
        table = pa.table({"y_true": rng.integers(0, 10, n), **dict(zip(CLASSES, values.T, strict=True))})
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def read(path: str, rows: int, **options: Any) -> None:
    """The same columns, by as many threads, kept nowhere."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path, **options) as file:
        for _ in file.iter_batches(rows, columns=["y_true", *CLASSES]):
            pass


def score(path: str, costs: Any = None, bootstrap: int = 0) -> Any:
    from pandora_regret.files import open_predictions
    from pandora_regret.stream import score_stream

    [predictions] = open_predictions(path)
    return score_stream(predictions, costs=costs, bootstrap=bootstrap)


def child(path: str, repeats: int) -> None:
    """Runs in a process of its own: what one cold run takes, the most memory it had, then times of warm runs."""
    start = time.perf_counter()
    score(path)
    cold, peak = time.perf_counter() - start, _peak_megabytes()
    prices = np.arange(1.0, 11.0)
    works: dict[str, Callable[[], Any]] = {
        "read": lambda: read(path, 1 << 18),
        "read in bounded memory": lambda: read(path, 1 << 18, pre_buffer=False, buffer_size=1 << 20),
        "score": lambda: score(path),
        "with costs": lambda: score(path, prices),
    }
    print(json.dumps({"cold": cold, "peak": peak, **in_turn(works, repeats, processor_seconds)}))


def _peak_megabytes() -> float:
    status = Path("/proc/self/status").read_text()
    [line] = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) / 1024


def measured(path: Path, repeats: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--child", str(path), "--repeats", str(repeats)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout))


COMMAND = "import sys; from pandora_regret.cli import main; sys.argv = ['pandora', 'score', sys.argv[1]]; main()"
READER = """
import sys
import pyarrow.parquet as pq
with pq.ParquetFile(sys.argv[1], pre_buffer=False, buffer_size=1 << 20) as file:  # the faster way in a new process
    for _ in file.iter_batches(1 << 18):
        pass
"""


def whole_processes(path: Path, repeats: int) -> None:
    """The command from its start to its end, loops compiled before, against a process that only reads the file."""

    def process(program: str) -> Callable[[], Any]:
        command = [sys.executable, "-c", program, str(path)]
        return lambda: subprocess.run(command, check=True, capture_output=True, env=ENVIRONMENT)

    seconds = in_turn({"command": process(COMMAND), "reader": process(READER)}, repeats, processor_seconds)
    claim("pandora score, whole process", seconds["command"], "a process that reads", seconds["reader"], 2.3)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child, options.repeats)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "predictions.parquet"
        write_file(path, options.rows)
        score(str(path))  # loops compiled, for the child to load
        found = measured(path, options.repeats)
        whole_processes(path, options.repeats)
    what, reading = (
        f"score {options.rows:,} x 10 float32 Parquet",
        min(found["read"], found["read in bounded memory"]),
    )
    claim(what, found["score"], "pyarrow reading the columns", reading, 1.4)
    record(
        f"{what}, peak memory",
        f"{found['peak']:.0f} MB",
        f"at most {MOST_MEGABYTES}",
        found["peak"] <= MOST_MEGABYTES,
    )
    claim(f"{what}, with costs", found["with costs"], "the same without", found["score"], 1.2)
    record(f"{what}, first run of a process", f"{found['cold']:.2f} s", f"{found['score']:.2f} s when warm", None)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
