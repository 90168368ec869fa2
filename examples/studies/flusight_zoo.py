"""The forecasts of the FluSight hub as a zoo: the models of all three seasons, on what all of them forecast.

python examples/studies/flusight_zoo.py [FOLDER]   where FOLDER holds flusight_rate_change.parquet

Writes examples/studies/data/flusight_zoo.parquet, which examples/studies/flusight.toml reads. Rows are a place, a
week and a horizon that each of the twelve models forecast; sums are put right to double precision.
"""

import sys
from pathlib import Path
from typing import Any

from flusight_monitor import CLASSES, FILE, folder_of_data, read_forecasts

OUT = Path(__file__).parent / "data" / "flusight_zoo.parquet"
CELL = ["reference_date", "horizon", "location"]


def common_rows(table: Any) -> Any:
    """Models with forecasts in every season, and the cells that all of them have."""
    seasons = table.groupby("model", observed=True)["season"].nunique()
    models = seasons.index[seasons == table["season"].nunique()]
    rows = table[table["model"].isin(models)]
    complete = rows.groupby(CELL, observed=True)["model"].transform("size") == len(models)
    return rows[complete].sort_values(["model", *CELL])


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else folder_of_data()
    if folder is None:
        sys.exit(f"{FILE} is not here: name its folder.")
    rows = common_rows(read_forecasts(folder))
    ids = (
        rows["reference_date"].astype(str) + " " + rows["horizon"].astype(str) + " " + rows["location"].astype(str)
    )
    zoo = rows.assign(id=ids, model=rows["model"].astype(str), reference_date=rows["reference_date"].astype(str))
    OUT.parent.mkdir(exist_ok=True)
    zoo[["id", "model", "reference_date", "y_true", *CLASSES]].to_parquet(OUT, index=False)
    print(
        f"{zoo['model'].nunique()} models, {zoo['id'].nunique()} rows of {zoo['reference_date'].nunique()} weeks"
    )


if __name__ == "__main__":
    main()
