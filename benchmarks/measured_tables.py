"""Tables and figures on other pages than that of training, from results stored in docs.

recalibrate.md: objectives.json; verdict.md: coverage.json; monitoring.md: monitor.json and
flusight-monitor.json; workups.md: workup-*.csv and workups.json.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from evidence_tables import STORED

from pandora_regret.study import Cell, StudyResults, study_grid

STUDIES = STORED.parent / "study"
WORKUPS = {
    "panels": "7 classes: definitive tests and 4 panels",
    "noisy tests": "5 classes: 5 noisy tests, a definitive panel, naming",
}


def markdown(heading: list[str], rows: list[list[str]]) -> str:
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


@cache
def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _stored(name: str) -> Any:
    return _json(STORED / f"{name}.json")


def _csv(name: str) -> list[dict[str, str]]:
    with open(STORED / f"{name}.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


# Objectives of calibrators


def objectives_more() -> str:
    """What log loss costs more, over maps, prices and numbers of rows."""
    means, medians = (
        [row[name] for row in _stored("objectives")["summary"]]
        for name in ("log_loss_costs_more_percent", "median_percent")
    )
    text = (
        f"{min(means):.2f} to {max(means):.2f} % more on average, "
        f"{min(medians):.2f} to {max(medians):.2f} % in the median"
    )
    return text.replace("-", "−")


def objectives_scope() -> str:
    stored = _stored("objectives")
    sets = {case["data"] for case in stored["cases"]}
    uci = sum(name.startswith("uci_") or name == "soybean" for name in sets)
    return (
        f"{len(stored['models'])} models on {len(sets)} data sets ({len(sets) - uci} of scikit-learn's, made "
        f"harder by noise, and {uci} of the UCI repository)"
    )


def objectives_worst() -> str:
    cases = [case for case in _stored("objectives")["cases"] if case["model"] == "naive Bayes"]
    return f"{max(100 * (case['log_loss'] / case['search'] - 1) for case in cases):.0f} %"


# Coverage of intervals


def coverage() -> str:
    shares = ("analytic", "bootstrap", "warns")
    rows = [
        [row["case"], *(f"{row[name]['value']:.3f}" if row.get(name) else "" for name in shares)]
        for row in _stored("coverage")
    ]
    return markdown(["case, n = 60 unless said", *shares], rows)


# Monitoring


def monitor() -> str:
    """False alarms, in few cases and in many."""
    ever = {name: f"{100 * share:.1f} %" for name, share in _stored("monitor")["false_alarms"].items()}
    by_interval = f"{ever['peeking']} by a 95 % interval, looked at as often"
    rows = [
        ["ever a false alarm", ever["alarm"], by_interval],
        ["ever a false note that it costs less", ever["note"], by_interval],
        ["an end of the interval ever wrong", ever["interval"], "10 % at most: two ends"],
        ["ever a false alarm, changing class mixes and heavy-tailed prices", ever["changing"], ""],
        [
            "the same, labels that come sooner where costs are high",
            ever["late"],
            f"{ever['by arrival']} betting as labels come",
        ],
        ["the same, weeks of 20 cases that all turn out alike, `--dependent`", ever["dependent"], ""],
        [f"ever a false alarm in {_stored('monitor')['many_cases']:,} cases", ever["long"], ""],
    ]
    return markdown(["What", "Measured", "Beside"], rows)


def monitor_delays() -> str:
    """Median cases until the alarm, and how far off the date is that it gives."""
    rows = []
    for row in _stored("monitor")["delays"]:
        later = row["after_good_cases"]
        delays = [
            f"{later[n]['alarm']:,.0f} (off by {later[n]['date_off']:.0f})" for n in ("500", "2000", "10000")
        ]
        name = f"{row['fault']}, {row['prices']}"
        rows.append([name, f"{row['planned_test']:,.0f}", f"{row['alarm']:,.0f}", *delays])
    good = [f"after {n} good cases (date off by)" for n in ("500", "2,000", "10,000")]
    return markdown(["Fault", "planned z-test", "from the first case", *good], rows)


def monitor_streams() -> str:
    stored = _stored("monitor")
    return (
        f"{stored['streams']:,} calibrated streams of {stored['cases']:,} cases each, looked at after every case, "
        f"at level 5 %; {stored['broken_streams']:,} streams of each fault"
    )


def monitor_by_arrival() -> str:
    return f"{100 * _stored('monitor')['false_alarms']['by arrival']:.0f} %"


def monitor_price() -> str:
    """Of looking at any time, against a test planned for one moment."""
    ratios = [of["alarm"] / of["planned_test"] for of in _stored("monitor")["delays"]]
    return f"{min(ratios):.1f} to {max(ratios):.1f} times the cases"


def monitor_price_later() -> str:
    """Of looking at any time, and not knowing when the fault began, after 2,000 good cases."""
    delays = _stored("monitor")["delays"]
    ratios = [row["after_good_cases"]["2000"]["alarm"] / row["planned_test"] for row in delays]
    return f"{min(ratios):.1f} to {max(ratios):.1f} times"


def monitor_speed() -> str:
    """Updates per second, one by one and in batches."""
    speed = _stored("monitor")["speed"]
    return f"{speed['single']:,.0f}; {speed['batched'] / 1e6:.2f} million"


# Three flu seasons


def _flusight(wanted: Callable[[str], bool]) -> tuple[int, int, int, int]:
    """Of models by what is known of them: how many, how many alarmed, their horizons, those with an alarm."""
    models = [m for m in _json(STUDIES / "flusight-monitor.json")["models"] if wanted(m["known"] or "")]
    alarms = [[part["alarm"] is not None for part in model["horizons"]] for model in models]
    return len(models), sum(map(any, alarms)), sum(map(len, alarms)), sum(map(sum, alarms))


def flusight_alarms() -> str:
    """Constant forecasts, which are known to be so, are left out."""
    wrong, caught, horizons, heard = _flusight(lambda known: known != "" and not known.startswith("always"))
    others, too, theirs, loud = _flusight(lambda known: known == "")
    return (
        f"Of the {wrong} models that are known to have used a wrong definition, or to have broken, {caught} "
        f"alarmed, at {heard} of their {horizons} horizons. So did {too} of the {others} others (not counting the "
        f"two constant forecasts), at {loud} of their {theirs} horizons"
    )


# Work-ups, one step ahead


def workup_myopic() -> str:
    rows, before = [], ""
    for row in _csv("workup-myopic"):
        kind = "" if row["work-ups"] == before else WORKUPS[row["work-ups"]]
        before = row["work-ups"]
        rows.append([kind, row["rule"], *(f"{100 * float(row[name]):.0f} % more" for name in ("mean", "worst"))])
    return markdown(["Work-ups", "Rule", "On average", "At worst"], rows)


def workup_dermatology() -> str:
    rows = [
        [
            row["rule"],
            row["predicted"],
            row["paid"],
            "" if row["rule"] == "optimal" else f"{row['more than optimal']} ({row['standard error']})",
        ]
        for row in _csv("workup-dermatology")
    ]
    return markdown(["Rule", "Promised", "Paid per patient", "More than the best (standard error, paired)"], rows)


def workup_thyroid() -> str:
    rows = []
    for row in _csv("workup-thyroid"):
        promised, paid = (
            f"{row[what]} ({row[f'{what} low']} to {row[f'{what} high']})" if row[what] else ""
            for what in ("promised", "paid")
        )
        rows.append([row["rule"], promised, paid, row["fees"], f"{100 * float(row['wrong']):.1f} %"])
    return markdown(["Rule", "Promised per patient", "Paid per patient", "Of it fees", "Named wrongly"], rows)


# Work-ups of the study


def _workups(what: str) -> dict[str, dict[tuple[str, str], Cell]]:
    """By metric: the cell of every condition and data set that leaves a choice."""
    grid = study_grid(StudyResults.from_dict(_json(STUDIES / "workups.json")), what, ())
    return {
        metric: {(condition, data): cells[k] for condition, data, cells in grid.rows if not cells[k].constant}
        for k, metric in enumerate(grid.metrics)
    }


def workups_fall() -> str:
    tau = _workups("tau")["Pandora's Regret"]
    clinical = [cell.value for (condition, _), cell in tau.items() if condition == "Clinical"]
    others = sorted(cell.value for (condition, _), cell in tau.items() if condition != "Clinical")
    return f"{' and '.join(f'{value:.2f}' for value in clinical)} to between {others[0]:.2f} and {others[-1]:.2f}"


def workups_prices() -> str:
    """What knowing the prices gains."""
    tau = _workups("tau")
    plain, priced = tau["Pandora's Regret"], tau["Cost-weighted regret"]
    gains = sorted(priced[row].value - plain[row].value for row in plain)
    return f"{gains[0]:.2f} to {gains[-1]:.2f}"


def workups_unsettled() -> str:
    """Of the panels' gaps, those whose interval reaches zero."""
    rivals = ("Log loss, clipped", "Brier score", "Accuracy", "Macro-F1, all classes")
    gaps = [(data, m, c) for m in rivals for (kind, data), c in _workups("gap")[m].items() if kind == "Panel"]
    unsettled = [(data, metric) for data, metric, cell in gaps if cell.high >= 0]
    names = [f"{metric} on {data}MNIST".replace("DermM", "DermaM") for data, metric in unsettled]
    return f"{len(names)} of {len(gaps)} intervals reach zero under the panels" + (
        f" ({'; '.join(names)})" if names else ""
    )


