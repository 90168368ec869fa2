"""Train for search, and check that it pays: a linear model on log loss, and on the search score with prices.

Handwritten digits, a third of which are learned from. Run with ``python examples/train.py``.
"""

from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pandora_regret.compare import Comparison, compare
from pandora_regret.integrations.torch.trainer import SearchProbe

PRICES = np.array([5.0, 5.0, 5.0, 40.0, 5.0, 5.0, 5.0, 5.0, 40.0, 5.0])  # dollars per check; 3 and 8 are expensive
LOSSES: dict[str, dict[str, Any]] = {
    "log loss": {"objective": "log_loss"},
    "search score, alpha 0": {"objective": "search", "alpha": 0.0, "typical_costs": PRICES},
    "search score, alpha 1": {"objective": "search", "alpha": 1.0, "typical_costs": PRICES},
}


def verdict(comparison: Comparison) -> str:
    """Whether any other loss is clearly cheaper than log loss."""
    best = comparison.best.name
    if best == "log loss":
        return "Keep log loss: no other loss is cheaper."
    gap = next(pair for pair in comparison.differences if (pair.model, pair.against) == (best, "log loss"))
    assert gap.low is not None  # intervals need two rows
    assert gap.high is not None
    saved = f"{best} saves ${-gap.difference:.2f} per search, 95 % interval ${-gap.high:.2f} to ${-gap.low:.2f}"
    return f"Train on the {saved}." if gap.high < 0 else f"Not settled: the {saved}."


def main() -> None:
    X, y = load_digits(return_X_y=True)
    X_train, X_new, y_train, y_new = train_test_split(X, y, train_size=600, stratify=y, random_state=0)
    forecasts = {}
    for name, loss in LOSSES.items():
        probe = SearchProbe(**loss, epochs=40, learning_rate=0.03, random_state=0)
        forecasts[name] = make_pipeline(StandardScaler(), probe).fit(X_train, y_train).predict_proba(X_new)

    comparison = compare(y_new, forecasts, typical_costs=PRICES, currency="USD")
    print("trained on             per search   log loss   accuracy")
    for row in comparison.table():
        print(f"{row['model']:22}  ${row['expected_cost']:8.2f}  {row['log_loss']:9.3f}  {row['accuracy']:9.1%}")
    print(f"an oracle               ${comparison.best.unavoidable:8.2f}")
    print(verdict(comparison))


if __name__ == "__main__":
    main()
