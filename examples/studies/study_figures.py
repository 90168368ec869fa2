"""Figures within the sentences of docs/study.md, from stored results."""

import json
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from zoo_results import CONDITIONS, DOLLAR, LIMIT, METRICS, RIVALS, STUDIES, ZOOS, ZooRow, ranked_rows
from zoo_tables import descriptions, money, signed

from pandora_regret.study import read_results

IN_MONEY = ("clinical", "random_temperature", "random_distractor_temperature")
LANGUAGE = ("MMBench", "OOD-CV")
SHORT = {"Derm": "DermaMNIST", "OCT": "OCTMNIST"}


@cache
def _stored(name: str) -> Any:
    return json.loads((STUDIES / name).read_text(encoding="utf-8"))


@cache
def _cells(folder: str) -> dict[tuple[str, str, str], Any]:
    """By data set, condition and metric."""
    return {
        (part["name"], condition["name"], cell["key"]): cell
        for part in read_results(STUDIES / folder)["data"]
        for condition in part["agreement"]["conditions"]
        for cell in condition["metrics"]
    }


def _tau(data: str, condition: str, metric: str, folder: str = "medmnist") -> float:
    return float(_cells(folder)[data, condition, metric]["tau"]["value"])


def _interval(figure: dict[str, float]) -> str:
    return f"[{signed(figure['low'])}, {signed(figure['high'])}]"


def _listed(phrases: list[str]) -> str:
    return phrases[0] if len(phrases) == 1 else f"{', '.join(phrases[:-1])} and {phrases[-1]}"


def _lower(metric: str) -> str:
    return METRICS[metric].lower().replace("f1", "F1").replace("brier", "the Brier score")


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


def zoos_cheaper() -> str:
    """The largest amounts that another metric saves, in dollars."""
    return _most(lambda row, metric: row.price("pandora_regret") - row.price(metric))


def zoos_most_lost() -> str:
    """The largest amounts that another metric loses, in dollars."""
    return _most(lambda row, metric: row.price(metric) - row.price("pandora_regret"))


def _most(amount: Callable[[ZooRow, str], float]) -> str:
    paid = [row for row in ranked_rows() if row.priced and not row.in_draws and ZOOS[row.zoo][1] == DOLLAR]
    row, metric = max(((row, metric) for row in paid for metric in RIVALS), key=lambda pair: amount(*pair))
    by = f"{ZOOS[row.zoo][0]} under {CONDITIONS[row.condition].lower()}, by {_lower(metric)}"
    paid_by = f"{money(row, metric)} against {money(row, 'pandora_regret')}"
    return f"{DOLLAR}{amount(row, metric):.2f} per case ({by}: {paid_by})"


def choosing_elsewhere() -> str:
    """What choosing by four metrics costs at known costs, beyond the images."""
    metrics = ("accuracy", "log_loss", "brier", "pandora_regret")
    rows = [
        row
        for row in ranked_rows()
        if row.condition == "clinical" and row.zoo not in (*SHORT, "MMBench", "OOD-CV")
    ]
    return "; ".join(f"{ZOOS[row.zoo][0]} {', '.join(money(row, metric) for metric in metrics)}" for row in rows)


def more_metrics() -> str:
    """Where other metrics than the four of the tables pick much cheaper models of images, or agree better."""
    names = {"beta_3": "α = 3", "top_2": "top-2 accuracy", "top_3": "top-3 accuracy"}
    data, condition = "Derm", "random_distractor_temperature"
    cells = {key: _cells("medmnist")[data, condition, key] for key in (*names, "pandora_regret")}
    paid = cells["pandora_regret"]["regret"]["mean"]
    saved = [f"{name} {DOLLAR}{paid - cells[key]['regret']['mean']:.2f}" for key, name in names.items()]
    ahead = [
        f"{name} by {signed(cells[key]['gap']['value'])} {_interval(cells[key]['gap'])}"
        for key, name in names.items()
        if cells[key]["gap"]["value"] > 0
    ]
    return f"{_listed(saved)} cheaper than Pandora's Regret, and agree better: {_listed(ahead)}"


def alpha_temperature() -> str:
    """Where alpha = 3 agrees better than alpha = 1 under random temperature."""
    gap = _cells("medmnist")["OCT", "random_temperature", "beta_3"]["gap"]
    return f"by {signed(gap['value'])} {_interval(gap)}"


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
    """In how many of them the limit alpha = 0 agrees at least as well as any, to two digits."""
    rows = [row for row in ranked_rows() if row.condition == "imperfect_tests"]
    best = [round(row.tau(LIMIT), 2) >= max(round(row.tau(metric), 2) for metric in METRICS) for row in rows]
    return f"{sum(best)} of {len(best)}"


# The paper's four conditions on its two tasks


def _paper_cells() -> Iterator[tuple[str, str, str, Any]]:
    for (data, condition, metric), cell in _cells("medmnist").items():
        if metric in ("log_loss", "accuracy", "macro_f1"):
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
    return f"{higher}, and a lower one in {len(down)} ({_listed(lost)})"


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


def coverage_of_ties() -> str:
    """How many intervals of accuracy hold where it often ties."""
    return f"{100 * _stored('coverage.json')['tau']['ties']['instances']['by_metric']['accuracy']:.0f} %"


def coverage_regrets() -> str:
    """What choosing costs: as studies say, and in truth."""
    names = {"pandora_regret": "Pandora's Regret", "log_loss": "log loss", "accuracy": "accuracy"}
    pairs = _stored("coverage.json")["regret_said_and_true"]
    return _listed([f"{said:.2f} and {true:.2f} by {names[key]}" for key, (said, true) in pairs.items()])


FIGURES: dict[str, Callable[[], str]] = {
    name: work
    for name, work in list(globals().items())
    if not name.startswith("_") and getattr(work, "__module__", None) == __name__
}
