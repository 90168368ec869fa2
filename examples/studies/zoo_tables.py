"""Tables of docs/study.md and docs/study/zoos.md about all zoos, and the figure that shows them at a glance."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from zoo_results import CONDITIONS, LIMIT, METRICS, RIVALS, STUDIES, ZOOS, ZooRow, all_rows, ranked_rows

from pandora_regret.plots.tau_gaps import draw_tau_gaps
from pandora_regret.study import Cell, Grid, read_results, study_grid

IN_THE_PAPER = {"Derm": (0.93, 0.90, 0.84, 0.79), "OCT": (0.96, 0.91, 0.84, 0.86)}  # well specified
NARROW = {"cardiotocography": "cardio"}  # names in the head of a narrow column
DRAWN = tuple(name for name in CONDITIONS if name != "shared_steps")  # which most zoos lack


def as_table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def signed(value: float, digits: int = 2) -> str:
    """With a proper minus, and no minus before zero."""
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text.replace("-", "−")


def money(row: ZooRow, metric: str) -> str:
    """What choosing by a metric costs, in the unit of the row; a dash where bills are infinite."""
    if not row.priced:
        return "–"
    text = signed(row.price(metric), 3 if row.in_draws else 2)
    sign = "" if row.in_draws else ZOOS[row.zoo][1]
    return f"−{sign}{text[1:]}" if text.startswith("−") else f"{sign}{text}"


def all_zoos() -> str:
    """Every zoo under every condition: agreement, the interval of its gap, and what choosing costs."""
    rows = [[ZOOS[row.zoo][0], CONDITIONS[row.condition], *map(_cell(row), METRICS)] for row in all_rows()]
    return as_table(["Zoo", "Condition", *METRICS.values()], rows)


def _cell(row: ZooRow) -> Callable[[str], str]:
    best = max(round(row.tau(metric), 2) for metric in METRICS)

    def shown(metric: str) -> str:
        if row.no_choice:
            return "no choice"
        tau = signed(abs(row.tau(metric)))
        tau = f"**{tau}**" if round(row.tau(metric), 2) == best else tau
        tau += "†" if row.cells[metric]["reversed"] else ""
        gap = "" if metric == "pandora_regret" else " [{}, {}]".format(*map(signed, row.gap(metric)))
        cheaper = "‡" if metric != "pandora_regret" and row.cheaper(metric) else ""
        return f"{tau}{gap}<br>{money(row, metric)}{cheaper}"

    return shown


def zoos_at_a_glance() -> str:
    """Agreement of Pandora's Regret, and its lead over the best other metric."""
    rows = {(row.zoo, row.condition): row for row in all_rows()}
    lines = [
        [title, *(_lead(rows[zoo, condition]) if (zoo, condition) in rows else "" for zoo in ZOOS)]
        for condition, title in CONDITIONS.items()
    ]
    return as_table(["Condition", *(NARROW.get(zoo, zoo) for zoo in ZOOS)], lines)


def _lead(row: ZooRow) -> str:
    if row.no_choice:
        return "no choice"
    low, high = row.gap(row.best_rival)
    unsettled = "" if high < 0 or low > 0 else "°"
    text = f"{row.tau('pandora_regret'):.2f}<br>{'+' if row.lead > 0 else ''}{signed(row.lead)}{unsettled}"
    return (
        text
        if row.lead > 0
        else f"**{text}<br>{METRICS[row.best_rival].lower().replace('f1', 'F1').replace('brier', 'Brier')}**"
    )


def who_is_first() -> str:
    """How often each metric agrees best, and how often it picks the cheapest model, or a cheaper one."""
    rows = ranked_rows()
    paid = [row for row in rows if row.priced]
    lines = []
    for metric, title in METRICS.items():
        first = sum(round(row.tau(metric), 3) == max(round(row.tau(m), 3) for m in METRICS) for row in rows)
        cheapest = sum(round(row.price(metric), 3) == min(round(row.price(m), 3) for m in METRICS) for row in paid)
        cheaper = "" if metric == "pandora_regret" else f"{sum(row.cheaper(metric) for row in paid)}"
        costlier = "" if metric == "pandora_regret" else f"{sum(_costs_more(row, metric) for row in paid)}"
        lines.append([title, f"{first} of {len(rows)}", f"{cheapest} of {len(paid)}", cheaper, costlier])
    against = ["Cheaper than Pandora's Regret in", "More expensive in"]
    header = ["Metric", "Agrees best in", "Picks cheapest in", *against]
    return as_table(header, lines)


