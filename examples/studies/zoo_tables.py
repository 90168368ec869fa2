"""Tables of docs/study.md and docs/study/zoos.md about all zoos, and the figure that shows them at a glance."""

import json
from collections.abc import Callable
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Any

from zoo_results import (
    CONDITIONS,
    LIMIT,
    METRICS,
    RIVALS,
    STUDIES,
    ZOOS,
    ZooRow,
    all_rows,
    ranked_rows,
    row_of,
)

from pandora_regret.plots.paper import draw_tau_gaps
from pandora_regret.study import PAPER_METRICS, Cell, Grid, read_results, study_grid

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
GUESS = {  # why ours differs from the paper's: nothing here was tested
    ("Clinical", "Derm"): RARE,
    ("Clinical", "OCT"): WEAK,
    ("Well Specified", "Derm"): RARE,
    ("Well Specified", "OCT"): f"{WEAK}; the reading, below",
    ("Random Temperature", "Derm"): f"{RARE}; σ",
    ("Random Temperature", "OCT"): f"{WEAK}; σ",
    ("Random Distractor Temperature", "Derm"): "σ",
    ("Random Distractor Temperature", "OCT"): f"{WEAK}, so distractors decide more; σ",
}
SHORT = {
    "clipped_log_loss": "log loss",
    "brier": "Brier",
    "accuracy": "accuracy",
    "macro_f1_all": "macro-F1",
}  # in a narrow cell
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


def amount(row: ZooRow, value: float) -> str:
    """An amount in the unit of the row; a dash where it is not known, or infinite."""
    if not isfinite(value):
        return "–"
    text = signed(value, 3 if row.in_draws else 2)
    sign = "" if row.in_draws else ZOOS[row.zoo][1]
    return f"−{sign}{text[1:]}" if text.startswith("−") else f"{sign}{text}"


def all_zoos() -> str:
    """Every zoo under every condition: agreement, whether its gap is settled, and what choosing costs."""
    rows = [[_zoo_name(row), CONDITIONS[row.condition], *map(_cell(row), METRICS)] for row in all_rows()]
    return as_table(["Zoo", "Condition", *METRICS.values()], rows, "")


def _zoo_name(row: ZooRow) -> str:
    return f"{ZOOS[row.zoo][0]}{'¹' if row.warning else ''}"


def all_figures() -> str:
    """Every metric of every row with intervals, one line each: CSV."""
    figures = ("tau", "gap", "extra_cost", "extra_cost_gap")
    names = [f"{figure}{end}" for figure in figures for end in ("", "_low", "_high")]
    lines = [f"zoo,condition,metric,{','.join(names)},reversed,trusted"]
    for row in all_rows():
        for metric, cell in row.cells.items():
            ends = [cell[figure][end] for figure in figures for end in ("value", "low", "high")]
            numbers = ["" if number is None else f"{float(number):g}" for number in ends]
            flags = [str(int(cell["reversed"])), str(int(row.warning is None))]
            lines.append(",".join([row.zoo, row.condition, metric, *numbers, *flags]))
    return "\n".join(lines) + "\n"


def _cell(row: ZooRow) -> Callable[[str], str]:
    best = max(round(row.tau(metric), 2) for metric in METRICS)

    def shown(metric: str) -> str:
        if row.no_choice:
            return "no choice"
        tau = signed(abs(row.tau(metric)))
        tau = f"**{tau}**" if round(row.tau(metric), 2) == best else tau
        tau += "†" if row.cells[metric]["reversed"] else ""
        if metric == "pandora_regret":
            return f"{tau}<br>{amount(row, row.extra(metric))}"
        low, high = row.gap(metric)
        unsettled = "°" if low <= 0 <= high else ""
        sure = "‡" if row.surely_cheaper(metric) else "§" if row.surely_dearer(metric) else ""
        dearer = amount(row, row.dearer(metric))
        plus = "" if dearer.startswith(("−", "–")) else "+"
        return f"{tau}{unsettled}<br>{plus}{dearer}{sure}"

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
    return text if row.lead > 0 else f"**{text}<br>{SHORT[row.best_rival]}**"


def who_is_first() -> str:
    """How often each metric agrees best, and how often its pick is beyond doubt cheaper or dearer."""
    rows = ranked_rows()
    priced = [row for row in rows if row.is_priced]
    lines = []
    for metric, title in METRICS.items():
        first = sum(round(row.tau(metric), 3) == max(round(row.tau(m), 3) for m in METRICS) for row in rows)
        lines.append([title, f"{first} of {len(rows)}", *_sure_picks(metric, priced)])
    picks = [f"{what} than Pandora's Regret" for what in ("Picks dearer", "Picks cheaper")]
    return as_table(["Metric", "Agrees best in", *picks, "Cannot be told"], lines, "")


