"""Figures within the sentences of docs/study.md, from stored results."""

import json
from collections.abc import Callable, Iterator
from functools import cache
from math import isfinite
from typing import Any

from zoo_results import (
    CONDITIONS,
    DOLLAR,
    FAMILY,
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
from zoo_tables import amount, descriptions, signed

from pandora_regret.study import read_results

IN_MONEY = ("clinical", "random_temperature", "random_distractor_temperature")
LANGUAGE = ("MMBench", "OOD-CV")
NAMES = {  # within a sentence
    "pandora_regret": "Pandora's Regret",
    "clipped_log_loss": "clipped log loss",
    "brier": "the Brier score",
    "accuracy": "accuracy",
    "macro_f1_all": "macro-F1",
}
SHORT = {"Derm": "DermaMNIST", "OCT": "OCTMNIST"}


@cache
def _stored(name: str) -> Any:
    return json.loads((STUDIES / name).read_text(encoding="utf-8"))


@cache
def _cells(folder: str) -> dict[tuple[str, str, str], Any]:
    """By data set, condition and metric."""
    return {
        (part["name"], condition["name"], cell["key"]): cell
        for part in read_results(STUDIES / folder).to_dict()["data"]
        for condition in part["agreement"]["conditions"]
        for cell in condition["metrics"]
    }


def _tau(data: str, condition: str, metric: str, folder: str = "medmnist") -> float:
    return float(_cells(folder)[data, condition, metric]["tau"]["value"])


def _interval(figure: dict[str, float]) -> str:
    return f"[{signed(figure['low'], 3)}, {signed(figure['high'], 3)}]"


def _listed(phrases: list[str]) -> str:
    return phrases[0] if len(phrases) == 1 else f"{', '.join(phrases[:-1])} and {phrases[-1]}"


def _lower(metric: str) -> str:
    return NAMES[metric]


# All zoos


def zoos_first_perfect() -> str:
    """In how many rows Pandora's Regret agrees best, where tests do not miss."""
    rows = [row for row in ranked_rows() if row.condition != "imperfect_tests"]
    return f"{sum(row.lead > 0 for row in rows)} of {len(rows)}"


def zoos_gaps() -> str:
    """How many gaps are surely below or above zero, where tests do not miss."""
    gaps = [row.gap(metric) for row in ranked_rows() if row.condition != "imperfect_tests" for metric in RIVALS]
    below, above = sum(high < 0 for _, high in gaps), sum(low > 0 for low, _ in gaps)
    return f"{below} of {len(gaps)} have intervals below zero, {above} above it"


def zoos_not_first() -> str:
    """Where another metric agrees better, tests that miss left out."""
    rows = [row for row in ranked_rows() if row.lead <= 0 and row.condition != "imperfect_tests"]
    return _listed([_beaten(row) for row in rows])


def _beaten(row: ZooRow) -> str:
    ahead = f"{_lower(row.best_rival)} {row.tau(row.best_rival):.2f} against {row.tau('pandora_regret'):.2f}"
    return f"{ZOOS[row.zoo][0]} under {CONDITIONS[row.condition].lower()} ({ahead})"


def combinations() -> str:
    """How many zoos under how many conditions were run, of how many there could be."""
    rows = all_rows()
    zoos, conditions = len({row.zoo for row in rows}), len({row.condition for row in rows})
    return f"{len(rows)} of the {zoos * conditions} combinations of ten zoos and nine conditions"


def zoos_untold() -> str:
    """Rows whose models other cases rank too differently for an interval."""
    rows = [row for row in ranked_rows() if row.warning is not None]
    names = [f"{ZOOS[row.zoo][0]} under {CONDITIONS[row.condition].lower()}" for row in rows]
    return f"{len(rows)} of {len(ranked_rows())}" + (f" ({_listed(names)})" if names else "")


def priced_rows() -> str:
    """In how many rows the differences between picks have intervals."""
    return f"{sum(row.is_priced for row in ranked_rows())} of {len(ranked_rows())}"


def picks_surely_dearer() -> str:
    """In how many comparisons of picks that of Pandora's Regret is beyond doubt cheaper, or dearer."""
    pairs = [(row, metric) for row in ranked_rows() if row.is_priced for metric in RIVALS]
    dearer = [row for row, metric in pairs if row.surely_dearer(metric)]
    cheaper = [row for row, metric in pairs if row.surely_cheaper(metric)]
    distorted = sum(row.condition == "random_distractor_temperature" for row in dearer)
    where = f" ({distorted} of them under random distractors)"
    return f"in {len(dearer)} of {len(pairs)} comparisons beyond doubt cheaper{where}, in {len(cheaper)} dearer"


def picks_surely_cheapest() -> str:
    """In how many rows its pick is beyond doubt cheaper than those of all four, and than that of one at least."""
    rows = [row for row in ranked_rows() if row.is_priced]
    than_all = [row for row in rows if all(row.surely_dearer(metric) for metric in RIVALS)]
    than_any = [row for row in rows if any(row.surely_dearer(metric) for metric in RIVALS)]
    names = [f"{ZOOS[row.zoo][0]} under {CONDITIONS[row.condition].lower()}" for row in than_all]
    where = f" ({_listed(names)})" if names else ""
    counted = f"in {len(than_all)} of {len(rows)} rows beyond doubt cheaper than the picks of all four{where}"
    return f"{counted}, in {len(than_any)} than one of them at least"


def near_baseline_derm() -> str:
    """What it changes on DermaMNIST to leave out models near the baseline."""
    found = _stored("near-baseline.json")["Derm"]
    every, others = (row_of("Derm", found[models]) for models in ("all", "others"))
    spans = [
        f"from {every.tau(metric):.2f} to {others.tau(metric):.2f} by {NAMES[metric]}"
        for metric in ("pandora_regret", "clipped_log_loss", "accuracy", "macro_f1_all")
    ]
    left_out = f"{found['left_out']} of {found['models']}"
    return f"without the {left_out} that are within .01 of it, |tau| moves {_listed(spans)}"


def zoos_cheaper() -> str:
    """The largest amount that another metric saves, in dollars."""
    return _most(-1)


def zoos_most_lost() -> str:
    """The largest amount that another metric loses, in dollars."""
    return _most(1)


def _most(sign: int) -> str:
    rows = [row for row in ranked_rows() if not row.in_draws and ZOOS[row.zoo][1] == DOLLAR]
    pairs = [(row, metric) for row in rows for metric in RIVALS if isfinite(row.dearer(metric))]
    row, metric = max(pairs, key=lambda pair: sign * pair[0].dearer(pair[1]))
    return f"{amount(row, abs(row.dearer(metric)))}{_of_dearer(row, metric, sign)}"


def _of_dearer(row: ZooRow, metric: str, sign: int) -> str:
    """The interval, turned round for what is saved, and where that was."""
    low, high = row.dearer_interval(metric)
    ends = (low, high) if sign > 0 else (-high, -low)
    interval = f"[{signed(ends[0])}, {signed(ends[1])}], " if isfinite(low) else "no interval, "
    place = f"{ZOOS[row.zoo][0]} under {CONDITIONS[row.condition].lower()}, by {_lower(metric)}"
    return f" per case ({interval}{place})"


def choosing_elsewhere() -> str:
    """What choosing by four metrics costs more than choosing by bills at known costs, beyond the images."""
    metrics = ("accuracy", "clipped_log_loss", "brier", "pandora_regret")
    rows = [row for row in ranked_rows() if row.condition == "clinical" and row.zoo not in (*SHORT, *LANGUAGE)]
    return "; ".join(
        f"{ZOOS[row.zoo][0]} {', '.join(amount(row, row.extra(metric)) for metric in metrics)}" for row in rows
    )


def picked_images() -> str:
    """Among the image models as they are: which metrics pick how many models, and what the dearest pick costs."""
    phrases = []
    for zoo, name in SHORT.items():
        [row] = [row for row in all_rows() if (row.zoo, row.condition) == (zoo, "clinical")]
        picks = {tuple(row.cells[metric]["picked"]) for metric in METRICS}
        worst = max(RIVALS, key=row.dearer)
        dearer = amount(row, row.dearer(worst))
        dearest = f"that of {_lower(worst)} costs {dearer} more than that of Pandora's Regret"
        models = "one model" if len(picks) == 1 else f"{len(picks)} models"
        phrases.append(f"on {name} the five metrics pick {models}, and on resamples {dearest}")
    return "; ".join(phrases)


def _title(metric: str) -> str:
    """As in a list of metrics."""
    titles = {
        cell["key"]: cell["title"] for cell in _stored("flusight/results.json")["data"][0]["agreement"]["metrics"]
    }
    return str(titles[metric]).replace("Beta score, ", "")


def better_elsewhere() -> str:
    """Metrics that are not of Pandora's family and agree better beyond doubt, where tests do not miss."""
    return _listed_gains([key for key in _keys() if key not in FAMILY])


def better_in_family() -> str:
    """Members of Pandora's family, priced ones included, that agree better beyond doubt, without misses."""
    counts = {key: sum(row.gap(key)[0] > 0 for row in _settled_rows() if key in row.cells) for key in FAMILY}
    return _listed([f"{_title(key)} in {count}" for key, count in counts.items()])


def _keys() -> list[str]:
    """Of all metrics but Pandora's Regret."""
    keys = [metric["key"] for metric in _stored("flusight/results.json")["data"][0]["agreement"]["metrics"]]
    return [key for key in keys if key != "pandora_regret"]


def _settled_rows() -> list[ZooRow]:
    return [row for row in ranked_rows() if row.condition != "imperfect_tests" and row.warning is None]


def _listed_gains(keys: list[str]) -> str:
    gains = []
    for row in _settled_rows():
        for key in keys:
            if key in row.cells and row.gap(key)[0] > 0:
                gap = row.cells[key]["gap"]
                place = f"{ZOOS[row.zoo][0]} under {CONDITIONS[row.condition].lower()}"
                gains.append(f"{_title(key)} on {place} by {signed(gap['value'], 3)} {_interval(gap)}")
    return _listed(gains) if gains else "none"


def more_metrics() -> str:
    """All metrics beyond the four whose picks of images cost less under random distractors by a dollar or more."""
    data, condition = "Derm", "random_distractor_temperature"
    [row] = [row for row in all_rows() if (row.zoo, row.condition) == (data, condition)]
    keys = sorted((key for key in row.cells if row.dearer(key) <= -1), key=row.dearer)
    saved = [f"{_title(key)} {DOLLAR}{-row.dearer(key):.2f}" for key in keys]
    ahead = [
        f"{_title(key)} by {signed(row.cells[key]['gap']['value'], 3)} {_interval(row.cells[key]['gap'])}"
        for key in keys
        if row.cells[key]["gap"]["value"] > 0
    ]
    settled = sum(row.surely_cheaper(key) for key in keys)
    cheaper = f"{_listed(saved)} cheaper than Pandora's Regret ({settled} of them beyond doubt)"
    return f"{cheaper}; and agree better: {_listed(ahead)}"


def alpha_temperature() -> str:
    """Where alpha = 3 agrees better than alpha = 1 under random temperature."""
    gap = _cells("medmnist")["OCT", "random_temperature", "beta_3"]["gap"]
    return f"by {signed(gap['value'], 3)} {_interval(gap)}"


def log_loss_digits() -> str:
    """What the floor changes most on digits, at known costs."""
    keys = ("log_loss", "clipped_log_loss", "pandora_regret")
    tied, clipped, ours = (_tau("digits", "clinical", key, "floors") for key in keys)
    return f"{tied:.2f} with ties, {clipped:.2f} clipped; Pandora's Regret has {ours:.2f}"


def lead_over_log_loss() -> str:
    """The mean lead over log loss where some of it is infinite and tests do not miss: tied, and clipped."""
    infinite = [zoo for zoo in ZOOS if descriptions()[zoo]["models_with_infinite_log_loss"]]
    rows = [row for row in ranked_rows() if row.zoo in infinite and row.condition != "imperfect_tests"]
    means = []
    for key in ("log_loss", "clipped_log_loss"):
        leads = [row.tau("pandora_regret") - row.tau(key) for row in rows]
        means.append(sum(leads) / len(leads))
    return f"from {means[0]:.2f} to {means[1]:.2f} on average over {len(rows)} rows"


def lead_at_a_higher_floor() -> str:
    """The lead over log loss at known costs where some of it is infinite, at scikit-learn's floor and 0.001."""
    rows = [
        row_of(part["name"], part["agreement"]["conditions"][0]) for part in _stored("floors/results.json")["data"]
    ]
    spans = []
    for key in ("clipped_log_loss", "clipped_log_loss_0.001"):
        leads = [row.tau("pandora_regret") - row.tau(key) for row in rows]
        spans.append(f"{min(leads):.2f}–{max(leads):.2f}")
    return f"from {spans[0]} to {spans[1]}"


def log_loss_where_tests_miss() -> str:
    """By how much log loss leads where tests miss and some of it is infinite: as it is, and clipped."""
    infinite = [zoo for zoo in ZOOS if descriptions()[zoo]["models_with_infinite_log_loss"]]
    rows = [row for row in ranked_rows() if row.zoo in infinite and row.condition == "imperfect_tests"]
    spans = []
    for key in ("log_loss", "clipped_log_loss"):
        leads = [row.tau(key) - row.tau("pandora_regret") for row in rows]
        spans.append(f"{min(leads):.2f} to {max(leads):.2f}")
    return f"by {spans[0]} as it is, by {spans[1]} clipped"


def rank_metrics() -> str:
    """In how many rows metrics of ranks alone agree better, or worse, beyond doubt than Pandora's Regret."""
    rows = ranked_rows()
    phrases = []
    for key, name in (("top_2", "top-2"), ("top_3", "top-3"), ("mrr", "MRR"), ("auroc", "AUROC")):
        better = sum(row.gap(key)[0] > 0 for row in rows)
        worse = sum(row.gap(key)[1] < 0 for row in rows)
        phrases.append(f"{name} in {better} and {worse}")
    return f"{_listed(phrases)} of {len(rows)}"


def lead_over_macro_f1() -> str:
    """The mean lead over macro-F1, of classes that are true or named and of all, where options are never true."""
    rows = [row for row in ranked_rows() if row.zoo in LANGUAGE and row.condition != "imperfect_tests"]
    spans = []
    for zoo in LANGUAGE:
        means = []
        for key in ("macro_f1", "macro_f1_all"):
            leads = [row.tau("pandora_regret") - row.tau(key) for row in rows if row.zoo == zoo]
            means.append(sum(leads) / len(leads))
        spans.append(f"from {means[0]:.2f} to {means[1]:.2f} on {zoo}")
    return _listed(spans)


def vlm_lead() -> str:
    """Over the best other metric, in the two zoos of vision-language models."""
    rows = [row for row in ranked_rows() if row.zoo in LANGUAGE]
    leads = [row.lead for row in rows]
    return f"in {sum(lead > 0 for lead in leads)} of {len(leads)} rows, by {min(leads):.2f} to {max(leads):.2f}"


def misses_first() -> str:
    """In how many zoos Pandora's Regret agrees best where tests miss."""
    rows = [row for row in ranked_rows() if row.condition == "imperfect_tests"]
    return f"{sum(row.lead > 0 for row in rows)} of {len(rows)}"


def misses_limit() -> str:
    """In how many of them the limit alpha = 0 agrees at least as well as the headline's and log loss, to 0.01."""
    rows = [row for row in ranked_rows() if row.condition == "imperfect_tests"]
    keys = (*METRICS, "log_loss")
    best = [round(row.tau(LIMIT), 2) >= max(round(row.tau(key), 2) for key in keys) for row in rows]
    return f"{sum(best)} of {len(best)}"


def misses_beaten() -> str:
    """Which of all metrics agree better than alpha = 0 where tests miss, to two digits."""
    rows = [row for row in ranked_rows() if row.condition == "imperfect_tests"]
    ahead = [
        f"{_title(key)} on {ZOOS[row.zoo][0]} ({row.tau(key):.2f} against {row.tau(LIMIT):.2f})"
        for row in rows
        for key in row.cells
        if round(row.tau(key), 2) > round(row.tau(LIMIT), 2)
    ]
    return _listed(ahead) if ahead else "none"


def misses_finite() -> str:
    """The zoos in which no bill is infinite: by how much alpha = 0 is ahead of alpha = 1."""
    infinite = {zoo for zoo in ZOOS if descriptions()[zoo]["models_with_infinite_log_loss"]}
    rows = [row for row in ranked_rows() if row.condition == "imperfect_tests" and row.zoo not in infinite]
    gains = [
        f"{ZOOS[row.zoo][0]} {signed(row.cells[LIMIT]['gap']['value'], 3)} {_interval(row.cells[LIMIT]['gap'])}"
        for row in rows
    ]
    return f"α = 0 less α = 1: {_listed(gains)}"


def floored_gaps() -> str:
    """By how much log loss and alpha = 0 lead alpha = 1 where tests miss: as they are, and at each floor."""
    titles = {"imperfect_tests": "as forecasts are", "floor_1e-12": "raised to 1e-12", "floor_1e-6": "to 1e-6"}
    titles |= {"floor_0.001": "to 0.001"}
    phrases = []
    for name, title in titles.items():
        rows = [
            row_of(part["name"], condition)
            for part in _stored("floors/results.json")["data"]
            for condition in part["agreement"]["conditions"]
            if condition["name"] == name
        ]
        log_loss = "log_loss" if name == "imperfect_tests" else "clipped_log_loss"
        spans = []
        sure = []
        for key in (log_loss, LIMIT):
            leads = [row.tau(key) - row.tau("pandora_regret") for row in rows]
            spans.append(f"{signed(min(leads))} to {signed(max(leads))}")
            sure.append(sum(row.gap(key)[0] > 0 for row in rows))
        counts = f"beyond doubt in {sure[0]} and {sure[1]} of {len(rows)}"
        phrases.append(f"{title} {spans[0]} and {spans[1]} ({counts})")
    return "; ".join(phrases)


def floors_say() -> str:
    """With forecasts raised to three floors: in how many of the six zoos each of three scores agrees best."""
    names = {"pandora_regret": "Pandora's Regret (α = 1)", LIMIT: "α = 0", "clipped_log_loss": "log loss"}
    floors: dict[str, list[str]] = {}  # by what they say
    for floor in ("1e-12", "1e-6", "0.001"):
        rows = [
            row_of(part["name"], condition)
            for part in _stored("floors/results.json")["data"]
            for condition in part["agreement"]["conditions"]
            if condition["name"] == f"floor_{floor}"
        ]
        best = dict.fromkeys(names, 0)
        for row in rows:
            best[max(names, key=row.tau)] += 1
        counts = ", ".join(f"{names[key]} in {count}" for key, count in best.items())
        floors.setdefault(counts, []).append(floor)
    return "; ".join(f"{counts}, at a floor of {_listed(found)}" for counts, found in floors.items())


# The paper's four conditions on its two tasks


def _paper_cells() -> Iterator[tuple[str, str, str, Any]]:
    cells = _cells("medmnist")
    for (data, condition, metric), cell in cells.items():
        if metric in ("log_loss", "accuracy", "macro_f1_all"):
            yield data, condition, metric, cell


def paper_gaps() -> str:
    """How many of the paper's gaps are surely below zero."""
    cells = list(_paper_cells())
    return f"{sum(cell['gap']['high'] < 0 for *_, cell in cells)} of {len(cells)}"


def distractors_oct_mild() -> str:
    """The same at the smallest spread of temperatures."""
    stored = _stored("sensitivity.json")
    lines = stored["sigma"]["OCT"]["distractors"]
    log_loss, accuracy = (lines[metric][0][0] for metric in ("log_loss", "accuracy"))
    return f"σ = {stored['sigmas'][0]:g} log loss has {log_loss:.2f} and accuracy {accuracy:.2f}"


def cost_weighted_gains() -> str:
    """The score that knows clinical costs against the one that does not."""
    gains = {(d, c): _cells("medmnist")[d, c, "cost_weighted"]["gap"]["value"] for d in SHORT for c in IN_MONEY}
    up, down = [gain for gain in gains.values() if gain > 0], {row: g for row, g in gains.items() if g <= 0}
    lost = [f"{d}, {CONDITIONS[c].lower()}: {signed(gain)}" for (d, c), gain in down.items()]
    higher = f"in {len(up)} of {len(gains)} rows (by {min(up):.2f} to {max(up):.2f})"
    return f"{higher}, and lower in {len(down)} ({_listed(lost)})"


# Readings of "well specified"


def draws_sd() -> str:
    """How much one draw differs from another."""
    sd = {data: descriptions()[data]["tau_of_single_draws"]["sd"] for data in SHORT}
    return f"{sd['Derm']:.2f} on DermaMNIST and {sd['OCT']:.2f} on OCTMNIST"


# Sensitivity


def sigma_ahead() -> str:
    """How often Pandora's Regret is ahead of the paper's other metrics, whatever the spread."""
    ahead = [
        all(
            lines["pandora_regret"][at][0] > lines[metric][at][0] for metric in lines if metric != "pandora_regret"
        )
        for by_kind in _stored("sensitivity.json")["sigma"].values()
        for lines in by_kind.values()
        for at in range(len(_stored("sensitivity.json")["sigmas"]))
    ]
    return f"{sum(ahead)} of {len(ahead)}"


def alpha_derm() -> str:
    """How far tau moves between alpha = 0.3 and 3 on DermaMNIST, at most."""
    stored = _stored("sensitivity.json")
    places = [stored["alphas"].index(alpha) for alpha in ("0.3", "0.5", "1", "2", "3")]
    spans = [[line[at][0] for at in places] for line in stored["alpha"]["Derm"].values()]
    return f"{max(max(taus) - min(taus) for taus in spans):.2f}"


def alpha_oct() -> str:
    """Tau by alpha on OCTMNIST under random temperature."""
    stored = _stored("sensitivity.json")
    line = dict(zip(stored["alphas"], stored["alpha"]["OCT"]["random_temperature"], strict=True))
    return ", ".join(f"{line[a][0]:.2f} at α = {a.replace('inf', '∞')}" for a in ("0", "1", "2", "inf"))


# Zoos


def oct_weak() -> str:
    """What three quarters of the OCT models do not exceed."""
    return f"{descriptions()['OCT']['accuracy_quartiles'][3]:.3f}"


def infinite_log_loss() -> str:
    """Models that once gave the truth probability 0, zoo by zoo."""
    counts = {
        ZOOS[zoo][0]: (descriptions()[zoo]["models_with_infinite_log_loss"], descriptions()[zoo]["models"])
        for zoo in ZOOS
    }
    return _listed([f"{few} of {all_} on {name}" for name, (few, all_) in counts.items() if few])


# Votes


def votes_wrong() -> str:
    """How often most annotators are wrong."""
    return f"{100 * _stored('votes.json')['digits']['majority_wrong']:.0f} %"


def votes_flusight() -> str:
    """Two releases of the truth."""
    flu = _stored("votes.json")["flusight"]
    kept = flu["cheapest"]["released"] == flu["cheapest"]["revised"] == flu["cheapest"]["votes"]
    return (
        f"differ in {100 * flu['differ']:.0f} % of {flu['rows']:,} cases. The cheapest model is "
        f"{'the same' if kept else 'not the same'} by the first release, by the revision and by both as votes; "
        f"rankings by cost agree at τ = {flu['rankings_released_and_revised']:.2f} between the releases, "
        f"{flu['rankings_votes_and_revised']:.2f} between votes and revision"
    )


# Simulated studies


def coverage_size() -> str:
    """Of the simulation."""
    stored = _stored("coverage.json")
    assert all(share["contains"] == 1 for shares in stored["tau"].values() for share in shares.values())
    return f"{stored['samples']} studies and {stored['metrics']} metrics"


def coverage_of_regrets() -> str:
    """How far what studies say is from what is true, in standard errors, at most, over all populations."""
    populations = _stored("coverage.json")["extra_costs"]
    cells = [cell for by_metric in populations.values() for cell in by_metric.values()]
    off = max(abs(cell["said"] - cell["true"]) / cell["error"] for cell in cells)
    return f"{len(populations)} populations, {len(cells)} figures, the worst {off:.1f} standard errors off"


FIGURES: dict[str, Callable[[], str]] = {
    name: work
    for name, work in list(globals().items())
    if not name.startswith("_") and getattr(work, "__module__", None) == __name__
}
