"""What the command `pandora compare` costs, against reading the same files and one `log_loss` per model.

Run with ``python benchmarks/compare.py``. Figures are processor seconds, which other work disturbs less; the
command's are of a run that finds its loops compiled.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from yardstick import claim, finish, process_seconds, processor_seconds

import pandora_regret as pr
from pandora_regret import compare

COMMAND = ["-c", "from pandora_regret.cli import main; main()", "compare"]
READER = """
import sys
import numpy as np
import pyarrow.csv
from sklearn.metrics import log_loss
for path in sys.argv[1:]:
    table = pyarrow.csv.read_csv(path)
    values = np.stack([table.column(number).to_numpy() for number in range(1, table.num_columns)], axis=1)
    log_loss(table.column(0).to_numpy(), values, labels=np.arange(values.shape[1]))
"""
SHAPES = {  # models, rows and classes, and how many times as long as reading them may take
    "3 x 3,000 rows x 1,000 classes": ((3, 3000, 1000), 1.5),
    "19 x 10,000 rows x 100 classes": ((19, 10_000, 100), 2.0),
}
SKILLS = ((3.0, 1.0), (2.8, 1.6), (2.5, 1.0))  # what each model sees of the truth, and how sure of itself it is


def write_files(folder: Path, models: int, rows: int, classes: int) -> tuple[list[str], str]:
    """Forecasts of every model, and prices."""
    import pyarrow as pa
    import pyarrow.csv as arrow_csv

    rng = np.random.default_rng(0)
    truth, paths = rng.integers(0, classes, rows), []
    for number in range(models):
        skill, boldness = SKILLS[number % len(SKILLS)]
        scores = rng.normal(size=(rows, classes))
        scores[np.arange(rows), truth] += skill - 0.02 * number
        odds = np.exp(boldness * scores)
        table = (odds / odds.sum(axis=1, keepdims=True)).round(9)
        table[:, -1] = 1 - table[:, :-1].sum(axis=1)
        columns = {f"p_{k}": table[:, k].clip(0) for k in range(classes)}
        paths.append(str(folder / f"model{number}.csv"))
        arrow_csv.write_csv(pa.table({"label": truth, **columns}), paths[-1])
    prices = "".join(f"{k},{price:.2f}\n" for k, price in enumerate(rng.uniform(20, 400, classes)))
    (folder / "prices.csv").write_text("class,cost\n" + prices)
    return paths, str(folder / "prices.csv")


def priors() -> None:
    """The library's `compare` under priors that take more work, against those that take little."""
    truth, models, prices = simulated_models(20_000, 7, 3)
    samples = prices * np.random.default_rng(1).lognormal(size=(200, 7))
    observed = pr.Empirical(samples / samples.mean(axis=0))
    unit = seconds_of(truth, models, prices, pr.LogNormal(1.0))
    claim("compare, 3 x 20,000 x 7, Empirical", seconds_of(truth, models, prices, observed), "LogNormal", unit, 10)
    truth, models, prices = simulated_models(20_000, 100, 2)
    unit = seconds_of(truth, models, prices, pr.Uniform())
    exponential = seconds_of(truth, models, prices, pr.Exponential())
    claim("compare, 2 x 20,000 x 100, Exponential", exponential, "Uniform", unit, 3)


def simulated_models(rows: int, classes: int, models: int) -> tuple[np.ndarray, dict[str, np.ndarray], np.ndarray]:
    """True classes, forecasts of models of rising skill, and a price of each test."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, classes, rows)
    forecasts = {}
    for number in range(models):
        likeliest = np.where(rng.random(rows) < 0.7 + 0.05 * number, truth, rng.integers(0, classes, rows))
        noise = rng.dirichlet(np.ones(classes), rows)
        forecasts[f"model {number}"] = 0.5 * noise + 0.5 * np.eye(classes)[likeliest]
    return truth, forecasts, rng.uniform(20, 400, classes)


def seconds_of(truth: np.ndarray, models: dict[str, np.ndarray], prices: np.ndarray, prior: pr.Prior) -> float:
    """Processor seconds of a comparison: the less of two."""
    return min(processor_seconds(lambda: compare(truth, models, costs=prices, prior=prior)) for _ in range(2))


def main() -> int:
    priors()
    for what, (shape, most) in SHAPES.items():
        with TemporaryDirectory() as folder:
            paths, prices = write_files(Path(folder), *shape)
            reading = process_seconds(["-c", READER, *paths], repeats=3)
            asked = [*COMMAND, *paths, "--costs", prices, "--proba-prefix", "p_"]
            seconds = process_seconds(asked, repeats=3)
        claim(f"pandora compare, {what}", seconds, "reading and log_loss", reading, most)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
