"""Frames of forecasts that have everything awkward in them."""

import numpy as np
import pandas as pd


def predictions(n_classes=5, n_rows=300, seed=0):
    """Coarse probabilities: many zeros, many ties, some impossible truths."""
    rng = np.random.default_rng(seed)
    counts = np.round(20 * rng.dirichlet(np.full(n_classes, 0.4), n_rows))
    counts[counts.sum(axis=1) == 0] = 1
    classes = [f"class {k}" for k in range(n_classes)]
    frame = pd.DataFrame(counts / counts.sum(axis=1, keepdims=True), columns=classes)
    frame.insert(0, "truth", rng.choice(classes, n_rows))
    frame["site"] = rng.choice(["North", "South", "East"], n_rows)
    frame["row"] = np.arange(n_rows)
    return frame, classes
