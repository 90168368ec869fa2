"""Tables of docs/study.md and docs/study/zoos.md about all zoos, and the figure that shows them at a glance."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from zoo_results import CONDITIONS, LIMIT, METRICS, RIVALS, STUDIES, ZOOS, ZooRow, all_rows, ranked_rows

from pandora_regret.plots.paper import draw_tau_gaps
from pandora_regret.study import Cell, Grid, read_results, study_grid

IN_THE_PAPER = {  # its Table 1: Pandora's Regret, log loss, accuracy, macro-F1
    ("Clinical", "Derm"): (0.86, 0.84, 0.77, 0.74),
    ("Clinical", "OCT"): (0.90, 0.88, 0.87, 0.88),
    ("Well Specified", "Derm"): (0.93, 0.90, 0.84, 0.79),
    ("Well Specified", "OCT"): (0.96, 0.91, 0.84, 0.86),
    ("Random Temperature", "Derm"): (0.82, 0.65, 0.62, 0.62),
    ("Random Temperature", "OCT"): (0.87, 0.71, 0.85, 0.86),
    ("Random Distractor Temperature", "Derm"): (0.75, 0.19, 0.38, 0.17),
    ("Random Distractor Temperature", "OCT"): (0.87, 0.84, 0.72, 0.73),
}
RARE, WEAK = "probes that never predict rare classes", "weak, similar probes"
WHY = {  # as far as it is known
    ("Clinical", "Derm"): RARE,
    ("Clinical", "OCT"): WEAK,
    ("Well Specified", "Derm"): RARE,
    ("Well Specified", "OCT"): f"{WEAK}; the reading, below",
    ("Random Temperature", "Derm"): f"{RARE}; σ",
    ("Random Temperature", "OCT"): f"{WEAK}; σ",
    ("Random Distractor Temperature", "Derm"): "σ",
    ("Random Distractor Temperature", "OCT"): f"{WEAK}, so distractors decide more; σ",
}
NARROW = {"cardiotocography": "cardio"}  # names in the head of a narrow column
DRAWN = tuple(name for name in CONDITIONS if name != "shared_steps")  # which most zoos lack


def as_table(header: list[str], rows: list[list[str]], space: str = " ") -> str:
    """Markdown; a wide table has no spaces between its cells."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"|{space}{f'{space}|{space}'.join(line)}{space}|" for line in lines)


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
    """Every zoo under every condition: agreement, whether its gap is settled, and what choosing costs."""
    rows = [[ZOOS[row.zoo][0], CONDITIONS[row.condition], *map(_cell(row), METRICS)] for row in all_rows()]
    return as_table(["Zoo", "Condition", *METRICS.values()], rows, "")


def all_figures() -> str:
    """The same with intervals, one line for each metric: CSV."""
    lines = ["zoo,condition,metric,tau,gap,gap_low,gap_high,regret,regret_low,regret_high"]
    for row in all_rows():
        for metric in METRICS:
            gap, regret = row.cells[metric]["gap"], row.cells[metric]["regret"]
            figures = row.tau(metric), gap["value"], *row.gap(metric)
            prices = [regret[end] for end in ("mean", "low", "high")]
            numbers = ["" if number is None else f"{float(number):g}" for number in (*figures, *prices)]
            lines.append(",".join([row.zoo, row.condition, metric, *numbers]))
    return "\n".join(lines) + "\n"


def _cell(row: ZooRow) -> Callable[[str], str]:
    best = max(round(row.tau(metric), 2) for metric in METRICS)

    def shown(metric: str) -> str:
        if row.no_choice:
            return "no choice"
        tau = signed(abs(row.tau(metric)))
        tau = f"**{tau}**" if round(row.tau(metric), 2) == best else tau
        tau += "†" if row.cells[metric]["reversed"] else ""
        low, high = row.gap(metric)
        unsettled = "°" if metric != "pandora_regret" and low <= 0 <= high else ""
        cheaper = "‡" if metric != "pandora_regret" and row.cheaper(metric) else ""
        return f"{tau}{unsettled}<br>{money(row, metric)}{cheaper}"

    return shown