def _sure_picks(metric: str, rows: list[ZooRow]) -> list[str]:
    """In how many rows its pick is beyond doubt dearer, cheaper, or neither."""
    if metric == "pandora_regret":
        return ["", "", ""]
    dearer = sum(row.surely_dearer(metric) for row in rows)
    cheaper = sum(row.surely_cheaper(metric) for row in rows)
    return [f"{dearer} of {len(rows)}", str(cheaper), str(len(rows) - dearer - cheaper)]


def all_metrics() -> str:
    """Every metric against Pandora's Regret, in all rows that have it: better or worse beyond doubt, and picks."""
    titles = {metric["key"]: metric["title"] for metric in _parts("flusight")[0]["agreement"]["metrics"]}
    del titles["pandora_regret"]
    lines = []
    for key, title in titles.items():
        rows = [row for row in ranked_rows() if key in row.cells]
        settled = [row for row in rows if row.warning is None]
        ahead = sum(row.gap(key)[0] > 0 for row in settled)
        behind = sum(row.gap(key)[1] < 0 for row in settled)
        paid = [row for row in rows if all(map(isfinite, row.dearer_interval(key)))]
        dearer, cheaper, _ = _sure_picks(key, paid)
        lines.append([title, str(len(rows)), str(ahead), str(behind), dearer, cheaper])
    header = ["Metric", "Rows", "Agrees better", "Agrees worse", "Picks dearer", "Picks cheaper"]
    return as_table(header, lines, "")


@cache
def _parts(folder: str) -> Any:
    return read_results(STUDIES / folder).to_dict()["data"]


def floors_of_log_loss() -> str:
    """Agreement of log loss with the costs, as it is and clipped at three floors, where some of it is infinite."""
    keys = ("log_loss", "clipped_log_loss", "clipped_log_loss_1e-06", "clipped_log_loss_0.001", "pandora_regret")
    lines = []
    for part in _parts("floors"):
        row = row_of(part["name"], part["agreement"]["conditions"][0])
        infinite = descriptions()[part["name"]]
        few, models = infinite["models_with_infinite_log_loss"], infinite["models"]
        lines.append([ZOOS[part["name"]][0], f"{few} of {models}", *(signed(row.tau(key)) for key in keys)])
    titles = ["as it is, ties last", "clipped at 2.2e-16", "at 1e-6", "at 0.001", "Pandora's Regret"]
    return as_table(["Zoo", "Infinite", *titles], lines, "")


def floored_misses() -> str:
    """Tests that miss, forecasts as they are and raised to a floor: Pandora's Regret, alpha = 0 and log loss."""
    lines = []
    for part in _parts("floors"):
        rows = {row.condition: row for row in (row_of(part["name"], c) for c in part["agreement"]["conditions"])}
        cells = []
        for condition in ("imperfect_tests", "floor_1e-12", "floor_1e-6", "floor_0.001"):
            taus = [signed(rows[condition].tau(key)) for key in ("pandora_regret", LIMIT, "clipped_log_loss")]
            cells.append(" / ".join(taus))
        lines.append([ZOOS[part["name"]][0], *cells])
    return as_table(["Zoo", "as they are", "at least 1e-12", "at least 1e-6", "at least 0.001"], lines, "")


def macro_f1s() -> str:
    """Macro-F1 over all classes and over those that occur or are named, at known costs."""
    lines = []
    for row in all_rows():
        if row.condition == "clinical" and {"macro_f1", "macro_f1_all"} <= set(row.cells):
            taus = [signed(row.tau(key)) for key in ("macro_f1_all", "macro_f1", "pandora_regret")]
            lines.append([ZOOS[row.zoo][0], *taus])
    return as_table(["Zoo", "over all classes", "over those true or named", "Pandora's Regret"], lines, "")


def near_baseline() -> str:
    """Agreement at known costs of all models, and without those about as accurate as the largest class."""
    lines = []
    stored = json.loads((STUDIES / "near-baseline.json").read_text(encoding="utf-8"))
    for zoo in ZOOS:
        found = stored[zoo]
        rows = [row_of(zoo, found[models]) for models in ("all", "others")]
        taus = [" / ".join(signed(row.tau(metric)) for row in rows) for metric in METRICS]
        counts = f"{found['left_out']} of {found['models']}"
        lines.append([ZOOS[zoo][0], f"{found['largest_class']:.3f}", counts, *taus])
    return as_table(["Zoo", "Largest class", "Left out", *METRICS.values()], lines, "")


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
        accuracy = f"{low:.3f} to {high:.3f}, median {median:.3f}"
        largest = f"{one['largest_class']:.3f}"
        rows.append([name, str(one["models"]), instances, str(one["classes"]), largest, accuracy, costs])
    return as_table(["Zoo", "Models", "Instances", "Classes", "Largest", "Accuracy", "Costs"], rows, "")


