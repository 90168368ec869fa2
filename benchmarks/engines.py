"""What the closed forms cost inside an engine, against its own mean of the same ten columns in the same run.

Run with ``.venv-engines/bin/python benchmarks/engines.py`` after ``make engines``, on a quiet machine; it takes 85
bytes per row of the temporary folder.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from yardstick import claim, finish, in_turn, record

from pandora_regret.integrations.frames import score_frame

CLASSES = [f"class {k}" for k in range(10)]
PRICES = dict(zip(CLASSES, [10.0, 20.0, 50.0, 80.0, 15.0, 30.0, 25.0, 5.0, 300.0, 60.0], strict=True))
MOST = 20.0  # times the engine's mean, for Polars and DuckDB
ROWS_AT_ONCE = 1 << 20


def write_file(path: Path, n_rows: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng, writer = np.random.default_rng(0), None
    for start in range(0, n_rows, ROWS_AT_ONCE):
        n = min(ROWS_AT_ONCE, n_rows - start)
        values = rng.exponential(size=(n, len(CLASSES)))
        values /= values.sum(axis=1, keepdims=True)
        labels = pa.array(np.array(CLASSES)[rng.integers(0, 10, n)])
        table = pa.table({"truth": labels, **dict(zip(CLASSES, values.T, strict=True))})
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def engines(path: Path, names: list[str]) -> Iterator[tuple[str, Any]]:
    """Each engine with the rows where it likes them best: in memory, or for Spark and Dask in the file."""
    if "polars" in names:
        import polars as pl

        yield "Polars", pl.read_parquet(path).lazy()
    if "duckdb" in names:
        import duckdb

        connection = duckdb.connect()
        connection.execute(f"CREATE TABLE rows AS SELECT * FROM '{path}'")
        yield "DuckDB", connection.table("rows")
    if "spark" in names:
        yield "Spark", _spark().read.parquet(str(path))
    if "dask" in names:
        import dask.dataframe as dd

        yield "Dask", dd.read_parquet(path, split_row_groups=True)


def _spark() -> Any:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    return builder.config("spark.driver.memory", "4g").getOrCreate()


def collected(frame: Any) -> Any:
    """Polars by its streaming engine, which works on pieces that fit a cache; its mean is as fast by either."""
    if type(frame).__module__.startswith("polars"):
        return frame.collect(engine="streaming")
    return nw.from_native(frame).collect()


def works_of(frame: Any) -> dict[str, Callable[[], Any]]:
    def score(**options: Any) -> Callable[[], Any]:
        return lambda: collected(score_frame(frame, CLASSES, label="truth", **options))

    return {
        "mean of ten columns": lambda: collected(
            nw.from_native(frame).select(nw.col(*CLASSES).mean()).to_native()
        ),
        "Pandora's Regret": score(metrics=["pandora_regret"]),
        "search cost at ten prices": score(metrics=["expected_search_cost"], costs=PRICES),
        "search cost by class": score(metrics=["expected_search_cost"], costs=PRICES, by=["truth"]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--engines", nargs="+", default=["polars", "duckdb", "spark", "dask"])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        write_file(path, options.rows)
        for name, frame in engines(path, options.engines):
            seconds = in_turn(works_of(frame), options.repeats)
            yardstick = seconds.pop("mean of ten columns")
            for work, taken in seconds.items():
                about = f"{name}, {options.rows:,} x 10: {work}"
                if name in ("Polars", "DuckDB") and work == "Pandora's Regret":
                    claim(about, taken, "its mean of ten columns", yardstick, MOST)
                else:
                    record(about, f"{taken / yardstick:.1f} x its mean of ten columns = {taken:.2f} s", "", None)
    raise SystemExit(finish())


if __name__ == "__main__":
    main()
