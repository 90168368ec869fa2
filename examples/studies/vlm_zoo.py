"""Zoos of 26 vision-language models (VLM-Uncertainty-Bench, MIT): MMBench and OOD-CV, whole and by kind.

python examples/studies/vlm_zoo.py FOLDER   where FOLDER holds mmbench.parquet and oodcv.parquet

Writes examples/studies/data/vlm/*.parquet, which vlm.toml and vlm_categories.toml read: a row per question and
model, with the logits of options A to F, of which E ("I don't know") and F ("none of the above") are never true.
"""

import sys
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq

OUT = Path(__file__).parent / "data" / "vlm"
KINDS = {"mmbench": "l2-category", "oodcv": "situation"}  # the column of a question's kind
COLUMNS = ["id", "model", "y_true", *"ABCDEF"]


def main() -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    for name, kind in KINDS.items():
        table = pq.read_table(Path(sys.argv[1]) / f"{name}.parquet")
        pq.write_table(table.select(COLUMNS), OUT / f"{name}.parquet")
        for part in pc.unique(table[kind].cast("string")).to_pylist():
            words = "_".join(part.replace("(", "").replace(")", "").replace("-", "_").split())
            rows = table.filter(pc.equal(table[kind].cast("string"), part))
            pq.write_table(rows.select(COLUMNS), OUT / f"{name}_{words}.parquet")


if __name__ == "__main__":
    main()
