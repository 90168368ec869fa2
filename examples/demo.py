"""Classifiers of handwritten digits, compared by what a search for the true digit would cost.

Every forecast is out of fold: no model is scored on an image it was trained on.
"""

from collections.abc import Callable, Iterator
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import track
from rich.table import Table
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score, log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from pandora_regret import excess_search_burden, expected_search_cost, pandora_regret

Labels = NDArray[np.int64]
Forecast = NDArray[np.float64]
Scores = dict[str, float]

FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)


class Metric(NamedTuple):
    title: str
    score: Callable[[Labels, Forecast], float]
    best: Callable[[Iterator[float]], float] = min
    number: str = ".4f"


def search_cost(y: Labels, proba: Forecast) -> float:
    """With tests that cost 1 on average, an oracle that knows the digit pays exactly 1."""
    return float(expected_search_cost(y, proba, typical_costs=np.ones(proba.shape[1])))


def macro_f1(y: Labels, proba: Forecast) -> float:
    return float(f1_score(y, proba.argmax(axis=1), average="macro"))


def accuracy(y: Labels, proba: Forecast) -> float:
    return float(accuracy_score(y, proba.argmax(axis=1)))


METRICS = [
    Metric("Pandora's Regret", pandora_regret),
    Metric("Excess burden", excess_search_burden, number=".1%"),
    Metric("Search cost", search_cost, number=".3f"),
    Metric("Log loss", log_loss, number=".3f"),
    Metric("Accuracy", accuracy, max, ".1%"),
    Metric("Macro-F1", macro_f1, max, ".3f"),
]


def classifiers() -> dict[str, Any]:
    return {
        "Logistic, strong L2": LogisticRegression(C=1e-2),
        "Logistic, weak L2": LogisticRegression(C=1e3, max_iter=2000),
        "Naive Bayes": GaussianNB(var_smoothing=1e-3),
        "Nearest neighbours": KNeighborsClassifier(5),
        "Decision tree": DecisionTreeClassifier(min_samples_leaf=5, random_state=0),
        "Random forest": RandomForestClassifier(200, random_state=0),
        "Neural network": MLPClassifier(64, max_iter=1000, random_state=0),
        "Support vectors": CalibratedClassifierCV(SVC(), ensemble=False),
    }


def evaluate(model: Any, images: Forecast, y: Labels) -> Scores:
    proba = cross_val_predict(model, images, y, cv=FOLDS, method="predict_proba")
    return {metric.title: metric.score(y, proba) for metric in METRICS}


def evaluate_all(progress: Console) -> dict[str, Scores]:
    """Scores of every model, lowest Pandora's Regret first."""
    pixels, y = load_digits(return_X_y=True)
    models = track(classifiers().items(), "Training out of fold", console=progress)
    scores = {name: evaluate(model, pixels / 16, y) for name, model in models}
    return dict(sorted(scores.items(), key=lambda item: item[1]["Pandora's Regret"]))


def cells(row: Scores, best: Scores) -> Iterator[str]:
    for metric in METRICS:
        value = row[metric.title]
        text = format(value, metric.number)
        yield f"[bold green]{text}[/]" if value == best[metric.title] else text


def as_table(scores: dict[str, Scores]) -> Table:
    best = {m.title: m.best(row[m.title] for row in scores.values()) for m in METRICS}
    title = "Which digit is it? 1,797 images, 10 classes"
    caption = "Log loss is scikit-learn's, where a probability of 0 counts as 2e-16"
    table = Table("Model", title=title, caption=caption, box=SIMPLE_HEAD, collapse_padding=True)
    for metric in METRICS:
        table.add_column(metric.title.replace(" ", "\n"), justify="right", vertical="bottom")
    for name, row in scores.items():
        table.add_row(name, *cells(row, best))
    return table


def widest_disagreement(scores: dict[str, Scores]) -> tuple[str, str] | None:
    """The model log loss prefers and the cheaper one it should have preferred, furthest apart in cost."""

    def gap(pair: tuple[str, str]) -> float:
        return scores[pair[0]]["Search cost"] - scores[pair[1]]["Search cost"]

    pairs = permutations(scores, 2)
    opposed = [p for p in pairs if scores[p[0]]["Log loss"] < scores[p[1]]["Log loss"] and gap(p) > 0]
    return max(opposed, key=gap, default=None)


def verdict(scores: dict[str, Scores]) -> str:
    pair = widest_disagreement(scores)
    if pair is None:
        return "On this data log loss and search cost rank every pair of models the same way."
    preferred, cheaper = pair
    a, b = scores[preferred], scores[cheaper]
    return (
        f"Log loss prefers [bold]{preferred}[/] ({a['Log loss']:.3f}) to [bold]{cheaper}[/] "
        f"({b['Log loss']:.3f}). Searching with it costs more: {a['Search cost']:.3f} "
        f"against {b['Search cost']:.3f}, where a test costs 1 on average and an oracle pays 1."
    )


def main() -> None:
    scores = evaluate_all(progress=Console(stderr=True))
    console = Console()
    console.print(as_table(scores), "", verdict(scores), sep="\n")


if __name__ == "__main__":
    main()
