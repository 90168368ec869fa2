"""Ranked lists: what a comparison of long tables costs beside reading the same files with pyarrow.

Run with ``python benchmarks/candidates.py``. Four models of 112,757 candidates of 353 cases in CSV files, as
processor seconds of whole processes, the least of several. Starting the command takes 1.7 times what the reader
takes from start to end, which is why files this small miss the promise of 2. Then 50 million candidates of 6,000
cases in one Parquet file of 240 MB, which are searched as they are read; and, in memory, the costs at one price of
a miss against a sort.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from yardstick import claim, finish, in_turn, process_seconds, record

from pandora_regret import Candidates

COMMAND = ["-c", "from pandora_regret.cli import main; main()"]
OPTIONS = ["--id", "bug", "--candidate", "method", "--score", "score", "--price", "lines", "--hit", "is_bug"]
READER = """
import sys, numpy, click
from pyarrow.csv import read_csv
tables = [read_csv(path) for path in sys.argv[1:]]
"""
PEAK = """
import resource, sys
from pandora_regret.cli import main
try:
    main()
finally:
    sys.stderr.write(str(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1000))
"""
STREAMER = """
import sys, numpy, click
from pyarrow.parquet import ParquetFile
for batch in ParquetFile(sys.argv[1]).iter_batches(columns=["patient", "disease", "score", "hit"]):
    pass
"""
STREAMED = ["--id", "patient", "--candidate", "disease", "--score", "score", "--hit", "hit", "--miss", "500"]
PATIENTS = 6000
PATIENTS_AT_ONCE = 100
DISEASES = 8334
CASES = 353
CANDIDATES = 112_757
MODELS = 4


def write_tables(folder: Path) -> list[str]:
    """A long table of each model: the same candidates, other scores."""
    import pyarrow as pa
    import pyarrow.csv as pa_csv

    rng = np.random.default_rng(0)
    case = np.sort(rng.integers(0, CASES, CANDIDATES))
    number = np.arange(CANDIDATES) - np.searchsorted(case, case)
    hit = (rng.random(CANDIDATES) < 0.004).astype(int)
    columns = {
        "bug": [f"bug {which}" for which in case],
        "method": [
            f"org.project.Class{which % 40}.method{place}" for which, place in zip(case, number, strict=True)
        ],
        "lines": rng.integers(1, 90, CANDIDATES),
        "is_bug": hit,
    }
    paths = []
    for model in range(MODELS):
        path = folder / f"model {model}.csv"
        score = np.round(rng.normal(hit * model / 2), 2)
        pa_csv.write_csv(pa.table(columns | {"score": score}), path)
        paths.append(str(path))
    return paths


def write_long_table(folder: Path) -> str:
    """50 million candidates in a Parquet file: of each patient all diseases."""
    import pyarrow as pa
    import pyarrow.parquet as pa_parquet

    rng = np.random.default_rng(0)
    names = pa.array([f"OMIM:{100_000 + number}" for number in range(DISEASES)])
    code = np.tile(np.arange(DISEASES, dtype=np.int32), PATIENTS_AT_ONCE)
    path = folder / "patients.parquet"
    writer = None
    for first in range(0, PATIENTS, PATIENTS_AT_ONCE):
        patients = pa.array([f"P{first + number}" for number in range(PATIENTS_AT_ONCE)])
        hit = np.zeros((PATIENTS_AT_ONCE, DISEASES), dtype=bool)
        hit[np.arange(PATIENTS_AT_ONCE), rng.integers(0, DISEASES, PATIENTS_AT_ONCE)] = True
        table = pa.table(
            {
                "patient": patients.take(pa.array(np.repeat(np.arange(PATIENTS_AT_ONCE), DISEASES))),
                "disease": pa.DictionaryArray.from_arrays(pa.array(code), names),
                "score": np.round(rng.random(len(code)), 3),
                "hit": hit.ravel(),
            }
        )
        writer = writer or pa_parquet.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()
    return str(path)


def lists_in_memory() -> Candidates:
    """The same candidates with probabilities."""
    rng = np.random.default_rng(1)
    lengths = rng.multinomial(CANDIDATES, np.ones(CASES) / CASES)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return Candidates(
        ids=tuple(map(str, range(CASES))),
        offsets=offsets,
        names=tuple(map(str, range(CANDIDATES))),
        codes=np.arange(CANDIDATES),
        values=rng.random(CANDIDATES) * 1.5 / np.repeat(lengths, lengths),
        prices=rng.integers(1, 90, CANDIDATES).astype(float),
        is_true=rng.random(CANDIDATES) < 0.004,
        has_probabilities=True,
    )


def main() -> int:
    with TemporaryDirectory() as folder:
        paths = write_tables(Path(folder))
        reading = process_seconds(["-c", READER, *paths], repeats=5)
        comparing = process_seconds([*COMMAND, "compare", *paths, *OPTIONS, "--miss", "500"], repeats=5)
        claim("pandora compare, 4 x 112,757 candidates", comparing, "imports and pyarrow reading", reading, 2.0)
        peak = _peak_megabytes([*COMMAND[:1], PEAK, "compare", *paths, *OPTIONS, "--miss", "500"])
        record("its memory", f"{peak} MB", "at most 300 MB", peak <= 300)
    with TemporaryDirectory() as folder:
        path = write_long_table(Path(folder))
        reading = process_seconds(["-c", STREAMER, path], repeats=3)
        scoring = process_seconds([*COMMAND, "score", path, *STREAMED], repeats=3)
        claim("pandora score, 50 million candidates", scoring, "imports and pyarrow reading", reading, 2.0)
        peak = _peak_megabytes([*COMMAND[:1], PEAK, "score", path, *STREAMED])
        record("its memory", f"{peak} MB", "at most 600 MB", peak <= 600)
    lists = lists_in_memory()
    keys = np.random.default_rng(2).random(CANDIDATES)
    seconds = in_turn({"sort": lambda: np.argsort(keys), "price": lambda: lists.costs(500.0)}, 15)
    claim("costs at one price of a miss, 112,757 candidates", seconds["price"], "sort", seconds["sort"], 1.0)
    return finish()


def _peak_megabytes(arguments: list[str]) -> int:
    """The largest resident memory of a process of Python."""
    import subprocess

    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True)
    return int(done.stderr.splitlines()[-1])


if __name__ == "__main__":
    sys.exit(main())
