"""Weekly files of forecasts, for whoever tests the monitor."""

import csv
import json

import numpy as np

CLASSES = ("flu", "covid", "cold")
COSTS = "flu=100,covid=300,cold=40"


def week(number, power=1.0, n=40):
    """Ids, true classes and forecasts of one week; sharper than they should be where power > 1."""
    return [f"{number}/{i}" for i in range(n)], *cases(n, number, power)


def write_week(path, number, power=1.0, labelled=True, flat=False, n=40):
    """One week as a file; without labels, or with forecasts that are half flat."""
    ids, truth, p = week(number, power, n)
    p = 0.5 * p + 0.5 / 3 if flat else p
    labels = [CLASSES[k] if labelled else "" for k in truth]
    rows = zip(ids, labels, *(map(repr, map(float, column)) for column in p.T), strict=True)
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "label", *CLASSES, "week"])
        writer.writerows((*row, f"week {number}") for row in rows)
    return path


def cases(n, seed=0, power=1.0, classes=3):
    """Labels drawn from forecasts, and the forecasts, sharper than they should be where power > 1."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(classes), n)
    y = (rng.random((n, 1)) > p.cumsum(axis=1)).sum(axis=1).clip(max=classes - 1)
    sharp = p**power
    return y, sharp / sharp.sum(axis=1, keepdims=True)


def as_text(monitor):
    """A monitor's state as JSON."""
    return json.dumps(monitor.state(), allow_nan=False)