def _costs_more(row: ZooRow, metric: str) -> bool:
    return round(row.price(metric), 3) > round(row.price("pandora_regret"), 3)


@cache
def descriptions() -> Any:
    return json.loads((STUDIES / "zoos.json").read_text(encoding="utf-8"))


def zoos_described() -> str:
    """What each zoo is made of."""
    about = descriptions()
    rows = []
    for zoo, (name, sign) in ZOOS.items():
        one = about[zoo]
        low, _, median, _, high = one["accuracy_quartiles"]
        instances = f"{one['rows']:,}" + (f" in {one['groups']} weeks" if one["groups"] else "")
        costs = f"{sign}{one['costs'][0]:g} to {sign}{one['costs'][1]:g}"
        accuracy = f"{low:.2f} to {high:.2f}, median {median:.2f}"
        rows.append([name, str(one["models"]), instances, str(one["classes"]), accuracy, costs])
    return as_table(["Zoo", "Models", "Instances", "Classes", "Accuracy", "Costs"], rows)


def readings() -> str:
    """Well specified, read in five ways, beside the paper's figures."""
    grid = study_grid(read_results(STUDIES / "readings"), "tau")
    rows = [[title, data, *map(_with_interval, cells)] for title, data, cells in grid.rows]
    rows += [["the paper", data, *(f"{tau:.2f}" for tau in taus)] for data, taus in IN_THE_PAPER.items()]
    return as_table(["Reading", "Data", *grid.metrics], rows)


def _with_interval(cell: Cell) -> str:
    return f"{cell.value:.2f} [{cell.low:.2f}, {cell.high:.2f}]"


def misses() -> str:
    """Tests that miss and are repeated: agreement of the limit alpha = 0 beside the others."""
    columns = {"pandora_regret": "Pandora's Regret (α = 1)", LIMIT: "its limit α = 0"}
    columns |= {metric: METRICS[metric] for metric in RIVALS}
    rows = []
    for row in all_rows():
        if row.condition == "imperfect_tests":
            infinite = descriptions()[row.zoo]["models_with_infinite_log_loss"]
            taus = [signed(row.tau(key)) for key in columns]
            best = max(taus, key=lambda text: float(text.replace("−", "-")))
            rows.append([ZOOS[row.zoo][0], str(infinite), *(f"**{t}**" if t == best else t for t in taus)])
    return as_table(["Zoo", "Models with infinite bills", *columns.values()], rows)


def votes() -> str:
    """Metrics by votes, by the label of most votes and by the truth, against what searches for the truth cost."""
    taus = json.loads((STUDIES / "votes.json").read_text(encoding="utf-8"))["digits"]["tau"]
    by = {"truth": "the true digit", "majority": "the majority of three", "votes": "the votes of three"}
    rows = [[said, *(f"{taus[key][metric]:.2f}" for metric in METRICS)] for key, said in by.items()]
    return as_table(["Metric computed by", *METRICS.values()], rows)


def study_coverage() -> str:
    """How many simulated intervals of tau contained it."""
    shares = json.loads((STUDIES / "coverage.json").read_text(encoding="utf-8"))["tau"]
    kinds = {
        "different": "20 models of different skill",
        "alike": "20 hard to tell apart",
        "ties": "the same, 60 instances",
        "few": "5 models of different skill",
    }
    rows = [
        [f'`"{resample}"`', *(f"{100 * shares[kind][resample]['covers']:.1f} %" for kind in kinds)]
        for resample in ("instances", "models", "both")
    ]
    return as_table(["`resample`", *kinds.values()], rows)


def draw_all_zoos(path: Path) -> None:
    """The gaps of all zoos to Pandora's Regret, condition by condition, on one scale."""
    rows = tuple(
        (CONDITIONS[row.condition], ZOOS[row.zoo][0], tuple(_gap_cell(row, metric) for metric in METRICS))
        for condition in DRAWN
        for row in all_rows()
        if row.condition == condition
    )
    draw_tau_gaps(Grid("gap", tuple(METRICS.values()), rows, ()), path)


def _gap_cell(row: ZooRow, metric: str) -> Cell:
    gap, cell = row.cells[metric]["gap"], row.cells[metric]
    return Cell(gap["value"], gap["low"], gap["high"], constant=row.no_choice, reversed=cell["reversed"])


TABLES: dict[str, Callable[[], str]] = {
    work.__name__: work
    for work in (all_zoos, zoos_at_a_glance, who_is_first, zoos_described, readings, misses, votes, study_coverage)
}