def tau() -> str:
    """Ours, the paper's in parentheses, and a guess why those differ."""
    results = read_results(STUDIES / "medmnist")
    grid = study_grid(results, "tau", PAPER_METRICS)
    rows = []
    for condition, data, cells in grid.rows:
        paper = IN_THE_PAPER[condition, data]
        shown = [_beside(cell, value) for cell, value in zip(cells, paper, strict=True)]
        rows.append([condition, data, *shown, GUESS[condition, data]])
    return as_table(["Condition", "Data", *grid.metrics, "Our guess why"], rows, "")


def _beside(cell: Cell, paper: float) -> str:
    assert cell.value is not None
    assert cell.low is not None
    assert cell.high is not None
    text = f"{cell.value:.2f}{'†' if cell.reversed else ''}&nbsp;({paper:.2f})"
    return text if round(cell.low, 2) <= paper <= round(cell.high, 2) else f"**{text}**"


def readings() -> str:
    """Well specified, read in five ways, beside the paper's figures."""
    results = read_results(STUDIES / "readings")
    grid = study_grid(results, "tau", PAPER_METRICS)
    rows = [[title, data, *(f"{cell.value:.2f}" for cell in cells)] for title, data, cells in grid.rows]
    paper = {data: IN_THE_PAPER["Well Specified", data] for data in ("Derm", "OCT")}
    rows += [["the paper", data, *(f"{value:.2f}" for value in taus)] for data, taus in paper.items()]
    return as_table(["Reading", "Data", *grid.metrics], rows)


def temperatures() -> str:
    """Random temperatures per model, and per instance."""
    results = read_results(STUDIES / "temperatures")
    grid = study_grid(results, "tau", tuple(METRICS))
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
    for part in _parts("vlm-categories"):
        zoo_rows = [row_of(part["name"], condition) for condition in part["agreement"]["conditions"]]
        taus = [signed(zoo_rows[0].tau(metric)) for metric in METRICS]
        first = f"{sum(row.lead > 0 for row in zoo_rows)} of {len(zoo_rows)}"
        rows.append([part["name"], f"{part['agreement']['data']['rows']:,}", *taus, first])
    return as_table(["Questions", "Number", *METRICS.values(), "First in"], rows, "")


def misses() -> str:
    """Tests that miss and are repeated: agreement of the limit alpha = 0 beside the others."""
    columns = {"pandora_regret": "Pandora's Regret (α = 1)", LIMIT: "its limit α = 0"}
    columns |= {metric: METRICS[metric] for metric in RIVALS} | {"log_loss": "Log loss"}
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
        "twelve": "12 hard to tell apart, 300 instances",
        "skill": "12 that differ in skill alone, 300 instances",
        "ties": "20 hard to tell apart, 60 instances",
        "few": "5 of different skill",
        "many": "100 of different skill",
        "many_alike": "100 hard to tell apart",
    }
    rows = [
        [f'`"{resample}"`', *(_covered(shares[kind][resample]) for kind in kinds)]
        for resample in ("instances", "models", "both")
    ]
    return as_table(["`resample`", *kinds.values()], rows, "")


def _covered(found: dict[str, Any]) -> str:
    """The share of intervals that hold, and of studies that warn."""
    warned = f"{100 * (1 - found['trusted']):.0f} % warned" if found["trusted"] < 0.995 else ""
    return "<br>".join(filter(None, [f"{100 * found['covers']:.1f} %", warned]))


def extra_costs() -> str:
    """What choosing costs more than choosing by bills: as studies say, in truth, and above the cheapest model."""
    populations = json.loads((STUDIES / "coverage.json").read_text(encoding="utf-8"))["extra_costs"]
    names = {"pandora_regret": "Pandora's Regret", "log_loss": "Log loss", "accuracy": "Accuracy"}
    rows = []
    for title, by_metric in populations.items():
        pairs = [f"{signed(by_metric[key]['said'])} / {signed(by_metric[key]['true'])}" for key in names]
        cheapest = " / ".join(signed(by_metric[key]["to_cheapest"]) for key in names)
        covers = " / ".join(
            f"{100 * by_metric[key]['gap_covers']:.0f} %" for key in names if key != "pandora_regret"
        )
        rows.append([title, *pairs, cheapest, covers])
    header = ["Population", *names.values(), "Above the cheapest model", "Intervals hold"]
    return as_table(header, rows, "")


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
        *(all_zoos, zoos_at_a_glance, who_is_first, all_metrics, zoos_described, vlm_categories),
        *(floors_of_log_loss, floored_misses, macro_f1s, near_baseline),
        *(tau, readings, temperatures, misses, votes, study_coverage, extra_costs),
    )
}