def workups_below() -> str:
    """How far the plain score lies below the panel's own."""
    gaps = [1 - cell.value for (kind, _), cell in _workups("tau")["Pandora's Regret"].items() if kind == "Panel"]
    return " and ".join(f"{gap:.2f}" for gap in gaps)


def workups_picks() -> str:
    """How far picks of proper scores are apart, and what the panel's pick costs where searches are paid."""
    extra = _workups("extra_cost")
    proper = [extra[title] for title in ("Pandora's Regret", "Log loss, clipped", "Brier score")]
    spreads = []
    for row in proper[0]:
        values = [cells[row].value for cells in proper]
        spreads.append(max(values) - min(values))
    by_panel = _workups("extra_cost_gap")["Work-up cost (panel)"]
    searched = {data: cell for (condition, data), cell in by_panel.items() if condition == "Clinical"}
    costs = []
    for data, cell in searched.items():
        name = f"{data}MNIST".replace("DermM", "DermaM")
        interval = f"[{cell.low:.2f}, {cell.high:.2f}]".replace("-", "−")
        costs.append(f"\\${cell.value:.2f} more on {name} {interval}")
    settled = sum(cell.low > 0 for cell in searched.values())
    spread = f"by at most \\${max(spreads):.2f} per case"
    dearer = f"{' and '.join(costs)}: {settled} of {len(costs)} beyond doubt"
    return f"{spread}. A pick by the panel's bill costs, where single searches are paid, {dearer}"


TABLES = {
    work.__name__: work
    for work in (coverage, monitor, monitor_delays, workup_myopic, workup_dermatology, workup_thyroid)
}  # fmt: skip
FIGURES = {
    work.__name__: work
    for work in (
        objectives_scope, objectives_more, objectives_worst, monitor_streams, monitor_price,
        monitor_price_later, monitor_by_arrival, monitor_speed, flusight_alarms, workups_fall,
        workups_prices, workups_picks, workups_unsettled, workups_below,
    )
}  # fmt: skip
