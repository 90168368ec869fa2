"""Recalibrate a classifier so that searching by its forecasts costs less, and see beforehand what that is worth.

A forest of shallow trees reads handwritten digits, and is far too timid. Run with
``python examples/recalibrate.py``.
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import cross_val_predict, train_test_split

from pandora_regret import expected_search_cost
from pandora_regret.calibrate import CalibratedSearch, decompose

PRICES = np.array([5.0, 5.0, 5.0, 20.0, 5.0, 5.0, 5.0, 5.0, 20.0, 5.0])  # dollars per check


def main() -> None:
    X, y = load_digits(return_X_y=True)
    X_train, X_new, y_train, y_new = train_test_split(X, y, test_size=0.4, stratify=y, random_state=0)

    forest = RandomForestClassifier(30, max_depth=6, random_state=0)
    unseen = cross_val_predict(forest, X_train, y_train, cv=5, method="predict_proba")
    parts = decompose(y_train, unseen, costs=PRICES, currency="USD")
    saved = parts.miscalibration
    print(f"A search costs ${parts.score.value:.2f} on average.")
    print(f"Recalibrating would save ${saved.value:.2f} of that (between ${saved.low:.2f} and ${saved.high:.2f}).")

    print("\nOn new digits:")
    bill("as it is", y_new, forest.fit(X_train, y_train).predict_proba(X_new))
    for method in ("temperature", "vector"):
        model = CalibratedSearch(forest, method=method).fit(X_train, y_train)
        bill(f"recalibrated, {method}", y_new, model.predict_proba(X_new))
    bill("an oracle", y_new, np.eye(10)[y_new])


def bill(name: str, truth: np.ndarray, proba: np.ndarray) -> None:
    cost = expected_search_cost(truth, proba, costs=PRICES)
    print(f"  {name:24} ${cost:.2f} per search")


if __name__ == "__main__":
    main()
