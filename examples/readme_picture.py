"""The picture of the README: two forecasts with the same log loss and different bills."""

import sys
from pathlib import Path

from matplotlib.figure import Figure

from pandora_regret.plots.bills import plot_bills
from pandora_regret.plots.saving import save_figure

SPREAD = {"appendicitis": 0.4, "gastritis": 0.2, "gallstones": 0.2, "kidney stone": 0.2}
RIVAL = {"appendicitis": 0.4, "gastritis": 0.5, "gallstones": 0.05, "kidney stone": 0.05}


def draw(path: Path) -> Path:
    figure = Figure(figsize=(6.4, 2.3), layout="constrained")
    axes = figure.subplots()
    named = {
        "40 % appendicitis,\nthe rest spread out\n(log loss 0.92)": SPREAD,
        "40 % appendicitis,\n50 % gastritis\n(log loss 0.92)": RIVAL,
    }
    plot_bills(named, "appendicitis", dict.fromkeys(SPREAD, 200.0), currency="USD", ax=axes)
    figure.suptitle(
        "Same log loss, different bill: the patient has appendicitis, every test costs $200", fontsize=10
    )
    return save_figure(figure, path)


if __name__ == "__main__":
    print(draw(Path(sys.argv[1])))
