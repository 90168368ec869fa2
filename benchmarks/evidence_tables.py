"""The tables and the figure of training_evidence.py."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from evidence_measure import BASE, METRICS, TARGETS, Estimate, Trial, read_choices, read_trials

from pandora_regret.atomic import write_atomically
from pandora_regret.plots.style import COLOURS, MARKERS, PAGE, open_frame, sheet

Cell = tuple[str, str, int]

ARMS = {  # heading: the arm's name, with the target it was made for
    "chosen by cost": "{}: log loss, chosen by cost",
    "+ temperature, log loss": "log loss + temperature for log loss",
    "+ temperature, cost": "{}: log loss + temperature for cost",
    "+ vector, log loss": "log loss + vector for log loss",
    "+ vector, cost": "{}: log loss + vector for cost",
    "Pandora α = 0": "{}: Pandora, alpha 0",
    "Pandora α = 1": "{}: Pandora, alpha 1",
}
DRAWN = ("+ vector, log loss", "+ vector, cost", "Pandora α = 0", "Pandora α = 1")
HEADS = {  # question: this arm against that one
    "recalibrating for cost or for log loss? (temperature)": ("+ temperature, cost", "+ temperature, log loss"),
    "recalibrating for cost or for log loss? (vector)": ("+ vector, cost", "+ vector, log loss"),
    "training on α = 1, or recalibrating log loss for cost? (vector)": ("Pandora α = 1", "+ vector, cost"),
    "training on α = 0, or recalibrating log loss for cost? (vector)": ("Pandora α = 0", "+ vector, cost"),
    "training on α = 1 or on α = 0?": ("Pandora α = 1", "Pandora α = 0"),
}
OTHERS = {  # heading: metric, the target the arms were made for, which way is better
    "Wasted cost, costs known": ("wasted_cost_if_known", "priced", 1),
    "Wasted tests, costs all 1": ("wasted_tests", "equal", 1),
    "Log loss": ("log_loss", "equal", 1),
    "Accuracy": ("accuracy", "equal", -1),
}
WORDS = {"equal": "Equal costs", "priced": "Unequal costs"}
TICKS = (-100, -20, -10, 0, 10, 20, 100)  # percent; beyond, intervals say little
BEGIN, END = "<!-- evidence: written by benchmarks/training_evidence.py -->", "<!-- /evidence -->"


def write_all(cache: Path, cells: list[Cell], docs: Path) -> None:
    trials = [trial for cell in cells for trial in read_trials(_files(cache, cell), *cell[:2])]
    folder = docs / "evidence"
    folder.mkdir(exist_ok=True)
    _write_csv(folder / "training.csv", _rows(trials))
    _write_csv(folder / "head-to-head.csv", _head_rows(trials))
    _write_csv(folder / "choices.csv", _choice_rows(cache, cells))
    draw(trials, folder / "training.svg")
    _replace(docs / "training.md", "\n\n".join(_sections(trials)))


def _files(cache: Path, cell: Cell) -> list[Path]:
    return sorted(cache.glob(f"{'-'.join(map(str, cell))}-*.npz"))


def arm_of(heading: str, target: str) -> str:
    return ARMS[heading].format(target)


def _rows(trials: Iterable[Trial]) -> Iterator[dict[str, Any]]:
    """Every arm by every metric, as it is and minus log loss alone."""
    for trial in trials:
        for arm in trial.arms:
            for metric in METRICS:
                yield (
                    _described(trial)
                    | {"arm": arm, "metric": metric, "mean": trial.mean(metric, arm)}
                    | (trial.difference(metric, arm)._asdict())
                )


def _head_rows(trials: Iterable[Trial]) -> Iterator[dict[str, Any]]:
    for trial in trials:
        for question, target, change in _heads(trial):
            yield _described(trial) | {"question": question, "costs": target} | change._asdict()


def _heads(trial: Trial) -> Iterator[tuple[str, str, Estimate]]:
    """Changes of what the target counts, as shares of what log loss alone wastes."""
    for question, pair in HEADS.items():
        for target, metric in TARGETS.items():
            yield question, target, trial.change(metric, *(arm_of(heading, target) for heading in pair))
    told, untold = "priced: Pandora, alpha 1", "equal: Pandora, alpha 1"
    yield "training on α = 1 with the costs or without?", "priced", trial.change("wasted_cost", told, untold)


def _choice_rows(cache: Path, cells: Iterable[Cell]) -> Iterator[dict[str, Any]]:
    """How often each setting was chosen."""
    for learner, data, size in cells:
        counts = Counter(
            (arm, *setting)
            for path in _files(cache, (learner, data, size))
            for arm, setting in read_choices(path).items()
        )
        names = ("learning rate", "rounds") if learner == "boosting" else ("penalty",)
        for (arm, *setting), count in sorted(counts.items()):
            chosen = ", ".join(f"{name} {value:.3g}" for name, value in zip(names, setting, strict=True))
            cell = {"learner": learner, "data": data, "sample": size or "all", "arm": arm}
            yield cell | {"setting": chosen, "splits": count}


def _described(trial: Trial) -> dict[str, Any]:
    return {"learner": trial.learner, "data": trial.data, "rows": trial.rows}


def _write_csv(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    listed, text = list(rows), io.StringIO()
    writer = csv.DictWriter(text, list(listed[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: f"{x:.5g}" if isinstance(x, float) else x for key, x in row.items()} for row in listed)
    write_atomically(path, lambda file: file.write(text.getvalue().encode()))


def _sections(trials: list[Trial]) -> Iterator[str]:
    """Each table below a line that says what it holds."""
    yield "**Log loss alone**, out of sample:"
    yield _base_table(trials)
    for target, metric in TARGETS.items():
        what = "Pandora's Regret" if target == "equal" else "what wrong tests cost"
        yield f"**{WORDS[target]}**: change of {what} against log loss alone, in percent, with 95 % intervals:"
        yield _change_table(trials, target, metric)
    yield "**Head to head**: changes as above, of the first against the second, over all rows of the tables:"
    yield _head_table(trials)
    yield "**By other measures**: median difference from log loss alone (rows clearly better / clearly worse):"
    yield _other_table(trials)


def _base_table(trials: list[Trial]) -> str:
    heading = ["Data, learner, rows to learn from", "Regret", "Wasted cost", "Log loss", "Accuracy"]
    metrics = ("pandora_regret", "wasted_cost", "log_loss", "accuracy")
    rows = [[trial.title, *(f"{trial.mean(metric, BASE):.3g}" for metric in metrics)] for trial in trials]
    return _markdown(heading, rows)


def _change_table(trials: list[Trial], target: str, metric: str) -> str:
    changes = [[trial.change(metric, arm_of(heading, target)) for heading in ARMS] for trial in trials]
    rows = [[trial.title, *map(_percent, found)] for trial, found in zip(trials, changes, strict=True)]
    by_arm = list(zip(*changes, strict=True))
    rows.append(["median", *(_median(found) for found in by_arm)])
    rows.append(["better / worse / unclear", *map(_verdicts, by_arm)])
    return _markdown(["", *ARMS], rows)


def _head_table(trials: list[Trial]) -> str:
    found: dict[tuple[str, str], list[Estimate]] = {}
    for trial in trials:
        for question, target, change in _heads(trial):
            found.setdefault((question, target), []).append(change)
    rows = [
        [q, WORDS[target].lower(), _median(changes), _verdicts(changes)] for (q, target), changes in found.items()
    ]
    return _markdown(["First or second?", "Costs", "Median change, %", "Better / worse / unclear"], rows)


def _other_table(trials: list[Trial]) -> str:
    rows = [[heading, *(_other(trials, heading, *other) for other in OTHERS.values())] for heading in ARMS]
    return _markdown(["", *OTHERS], rows)


def _other(trials: list[Trial], heading: str, metric: str, target: str, sign: int) -> str:
    gaps = [trial.difference(metric, arm_of(heading, target)) for trial in trials]
    verdicts = Counter(gap.over(sign).verdict for gap in gaps)
    median = _signed(float(np.median([gap.value for gap in gaps])), 4)
    return f"{median} ({verdicts['better']} / {verdicts['worse']})"


def _signed(value: float, digits: int) -> str:
    """With a sign, unless it is zero as far as it is written."""
    text = f"{value:+.{digits}f}"
    return text[1:] if float(text) == 0 else text


def _percent(change: Estimate) -> str:
    value, low, high = (_signed(100 * end, 1) for end in change)
    text = f"{value} [{low}, {high}]"
    return text if change.verdict == "unclear" else f"**{text}**"


def _median(changes: Iterable[Estimate]) -> str:
    return _signed(100 * float(np.median([change.value for change in changes])), 1)


def _verdicts(changes: Iterable[Estimate]) -> str:
    counts = Counter(change.verdict for change in changes)
    return " / ".join(str(counts[verdict]) for verdict in ("better", "worse", "unclear"))


def _markdown(heading: list[str], rows: list[list[str]]) -> str:
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _replace(page: Path, text: str) -> None:
    """Put the tables between their markers."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    content = f"{before}{BEGIN}\n\n{text}\n\n{END}{after}"
    write_atomically(page, lambda file: file.write(content.encode()))


