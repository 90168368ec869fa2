"""Troubleshoot a fault: what to check first on a faulty steel plate, and what a good order of checks saves.

Run with ``python examples/troubleshoot.py uci_steel.csv``, the table "Steel Plates Faults" of the UCI repository:
27 measurements, then the fault as a number from 0. Without a table, plates are made up.
"""

import sys

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from pandora_regret import search_cost
from pandora_regret.study import read_labelled_table
from pandora_regret.workup import plan_search

CHECKS = {  # what it costs to confirm or rule out each fault, in euros; invented: put in your own
    "pastry": 60.0,
    "Z scratch": 35.0,
    "K scratch": 35.0,
    "stains": 15.0,
    "dirtiness": 10.0,
    "bumps": 45.0,
    "other": 180.0,
}


def read_plates(table: str | None) -> tuple[np.ndarray, np.ndarray]:
    """Measurements, and the fault of each plate as a position in CHECKS."""
    if table is not None:
        plates = read_labelled_table(table)
        return plates.features, plates.truth
    shares = [0.08, 0.10, 0.20, 0.04, 0.03, 0.21, 0.34]
    kind = {"n_features": 27, "n_informative": 8, "n_classes": 7, "n_clusters_per_class": 1, "class_sep": 0.8}
    X, y = make_classification(900, weights=shares, random_state=0, **kind)
    return X, y


def main() -> None:
    X, y = read_plates(sys.argv[1] if len(sys.argv) > 1 else None)
    X_old, X_new, y_old, y_new = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
    model = RandomForestClassifier(200, min_samples_leaf=2, random_state=0).fit(X_old, y_old)
    proba, prices = model.predict_proba(X_new), np.array(list(CHECKS.values()))

    doubtful = int(np.argmin(proba.max(axis=1)))
    print(f"Plate {doubtful}: what is wrong with it?")
    plan = plan_search(proba[doubtful], prices, labels=list(CHECKS))
    for number, step in enumerate(plan.steps, start=1):
        print(f"  {number}. {step.test:10} EUR {step.cost:6.2f}   found by then: {step.done:4.0%}")
    print(f"  To be expected: EUR {plan.expected_cost:.2f}")

    shares = np.tile(np.bincount(y_old, minlength=len(CHECKS)) / len(y_old), (len(y_new), 1))
    print(f"\nAll {len(y_new)} new plates, on average:")
    print(f"  the same checklist for all          EUR {search_cost(y_new, shares, prices):.2f}")
    print(f"  by forecast and price               EUR {search_cost(y_new, proba, prices):.2f}")
    print(f"  knowing the fault                   EUR {prices[y_new].mean():.2f}")


if __name__ == "__main__":
    main()
