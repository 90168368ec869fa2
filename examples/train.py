"""Train for search, and check that it pays: a linear model on log loss, and on the search score with prices.

Handwritten digits, a third of which are learned from. Run with ``python examples/train.py``.
"""

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from pandora_regret import Comparison, compare
from pandora_regret.integrations.torch import PandoraLoss

PRICES = np.array([5.0, 5.0, 5.0, 40.0, 5.0, 5.0, 5.0, 5.0, 40.0, 5.0])  # dollars per check; 3 and 8 are expensive
EPOCHS, BATCH = 40, 64
ANNEALED = 200  # steps until alpha has risen: half of the training
LOSSES: dict[str, float | None] = {"log loss": None, "search score, alpha 0": 0.0, "search score, alpha 1": 1.0}


def trained(alpha: float | None, X: np.ndarray, y: np.ndarray, X_new: np.ndarray) -> np.ndarray:
    """The forecasts of a linear model, trained by AdamW from equal shares on."""
    scaler, chance = StandardScaler().fit(X), torch.Generator().manual_seed(0)
    features, new = (torch.tensor(scaler.transform(table)).float() for table in (X, X_new))
    truth, head = torch.tensor(y), torch.nn.Linear(X.shape[1], int(y.max()) + 1)
    torch.nn.init.zeros_(head.weight)
    torch.nn.init.zeros_(head.bias)
    optimizer = torch.optim.AdamW(head.parameters(), lr=0.03, weight_decay=1e-4)
    search, step = PandoraLoss(0.0, PRICES / PRICES.mean()), 0
    loss = torch.nn.CrossEntropyLoss() if alpha is None else search
    for _ in range(EPOCHS):
        for rows in torch.split(torch.randperm(len(y), generator=chance), BATCH):
            optimizer.zero_grad()
            loss(head(features[rows]), truth[rows]).backward()
            optimizer.step()
            step += 1
            search.alpha = (alpha or 0.0) * min(1.0, step / ANNEALED)
    return np.asarray(head(new).softmax(dim=1).detach())


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
    for name, alpha in LOSSES.items():
        forecasts[name] = trained(alpha, X_train, y_train, X_new)

    comparison = compare(y_new, forecasts, costs=PRICES, currency="USD")
    print("trained on             per search   log loss   accuracy")
    for row in comparison.table():
        print(f"{row['model']:22}  ${row['expected_cost']:8.2f}  {row['log_loss']:9.3f}  {row['accuracy']:9.1%}")
    print(f"an oracle               ${comparison.best.unavoidable:8.2f}")
    print(verdict(comparison))


if __name__ == "__main__":
    main()