def draw(trials: list[Trial], path: Path) -> None:
    """Changes against log loss alone, a panel for each kind of costs."""
    with sheet(path, PAGE, 1.0 + 0.36 * len(trials)) as figure:
        panels = figure.subplots(1, len(TARGETS), sharey=True)
        for (target, metric), axes in zip(TARGETS.items(), panels, strict=True):
            for number, heading in enumerate(DRAWN):
                changes = [trial.change(metric, arm_of(heading, target)) for trial in trials]
                _draw_arm(axes, number, heading, 100 * np.array(changes))
            _finish_panel(axes, WORDS[target], [trial.title for trial in trials])
        handles, names = panels[0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside upper center", ncols=len(DRAWN), frameon=False)
        figure.supxlabel("change of wasted cost against log loss alone, %, 95 % interval", fontsize=8)


def _draw_arm(axes: Any, number: int, heading: str, changes: np.ndarray) -> None:
    at = np.arange(len(changes)) + (number - (len(DRAWN) - 1) / 2) * 0.19
    axes.hlines(at, changes[:, 1], changes[:, 2], color=COLOURS[number], linewidth=1.2)
    style = {"color": COLOURS[number], "marker": MARKERS[number], "markersize": 3, "linestyle": ""}
    axes.plot(changes[:, 0], at, label=heading, **style)


def _finish_panel(axes: Any, title: str, names: list[str]) -> None:
    axes.axvline(0, color="0.4", linewidth=0.8, zorder=0)
    axes.set_yticks(range(len(names)), names)
    axes.set(ylim=(len(names) - 0.5, -0.5), title=title)
    axes.set_xscale("symlog", linthresh=20)  # small data sets have wide intervals
    axes.set_xlim(TICKS[0], TICKS[-1])
    axes.set_xticks(TICKS, [f"{tick:+d}" if tick else "0" for tick in TICKS], fontsize=6)
    open_frame(axes)
