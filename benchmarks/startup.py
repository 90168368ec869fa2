"""What a command costs before it begins to work, as processor seconds against imports that it cannot do without.

Run with ``python benchmarks/startup.py``. "first" is a run with an empty cache of compiled loops, which
are not needed yet: the least of three, each with a cache of its own. Five forecasts of 100,000 classes stand in a
CSV file, beside which pyarrow reads the same file, told its types.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from yardstick import ENVIRONMENT, claim, finish, process_seconds, record

COMMAND = ["-c", "from pandora_regret.cli import main; main()"]
WIDE = 100_000  # classes
READER = """
import sys
import pyarrow as pa
from pyarrow.csv import ConvertOptions, ReadOptions, read_csv
types = dict.fromkeys([f"p_{k}" for k in range(int(sys.argv[2]))], pa.float64())
read_csv(sys.argv[1], ReadOptions(block_size=1 << 26), convert_options=ConvertOptions(column_types=types))
"""
IMPORTS, CLICK = ["-c", "import numpy, pyarrow, click"], ["-c", "import click"]


def write_file(path: Path, rows: int, classes: int) -> str:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    table = rng.exponential(size=(rows, classes)).astype(np.float32)
    table /= table.sum(axis=1, keepdims=True)
    columns = {f"class {k}": table[:, k] for k in range(classes)}
    pq.write_table(pa.table({"y_true": rng.integers(0, classes, rows), **columns}), path)
    return str(path)


def write_wide_file(path: Path) -> str:
    table = np.random.default_rng(0).dirichlet(np.ones(WIDE), 5)
    names = ",".join(f"p_{k}" for k in range(WIDE))
    rows = (f"{number},{','.join(map('{:.9g}'.format, row))}" for number, row in enumerate(table))
    path.write_text("\n".join([f"label,{names}", *rows, ""]))
    return str(path)


def first_use(folder: Path, file: str) -> float:
    """Processor seconds of one run of the command for which nothing has been compiled yet."""
    return process_seconds([*COMMAND, "score", file], ENVIRONMENT | {"NUMBA_CACHE_DIR": str(folder)}, repeats=1)


def main() -> int:
    with TemporaryDirectory() as folder:
        environment = ENVIRONMENT | {"NUMBA_CACHE_DIR": f"{folder}/cache"}
        small = write_file(Path(folder) / "small.parquet", 1000, 10)
        large = write_file(Path(folder) / "large.parquet", 200_000, 10)
        click, imports = (process_seconds(of, environment, repeats=7) for of in (CLICK, IMPORTS))
        seconds = process_seconds([*COMMAND, "--help"], environment, repeats=7)
        claim("pandora --help", seconds, "import click", click, 1.2)
        seconds = process_seconds([*COMMAND, "score", small], environment, repeats=7)
        claim("pandora score, 1,000 x 10", seconds, "numpy, pyarrow and click", imports, 2.0)
        seconds = min(first_use(Path(folder) / f"first {number}", large) for number in range(3))
        claim("pandora score, 200,000 x 10, first", seconds, "numpy, pyarrow and click", imports, 4.0)
        seconds = process_seconds([*COMMAND, "score", large], environment, repeats=7)
        claim("pandora score, 200,000 x 10, later", seconds, "numpy, pyarrow and click", imports, 4.0)
        wide = write_wide_file(Path(folder) / "wide.csv")
        reading = process_seconds(["-c", READER, wide, str(WIDE)], environment, repeats=3)
        for what in (["next", wide, "--row", "2"], ["validate", wide]):
            seconds = process_seconds([*COMMAND, *what, "--proba-prefix", "p_"], environment, repeats=3)
            beside = f"at most 2; pyarrow reads the file in {reading:.1f} s"
            record(f"pandora {what[0]}, {WIDE:,} classes", f"{seconds:.1f} s", beside, seconds <= 2)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
