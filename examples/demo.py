"""The whole of it on bundled data: a zoo predicts, models are compared, metrics are held against the bill.

Every forecast is out of fold: no model is scored on an image it was trained on.
"""

from pathlib import Path

from pandora_regret import Comparison, compare
from pandora_regret.cli.comparison import print_comparison
from pandora_regret.cli.output import bars, echo
from pandora_regret.report import write_report
from pandora_regret.study import PAPER_METRICS, Store, Study, begin, run_study, study_grid

STUDY = Path(__file__).parent / "studies" / "digits.toml"
OUT = Path("demo-output")
CANDIDATES = {
    "logistic C=0.1": "Logistic regression",
    "naive Bayes": "Naive Bayes",
    "tree depth=6": "Decision tree",
    "forest 100": "Random forest",
    "neighbours 10": "Nearest neighbours",
    "network 32": "Neural network",
    "SVM C=1 sigmoid": "Support vectors",
}


def compare_candidates(study: Study, store: Store) -> Comparison:
    """A few of the zoo's models, as one would compare candidates for a task."""
    forecasts = dict(zip(CANDIDATES.values(), store.probabilities(CANDIDATES), strict=True))
    data = study.data[0]
    return compare(
        [store.classes[number] for number in store.truth],
        forecasts,
        labels=store.classes,
        costs=data.costs_of(store.classes),
        currency="USD",
        source=f"made up, see {STUDY.name}",
    )


def main() -> None:
    echo("A zoo of scikit-learn classifiers reads noisy digits, out of fold", bold=True)
    study = begin(STUDY, OUT)
    with bars() as watcher:
        results = run_study(study, OUT, jobs=2, watcher=watcher)
    echo("Seven candidates: which one to deploy?", bold=True)
    comparison = compare_candidates(study, Store.open(OUT / study.data[0].name))
    print_comparison(comparison)
    echo("All models of the zoo: which metric ranks them by what their searches cost?", bold=True)
    echo(study_grid(results).render())
    echo("And what does it cost per case to pick the model that the metric likes best?", bold=True)
    echo(study_grid(results, "extra_cost", PAPER_METRICS).render(intervals=True))
    page = write_report(comparison, OUT / "report.html", title="Which digit is it?")
    echo(f"The report, to look at and pass on: {page.resolve()}", bold=True)


if __name__ == "__main__":
    main()
