"""The product on real patients: a zoo forecasts, three models are compared, and one next test is planned.

Six skin diseases that look alike, 366 patients, and models that are given what a physician sees at the visit, but
not the biopsy: see data/dermatology/README.md. Every forecast is out of fold: no model forecasts a patient that it
was fitted to. The commands that are printed can be run again, and changed.
"""

import csv
import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np

from pandora_regret.cli.output import bars, echo, say
from pandora_regret.study import PAPER_METRICS, Store, begin, run_study, study_grid

EXAMPLES = Path(os.path.relpath(Path(__file__).parent))
STUDY = EXAMPLES / "studies/clinical.toml"
DATA = EXAMPLES / "data/dermatology"
OUT = Path("demo-output")
CANDIDATES = {  # models of the zoo, as three teams would hand them in: the file, and the model's name in the zoo
    "logistic.csv": "logistic C=0.1",
    "bayes.csv": "naive Bayes",
    "forest.csv": "forest 100",
}
CONDITIONS = """Clinical: tests cost what the price list says.
Well Specified: costs are drawn at random.
Random Temperature: each model is made bolder or more timid by chance.
Random Distractor Temperature: only what it says of the wrong diseases is."""


def write_forecasts(store: Store, model: str, file: Path) -> None:
    """One row per patient: the id, the disease that was found in the end, and the probability of each disease."""
    (probabilities,) = store.probabilities([model])
    with file.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerow(["id", "label", *store.classes])
        for number, (disease, forecast) in enumerate(zip(store.truth, probabilities, strict=True), start=1):
            writer.writerow([f"patient-{number}", store.classes[disease], *forecast.tolist()])


def undecided_patient(store: Store, model: str) -> str:
    """The id of the patient whose likeliest disease has the lowest probability of all patients."""
    (probabilities,) = store.probabilities([model])
    return f"patient-{int(np.argmin(probabilities.max(axis=1))) + 1}"


def run(*arguments: str | Path) -> None:
    """Print a `pandora` command, then run it."""
    words = [str(argument) for argument in arguments]
    echo(f"\n$ pandora {shlex.join(words)}", bold=True)
    sys.stdout.flush()
    subprocess.run([Path(sys.executable).with_name("pandora"), *words], check=True)


def next_commands() -> list[list[str]]:
    """Arguments of three commands: check a file, compare two, order the tests of one patient."""
    prices = ["--costs", str(DATA / "prices.csv")]
    forest = str(OUT / "forest.csv")
    logistic = str(OUT / "logistic.csv")
    return [
        ["validate", forest, *prices],
        ["compare", forest, logistic, *prices, "--html", "report.html"],
        ["next", "psoriasis=0.6,lichen planus=0.4", *prices],
    ]


def main() -> None:
    """The study, the comparison with its page, the next test, and what to try next."""
    echo("A hundred classifiers forecast the skin diseases of 366 patients.", bold=True)
    say("Each patient is forecast by models that were fitted to other patients.")
    say("One more model knows only how frequent each disease is.")
    study = begin(STUDY, OUT)
    with bars() as watcher:
        results = run_study(study, OUT, jobs=2, watcher=watcher)
    store = Store.open(OUT / study.data[0].name)

    echo("\nThree of them: which one should be deployed?", bold=True)
    files = [OUT / name for name in CANDIDATES]
    for file, model in zip(files, CANDIDATES.values(), strict=True):
        write_forecasts(store, model, file)
    prices = ("--costs", DATA / "prices.csv")
    page = OUT / "report.html"
    run("compare", *files, *prices, "--title", "Skin diseases: which model?", "--html", page, "--force")

    echo()
    say("One patient the forest is unsure about: which test comes first, if tests share a visit?", bold=True)
    patient = undecided_patient(store, CANDIDATES["forest.csv"])
    run("next", DATA / "workup.toml", OUT / "forest.csv", "--case", patient)

    echo()
    say("All models: which metric ranks them by what their searches cost?", bold=True)
    echo(CONDITIONS)
    echo()
    echo(study_grid(results).render())
    echo("\nWhat does a patient cost more if the metric picks the model?", bold=True)
    echo(study_grid(results, "extra_cost", PAPER_METRICS).render(intervals=True))

    echo()
    echo(f"The page, to look at and to pass on: {page.resolve()}", bold=True)
    echo("Try next, then put your own files in the place of these:", bold=True)
    activate = Path(sys.executable).with_name("activate")
    if activate.exists():
        echo(f"  source {Path(os.path.relpath(activate))}")
    for words in next_commands():
        echo(f"  {shlex.join(['pandora', *words])}")


if __name__ == "__main__":
    main()
