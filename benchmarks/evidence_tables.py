"""The results of training_evidence.py, docs/evidence/*.csv, as docs/how-to/train.md shows them.

Its tables, the numbers in its sentences, and its picture (``python benchmarks/evidence_tables.py`` draws it anew).
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pandora_regret.plots.style import COLOURS, QUIET, open_frame, sheet

STORED = Path(__file__).parents[1] / "docs" / "evidence"
BASE = "log loss"
TARGETS = {"equal": "pandora_regret", "priced": "wasted_cost"}  # what each is judged by
ARMS = {  # heading: the arm's name, with the target it was made for
    "chosen by cost": "{}: log loss, chosen by cost",
    "+ temperature, log loss": "log loss + temperature for log loss",
    "+ temperature, cost": "{}: log loss + temperature for cost",
    "+ vector, log loss": "log loss + vector for log loss",
    "+ vector, cost": "{}: log loss + vector for cost",
    "Pandora α = 0": "{}: Pandora, alpha 0",
    "Pandora α = 1": "{}: Pandora, alpha 1",
}
LAST = "Pandora α = 1"
TOLD = "training on α = 1 with the costs or without?"
HEADS = {  # question: this arm against that one
    "recalibrating for cost or for log loss? (temperature)": ("+ temperature, cost", "+ temperature, log loss"),
    "recalibrating for cost or for log loss? (vector)": ("+ vector, cost", "+ vector, log loss"),
    "training on α = 1, or recalibrating log loss for cost? (vector)": (LAST, "+ vector, cost"),
    "training on α = 0, or recalibrating log loss for cost? (vector)": ("Pandora α = 0", "+ vector, cost"),
    "training on α = 1 or on α = 0?": (LAST, "Pandora α = 0"),
}


class Estimate(NamedTuple):
    """A value with its 95 % interval."""

    value: float
    low: float
    high: float

    def over(self, unit: float) -> Estimate:
        return Estimate(self.value / unit, *sorted((self.low / unit, self.high / unit)))

    @property
    def verdict(self) -> str:
        """Of a difference, where lower is better."""
        return "better" if self.high < 0 else "worse" if self.low > 0 else "unclear"


def arm_of(heading: str, target: str) -> str:
    return ARMS[heading].format(target)


@dataclass(frozen=True)
class Trial:
    """A learner on one kind of test rows."""

    learner: str
    data: str
    rows: int

    @property
    def title(self) -> str:
        return f"{self.data}, {self.learner}, {self.rows:,} rows"

    @property
    def is_shifted(self) -> bool:
        """Whether new cases differ from those learned from."""
        return self.data.endswith("official test")

    def mean(self, metric: str, arm: str = BASE) -> float:
        return _results()[self, arm, metric][0]

    def difference(self, metric: str, arm: str) -> Estimate:
        """The mean of an arm minus that of log loss alone."""
        return _results()[self, arm, metric][1]

    def change(self, target: str, heading: str) -> Estimate:
        """Of an arm made for a target, judged by what that counts, as a share of what log loss alone has."""
        metric = TARGETS[target]
        return self.difference(metric, arm_of(heading, target)).over(self.mean(metric))


def trials() -> list[Trial]:
    """All of them, in the order in which they are shown."""
    return list(dict.fromkeys(trial for trial, _, _ in _results()))


@cache
def _results() -> dict[tuple[Trial, str, str], tuple[float, Estimate]]:
    """By trial, arm and metric: the mean, and the difference to log loss alone."""
    return {
        (_trial(row), row["arm"], row["metric"]): (float(row["mean"]), _estimate(row)) for row in _read("training")
    }


def head_to_head() -> Iterator[tuple[str, str, list[Estimate]]]:
    """Questions, the costs they were asked at, and the change in every trial."""
    asked: dict[tuple[str, str], list[Estimate]] = {}
    for row in _read("head-to-head"):
        asked.setdefault((row["question"], row["costs"]), []).append(_estimate(row))
    for (question, target), changes in asked.items():
        yield question, target, changes


def choices(learner: str) -> dict[str, dict[str, int]]:
    """By arm: in how many splits each setting was chosen."""
    counts: dict[str, dict[str, int]] = {}
    for row in _read("choices"):
        if row["learner"] == learner:
            of_arm = counts.setdefault(row["arm"], {})
            of_arm[row["setting"]] = of_arm.get(row["setting"], 0) + int(row["splits"])
    return counts


def _read(name: str) -> Iterator[dict[str, str]]:
    with open(STORED / f"{name}.csv", newline="", encoding="utf-8") as file:
        yield from csv.DictReader(file)


def _trial(row: dict[str, str]) -> Trial:
    return Trial(row["learner"], row["data"], int(row["rows"]))


def _estimate(row: dict[str, str]) -> Estimate:
    return Estimate(float(row["value"]), float(row["low"]), float(row["high"]))


RECALIBRATED = [heading for heading in ARMS if heading.startswith("+")]
LARGE_BOOSTED = ("digits", "steel", "cardio")  # tables of 1,400 rows or more
OTHERS = {  # heading: metric, the target the arms were made for, which way is better
    "Wasted cost, costs known": ("wasted_cost_if_known", "priced", 1),
    "Wasted tests, costs all 1": ("wasted_tests", "equal", 1),
    "Log loss": ("log_loss", "equal", 1),
    "Accuracy": ("accuracy", "equal", -1),
}
COSTS = {"equal": "equal costs", "priced": "unequal costs"}


# Tables


# Figures in sentences


def _changes(headings: Collection[str], some: Callable[[Trial], bool] = lambda trial: True) -> list[Estimate]:
    """Of both kinds of costs."""
    return [t.change(target, h) for target in TARGETS for h in headings for t in trials() if some(t)]


def others() -> str:
    changes = _changes([heading for heading in ARMS if heading != LAST])
    found = Counter(change.verdict for change in changes)
    expected = round(0.05 * len(changes))
    return (
        f"Of {len(changes)} intervals of the arms other than α = 1, {found['better']} lie below zero and "
        f"{found['worse']} above: no more than chance alone would give ({expected})"
    )


def recalibration() -> str:
    medians = [_median([t.change(target, h) for t in trials()]) for target in TARGETS for h in RECALIBRATED]
    return f"by at most {max(map(abs, medians)):.1f} %"


def objectives() -> str:
    changes = [c for question, _, listed in head_to_head() if question.startswith("recal") for c in listed]
    found = Counter(change.verdict for change in changes)
    return f"clearly better in {found['better']} of {len(changes)} pairs, clearly worse in {found['worse']}"


def linear() -> str:
    """Linear models on α = 1, where new cases resemble those learned from."""
    some = [trial for trial in trials() if trial.learner != "boosting" and not trial.is_shifted]
    found = {target: [trial.change(target, LAST) for trial in some] for target in TARGETS}
    counts = {target: Counter(change.verdict for change in changes) for target, changes in found.items()}
    worse = [100 * c.value for changes in found.values() for c in changes if c.verdict == "worse"]
    better = sum(count["better"] for count in counts.values())
    equal, priced = (counts[target]["worse"] for target in TARGETS)
    return (
        f"clearly worse in {equal} (equal costs) and {priced} (unequal costs) of {len(some)} rows, by "
        f"{min(worse):.0f} to {max(worse):.0f} %, and clearly better in {better or 'none'}"
    )


def boosting() -> str:
    some = [t for t in trials() if t.learner == "boosting" and t.data in LARGE_BOOSTED]
    less = {target: sorted(-100 * t.change(target, LAST).value for t in some) for target in TARGETS}
    settled = sum(t.change(target, LAST).verdict != "unclear" for t in some for target in TARGETS)
    ranges = [f"{low:.0f} to {high:.0f} % less at {COSTS[target]}" for target, (low, _, high) in less.items()]
    return f"{' and '.join(ranges)}, but {settled or 'none'} of the {2 * len(some)} intervals excludes zero"


def shifted() -> str:
    some = [trial for trial in trials() if trial.is_shifted]
    phrases = []
    for target in TARGETS:
        changes = [(trial, trial.change(target, LAST)) for trial in some]
        amounts = [
            f"{-100 * change.value:.0f} % less after {trial.rows:,} images{_doubt(change)}"
            for trial, change in changes
        ]
        phrases.append(f"{' and '.join(amounts)} at {COSTS[target]}")
    return "; ".join(phrases)


def _doubt(change: Estimate) -> str:
    return " (unclear)" if change.verdict == "unclear" else ""


def told() -> str:
    [changes] = [listed for question, _, listed in head_to_head() if question == TOLD]
    found = Counter(change.verdict for change in changes)
    better = found["better"] or "none"
    return f"clearly better in {better} of {len(changes)} rows, and clearly worse in {found['worse']}"


def counted() -> str:
    every = _changes(ARMS)
    settled = [change for change in every if change.verdict != "unclear"]
    last = [change for change in _changes([LAST]) if change.verdict != "unclear"]
    return (
        f"{len(trials())} rows x {len(ARMS)} arms x {len(TARGETS)} kinds of costs = {len(every)} intervals, "
        f"unadjusted: about {0.05 * len(every):.0f} would exclude zero if nothing mattered; {len(settled)} do, "
        f"{len(last)} of them about α = 1"
    )


def rounds() -> str:
    chosen = choices("boosting")
    fewest, most = chosen["log loss"], chosen["equal: Pandora, alpha 0"]
    return (
        f"log loss chose the fewest rounds at the lower rate in {fewest['learning rate 0.1, rounds 25']} of "
        f"{sum(fewest.values())}, and α = 0 the most rounds at the higher in "
        f"{most['learning rate 0.4, rounds 300']} of {sum(most.values())}"
    )


def soybean() -> str:
    """The recalibrated forecasts that one split ruins."""
    values = [
        100 * c.value for c in _changes(RECALIBRATED, lambda t: (t.data, t.learner) == ("soybean", "boosting"))
    ]
    return f"+{min(values):,.0f} to +{max(values):,.0f} %"


# Numbers in words


def _median(changes: Iterable[Estimate]) -> float:
    """In percent."""
    return 100 * float(np.median([change.value for change in changes]))


EDGE = 30.0  # percent: beyond, intervals say little
TICKS = (-20, 0, 20)
WIDTH, ROW, HEAD = 8.6, 0.29, 1.25  # inches
MARKERS = {"equal": "o", "priced": "s"}
WORDS = {"equal": "equal costs", "priced": "unequal costs"}
OFFSET = {"equal": -0.17, "priced": 0.17}
COLOUR = {"better": COLOURS[0], "worse": COLOURS[1], "unclear": QUIET}
SETTINGS = {"font.size": 9, "axes.titlesize": 9, "xtick.labelsize": 9, "ytick.labelsize": 9, "legend.fontsize": 9}


def draw(trials: list[Trial], path: Path) -> None:
    """Changes against log loss alone."""
    with sheet(path, WIDTH, HEAD + ROW * len(trials), SETTINGS) as figure:
        columns = figure.subplots(1, len(ARMS), sharey=True, sharex=True)
        for heading, axes in zip(ARMS, columns, strict=True):
            _draw_arm(axes, trials, heading)
        columns[0].set_yticks(range(len(trials)), [trial.title.removesuffix(" rows") for trial in trials])
        columns[0].set_ylim(len(trials) - 0.5, -0.5)
        columns[0].set_ylabel("data, learner, rows to learn from")
        figure.supxlabel(
            "change of wasted cost against log loss alone, in percent (left of 0: cheaper)\n"
            f"95 % intervals are cut off at ±{EDGE:.0f}; triangles: the change itself lies beyond",
            fontsize=9,
        )
        figure.legend(handles=_legend(), loc="outside upper center", ncols=5, frameon=False, handletextpad=0.2)


def _draw_arm(axes: Any, trials: list[Trial], heading: str) -> None:
    axes.axvline(0, color="0.4", linewidth=0.8, zorder=0)
    for row, trial in enumerate(trials):
        for target in TARGETS:
            change = trial.change(target, heading)
            _draw_interval(axes, row + OFFSET[target], 100 * np.array(change), change.verdict, MARKERS[target])
    axes.set_xlim(-EDGE, EDGE)
    axes.set_xticks(TICKS, [f"{tick:+d}" if tick else "0" for tick in TICKS])
    axes.set_title(_title(heading), fontsize=8.5)
    for row in range(0, len(trials), 2):  # every other one shaded, for the eye
        axes.axhspan(row - 0.5, row + 0.5, color="0.95", zorder=-1)
    axes.tick_params(axis="y", length=0)
    open_frame(axes)


def _title(heading: str) -> str:
    """On two lines."""
    return heading.replace("+ ", "").replace(", ", "\nfor ").replace(" α", "\nα").replace(" by ", "\nby ")


def _draw_interval(axes: Any, place: float, change: np.ndarray, verdict: str, marker: str) -> None:
    value, low, high = change
    colour = COLOUR[verdict]
    axes.hlines(place, max(low, -EDGE), min(high, EDGE), color=colour, linewidth=1.3)
    if abs(value) > EDGE:
        value, marker = np.sign(value) * EDGE * 0.93, ">" if value > 0 else "<"
    face = "white" if marker == MARKERS["priced"] else colour
    axes.plot(value, place, marker, color=colour, markersize=3.6, markerfacecolor=face, markeredgewidth=0.9)


def _legend() -> list[Any]:
    from matplotlib.lines import Line2D

    plain: dict[str, Any] = {"color": "0.2", "linestyle": "", "markersize": 4}
    kinds = [
        Line2D([], [], marker=MARKERS[target], label=WORDS[target], markerfacecolor=face, **plain)
        for target, face in (("equal", "0.2"), ("priced", "white"))
    ]
    names = {"better": "clearly cheaper", "worse": "clearly more expensive", "unclear": "unclear"}
    return kinds + [
        Line2D([], [], color=COLOUR[verdict], linewidth=2, label=name) for verdict, name in names.items()
    ]


FIGURES = {
    f"training_{work.__name__}": work
    for work in (
        others, recalibration, objectives, linear, boosting, shifted, told, counted
    )
}  # fmt: skip

if __name__ == "__main__":
    draw(trials(), STORED / "training.svg")
