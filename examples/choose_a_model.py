"""Choose a model by what searching with its forecasts costs, and a setting by the same.

Three classifiers tell barolo, grignolino and barbera apart by chemical measurements. Which laboratory assay to run
first is up to the forecast; each has its price, in euros.
Run with ``python examples/choose_a_model.py``.
"""

import numpy as np
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from pandora_regret import Comparison, compare
from pandora_regret.integrations.sklearn import search_cost_scorer

PRICES = {"barolo": 90.0, "grignolino": 60.0, "barbera": 30.0}  # of the assay that confirms each wine; invented
CANDIDATES = {
    "logistic regression": make_pipeline(StandardScaler(), LogisticRegression()),
    "naive Bayes": GaussianNB(),
    "decision tree": DecisionTreeClassifier(max_depth=3, random_state=0),
}


def read_samples() -> tuple[np.ndarray, np.ndarray]:
    """Measurements, and which wine it is; scikit-learn knows the wines by number."""
    chemistry, number = load_wine(return_X_y=True)
    return chemistry, np.array(list(PRICES))[number]


def compare_candidates() -> Comparison:
    """Every forecast is made by a model that has not seen the sample."""
    X, y = read_samples()
    forecasts = {
        name: cross_val_predict(model, X, y, cv=5, method="predict_proba") for name, model in CANDIDATES.items()
    }
    return compare(y, forecasts, labels=sorted(PRICES), costs=PRICES, currency="EUR")


def tune_tree() -> GridSearchCV:
    """The depth of a tree whose searches cost least."""
    X, y = read_samples()
    depths = {"max_depth": [1, 2, 3, 5]}
    scorer = search_cost_scorer(costs=PRICES)
    return GridSearchCV(DecisionTreeClassifier(random_state=0), depths, scoring=scorer, cv=5).fit(X, y)


def main() -> None:
    comparison = compare_candidates()
    print("model                 EUR per sample   tests   accuracy")
    for row in comparison.table():
        print(f"{row['model']:20}  {row['expected_cost']:14.2f}  {row['tests']:6.2f}  {row['accuracy']:9.1%}")
    print(f"an oracle             {comparison.best.unavoidable:14.2f}    1.00     100.0%")
    print()
    print(*comparison.headline, sep="\n")
    tuned = tune_tree()
    depth, cost = tuned.best_params_["max_depth"], -tuned.best_score_
    print(f"\nIf it has to be a tree: depth {depth}, at EUR {cost:.2f} per sample.")


if __name__ == "__main__":
    main()
