"""The tables and the phrases with numbers in docs/evidence/training.md, from the results stored beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from functools import partial

import numpy as np
from evidence_results import (
    ARMS,
    LAST,
    STORED,
    TARGETS,
    TOLD,
    Estimate,
    Trial,
    arm_of,
    choices,
    head_to_head,
    trials,
)

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


def base_table() -> str:
    """Log loss alone."""
    heading = ["Data, learner, rows to learn from", "Regret", "Wasted cost", "Log loss", "Accuracy"]
    metrics = ("pandora_regret", "wasted_cost", "log_loss", "accuracy")
    return markdown(heading, [[trial.title, *(f"{trial.mean(m):.3g}" for m in metrics)] for trial in trials()])


def change_table(target: str) -> str:
    """Every arm in every trial, and below how often each is better or worse."""
    changes = [[trial.change(target, heading) for heading in ARMS] for trial in trials()]
    rows = [[trial.title, *map(_percent, row)] for trial, row in zip(trials(), changes, strict=True)]
    by_arm = list(zip(*changes, strict=True))
    rows.append(["median", *(_signed(_median(column), 1) for column in by_arm)])
    rows.append(["better / worse / unclear", *map(_verdicts, by_arm)])
    return markdown(["", *ARMS], rows)


def head_table() -> str:
    rows = [
        [question, COSTS[target], _signed(_median(changes), 1), _verdicts(changes)]
        for question, target, changes in head_to_head()
    ]
    return markdown(["First or second?", "Costs", "Median change, %", "Better / worse / unclear"], rows)


def other_table() -> str:
    """Arms by other measures."""
    return markdown(
        ["", *OTHERS], [[heading, *(_other(heading, *o) for o in OTHERS.values())] for heading in ARMS]
    )


def _other(heading: str, metric: str, target: str, sign: int) -> str:
    gaps = [trial.difference(metric, arm_of(heading, target)) for trial in trials()]
    verdicts = Counter(gap.over(sign).verdict for gap in gaps)
    median = _signed(float(np.median([gap.value for gap in gaps])), 4)
    return f"{median} ({verdicts['better']} / {verdicts['worse']})"


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


def grid_ends() -> str:
    """How often the smallest or largest penalty was chosen."""
    phrases = []
    for learner, name, ends in (
        ("linear", "tables", ("penalty 1e-06", "penalty 0.1")),
        ("probe", "images", ("penalty 0.000316", "penalty 1")),
    ):
        by_arm = choices(learner).values()
        counts = [sum(chosen.get(end, 0) for end in ends) for chosen in by_arm]
        phrases.append(f"{min(counts)} to {max(counts)} of {sum(next(iter(by_arm)).values())} ({name})")
    return ", ".join(phrases)


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


def _signed(value: float, digits: int) -> str:
    """With a sign, unless it is zero as far as it is written."""
    text = f"{value:+.{digits}f}"
    return text[1:] if float(text) == 0 else text


def _percent(change: Estimate) -> str:
    value, low, high = (_signed(100 * end, 1) for end in change)
    text = f"{value} [{low}, {high}]"
    return text if change.verdict == "unclear" else f"**{text}**"


def _median(changes: Iterable[Estimate]) -> float:
    """In percent."""
    return 100 * float(np.median([change.value for change in changes]))


def _verdicts(changes: Iterable[Estimate]) -> str:
    counts = Counter(change.verdict for change in changes)
    return " / ".join(str(counts[verdict]) for verdict in ("better", "worse", "unclear"))


def markdown(heading: list[str], rows: list[list[str]]) -> str:
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


TABLES: dict[str, Callable[[], str]] = {
    "training_base": base_table,
    **{f"training_{target}": partial(change_table, target) for target in TARGETS},
    "training_heads": head_table,
    "training_others": other_table,
}
FIGURES = {
    f"training_{work.__name__}": work
    for work in (
        others, recalibration, objectives, linear, boosting, shifted, told, counted, grid_ends, rounds, soybean
    )
}  # fmt: skip

if __name__ == "__main__":
    from evidence_picture import draw

    draw(trials(), STORED / "training.svg")
