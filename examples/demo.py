"""The whole of it on real patients: a zoo predicts, models are compared, the next test is planned for one patient.

Six skin diseases that look alike, 366 patients, and models that see what is seen at the visit, not the biopsy: see
data/dermatology/README.md. Every forecast is out of fold: no model forecasts a patient it was fitted on. The
commands that are printed can be run again, and changed.
"""

import csv
import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np

from pandora_regret.cli.output import bars, echo
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


def main() -> None:
    """The study, the comparison with its page, the next test, and what to try next."""
    echo("A hundred classifiers forecast the diseases of 366 patients, out of fold", bold=True)
    study = begin(STUDY, OUT)
    with bars() as watcher:
        results = run_study(study, OUT, jobs=2, watcher=watcher)
    store = Store.open(OUT / study.data[0].name)

    echo("\nThree of them: which one to deploy?", bold=True)
    files = [OUT / name for name in CANDIDATES]
    for file, model in zip(files, CANDIDATES.values(), strict=True):
        write_forecasts(store, model, file)
    searched = ("--costs", DATA / "prices.csv", "--currency", "USD")
    run("compare", *files, *searched, "--html", OUT / "report.html", "--force")

    echo("\nOne patient of whom the forest is unsure: what to test next, if tests share a visit?", bold=True)
    patient = undecided_patient(store, CANDIDATES["forest.csv"])
    run("next", DATA / "workup.toml", OUT / "forest.csv", "--case", patient)

    echo("\nAll models of the zoo: which metric ranks them by what their searches cost?", bold=True)
    echo(study_grid(results).render())
    echo("\nAnd what does it cost per patient to pick the model that the metric likes best?", bold=True)
    echo(study_grid(results, "extra_cost", PAPER_METRICS).render(intervals=True))

    echo(f"\nThe page, to look at and pass on: {(OUT / 'report.html').resolve()}", bold=True)
    echo("With your own files, try next:", bold=True)
    echo("  pandora validate yours.csv --costs prices.csv")
    echo("  pandora compare yours.csv theirs.csv --costs prices.csv --html report.html")
    echo('  pandora next "flu=0.6,cold=0.4" --costs "flu=20,cold=5"')


if __name__ == "__main__":
    main()