def zoos_at_a_glance() -> str:
    """Agreement of Pandora's Regret, and its lead over the best other metric."""
    rows = {(row.zoo, row.condition): row for row in all_rows()}
    lines = [
        [title, *(_lead(rows[zoo, condition]) if (zoo, condition) in rows else "" for zoo in ZOOS)]
        for condition, title in CONDITIONS.items()
    ]
    return as_table(["Condition", *(NARROW.get(zoo, zoo) for zoo in ZOOS)], lines, "")


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
    return as_table(header, lines, "")


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
        costs = " to ".join(dict.fromkeys(f"{sign}{cost:g}" for cost in one["costs"]))
        accuracy = f"{low:.2f} to {high:.2f}, median {median:.2f}"
        rows.append([name, str(one["models"]), instances, str(one["classes"]), accuracy, costs])
    return as_table(["Zoo", "Models", "Instances", "Classes", "Accuracy", "Costs"], rows, "")


def tau() -> str:
    """Ours, the paper's in parentheses, and why those differ where the paper's is outside our interval."""
    grid = study_grid(read_results(STUDIES / "medmnist"), "tau")
    rows = []
    for condition, data, cells in grid.rows:
        paper = IN_THE_PAPER[condition, data]
        shown = [_beside(cell, value) for cell, value in zip(cells, paper, strict=True)]
        rows.append([condition, data, *shown, WHY[condition, data]])
    return as_table(["Condition", "Data", *grid.metrics, "Why, as far as known"], rows, "")


def _beside(cell: Cell, paper: float) -> str:
    assert cell.value is not None
    assert cell.low is not None
    assert cell.high is not None
    text = f"{cell.value:.2f}{'†' if cell.reversed else ''}&nbsp;({paper:.2f})"
    return text if round(cell.low, 2) <= paper <= round(cell.high, 2) else f"**{text}**"


def readings() -> str:
    """Well specified, read in five ways, beside the paper's figures."""
    grid = study_grid(read_results(STUDIES / "readings"), "tau")
    rows = [[title, data, *(f"{cell.value:.2f}" for cell in cells)] for title, data, cells in grid.rows]
    paper = {data: IN_THE_PAPER["Well Specified", data] for data in ("Derm", "OCT")}
    rows += [["the paper", data, *(f"{value:.2f}" for value in taus)] for data, taus in paper.items()]
    return as_table(["Reading", "Data", *grid.metrics], rows)


def temperatures() -> str:
    """Random temperatures per model, and per instance."""
    grid = study_grid(read_results(STUDIES / "temperatures"), "tau", tuple(METRICS))
    taus = {(title, data): [_signed_tau(cell) for cell in cells] for title, data, cells in grid.rows}
    rows = []
    for (title, data), per_model in taus.items():
        kind, _, per = title.partition(" per ")
        if per == "model":
            both = zip(per_model, taus[f"{kind} per instance", data], strict=True)
            rows.append([kind, data, *("/".join(pair) for pair in both)])
    return as_table(["Condition", "Data", *METRICS.values()], rows, "")


def _signed_tau(cell: Cell) -> str:
    return f"{cell.value:.2f}{'†' if cell.reversed else ''}"


def vlm_categories() -> str:
    """Vision-language models by kind of question: agreement at known costs, and where Pandora's Regret leads."""
    rows = []
    for part in read_results(STUDIES / "vlm-categories")["data"]:
        agreement, zoo_rows = part["agreement"], []
        for condition in agreement["conditions"]:
            cells = {cell["key"]: cell for cell in condition["metrics"]}
            zoo_rows.append(ZooRow(part["name"], condition["name"], condition["unit"] == "draws", cells))
        taus = [signed(zoo_rows[0].tau(metric)) for metric in METRICS]
        first = f"{sum(row.lead > 0 for row in zoo_rows)} of {len(zoo_rows)}"
        rows.append([part["name"], f"{agreement['data']['rows']:,}", *taus, first])
    return as_table(["Questions", "Number", *METRICS.values(), "First in"], rows, "")


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
    return as_table(["`resample`", *kinds.values()], rows, "")


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
    for work in (
        *(all_zoos, zoos_at_a_glance, who_is_first, zoos_described, vlm_categories),
        *(tau, readings, temperatures, misses, votes, study_coverage),
    )
}
