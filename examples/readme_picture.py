"""The picture of the README: the two forecasts of its example, with the same log loss and different bills.

Run with ``python examples/readme_picture.py docs/assets/same-log-loss.svg``.
"""

import sys
from math import log
from pathlib import Path

from matplotlib.figure import Figure

from pandora_regret.plots.single_case import plot_bills
from pandora_regret.plots.style import save_figure

TRUTH = "appendicitis"
PRICES = {TRUTH: 200, "gastritis": 220, "gallstones": 150, "kidney stone": 120}
SPREAD = {TRUTH: 0.4, "gastritis": 0.2, "gallstones": 0.2, "kidney stone": 0.2}
RIVAL = {TRUTH: 0.4, "gastritis": 0.5, "gallstones": 0.05, "kidney stone": 0.05}


def with_price(test: str) -> str:
    return f"{test} ${PRICES[test]}"


def draw(path: Path) -> Path:
    figure = Figure(figsize=(6.4, 2.3), layout="constrained")
    axes = figure.subplots()
    forecasts = {
        f"40 % {TRUTH},\n{rest}\n(log loss {-log(forecast[TRUTH]):.2f})": {
            with_price(test): probability for test, probability in forecast.items()
        }
        for rest, forecast in {"20 % each for the rest": SPREAD, "50 % gastritis": RIVAL}.items()
    }
    costs = {with_price(test): price for test, price in PRICES.items()}
    plot_bills(forecasts, with_price(TRUTH), costs, currency="USD", ax=axes)
    axes.set_xlabel("paid for tests, in dollars, until appendicitis is found")
    figure.suptitle("Same log loss, different bill: the patient has appendicitis", fontsize=11)
    return save_figure(figure, path)


if __name__ == "__main__":
    print(draw(Path(sys.argv[1])))
