"""What work-ups cost, public calls with all their checks, against yardsticks of the same run.

Run with ``python benchmarks/workup.py`` on a quiet machine. ``python benchmarks/workup.py --plans [FOLDER]
[pathfinder.bif.gz]`` compares the plan of one second with simple rules, each evaluated without a limit of time: on
an incident, on 20 random mixed work-ups and, of FOLDER, on DDXPlus (ddxplus_rates.csv: rates of findings by
disease, a column of cases, then one per finding) and thyroid (thyroid_train.csv, thyroid_costs.csv); pathfinder
comes with the package pgmpy. ``--seconds`` gives the plan another time; ``--processor`` counts seconds of
processor time, where other work keeps the machine busy.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import re
import sys
import tracemalloc
from pathlib import Path
from statistics import NormalDist
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from incident import RESTART, Incident
from numba import njit
from yardstick import best, claim, finish, record

import pandora_regret as pr
from pandora_regret.core.kernels import engine
from pandora_regret.core.kernels.engine import in_threads
from pandora_regret.workup import planner as planning
from pandora_regret.workup.bounds import Outlook
from pandora_regret.workup.planner import PRICE_MULTIPLES, Node, Planner
from pandora_regret.workup.policies import exact_policy

ROWS = 10_000


def forecasts(n: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.integers(0, k, n), rng.dirichlet(np.ones(k), n)


def classes(k: int) -> list[str]:
    return [f"class {i}" for i in range(k)]


def panels(k: int, n_panels: int) -> pr.Workup:
    """A definitive test per class, and tests that say in which half of the classes the truth lies."""
    rng, names = np.random.default_rng(1), classes(k)
    steps: dict[str, Any] = {f"test {i}": {"cost": rng.uniform(1, 3), "confirms": names[i]} for i in range(k)}
    for i in range(n_panels):
        half = [names[j] for j in sorted(rng.choice(k, k // 2, replace=False))]
        steps[f"panel {i}"] = {"cost": rng.uniform(1, 2), "positive_for": half, "sensitivity": 1, "specificity": 1}
    return pr.Workup(names, steps)


def noisy(k: int, n_tests: int) -> pr.Workup:
    """Binary tests that shift the odds, and a loss for naming the wrong class."""
    rng, names = np.random.default_rng(2), classes(k)
    rows = rng.uniform(0.02, 0.98, (n_tests, k))
    steps = {
        f"test {i}": {
            "cost": rng.uniform(1, 3),
            "outcomes": {"yes": dict(zip(names, row.tolist(), strict=True)), "no": "otherwise"},
        }
        for i, row in enumerate(rows)
    }
    return pr.Workup(names, steps, stops={"name": {"wrong": 30}})


PLAIN = {"nogil": True, "error_model": "numpy"}


@njit(**PLAIN)
def plain_recursion(p, truth, graph, stops, edge_costs, out):
    """The recursion as it is written down: one row at a time, V and J of every state."""
    likelihood, may_stop, edges, children = graph
    losses, names_class = stops
    n_states, n_classes = likelihood.shape
    value, paid = np.zeros(n_states + 1), np.zeros((n_states + 1, n_classes))
    for row in range(len(p)):
        for state in range(n_states):
            least, option, named = np.inf, 0, -1
            if may_stop[state]:
                least, option, named = best_stop(p, row, likelihood, state, losses, names_class)
            mass = 0.0
            for k in range(n_classes):
                mass += p[row, k] * likelihood[state, k]
            for edge in range(edges[state], edges[state + 1]):
                total = edge_costs[edge] * mass
                for child in children[edge]:
                    total += value[child]
                if total < least:
                    least, option = total, edge
            value[state] = least
            pay(state, option, named, likelihood, children, losses, edge_costs, paid)
        out[row] = paid[n_states - 1, truth[row]]


@njit(**PLAIN, forceinline=True)
def best_stop(p, row, likelihood, state, losses, names_class):
    least, option, named = np.inf, 0, -1
    for stop in range(len(losses)):
        for name in range(likelihood.shape[1] if names_class[stop] else 1):
            total = 0.0
            for k in range(likelihood.shape[1]):
                if not (names_class[stop] and k == name):
                    total += p[row, k] * likelihood[state, k] * losses[stop, k]
            if total < least:
                least, option, named = total, -1 - stop, name if names_class[stop] else -1
    return least, option, named


@njit(**PLAIN, forceinline=True)
def pay(state, option, named, likelihood, children, losses, edge_costs, paid):
    for k in range(paid.shape[1]):
        if option < 0:
            paid[state, k] = 0.0 if k == named else likelihood[state, k] * losses[-1 - option, k]
            continue
        total = edge_costs[option] * likelihood[state, k]
        for child in children[option]:
            total += paid[child, k]
        paid[state, k] = total


def state_graph(what: str, workup: pr.Workup, rows: int) -> None:
    truth, p = forecasts(rows, len(workup.classes))
    compiled_graph = exact_policy(workup).graph
    edge_costs, graph, out = compiled_graph.edge_costs(workup.costs), compiled_graph.arrays, np.empty(rows)
    arrays = (graph.likelihood, graph.may_stop, graph.edges, graph.children)
    stops = (graph.losses, graph.names_class)

    def one_by_one() -> None:
        def some(part: slice) -> None:
            plain_recursion(p[part], truth[part], arrays, stops, edge_costs, out[part])

        in_threads(some, rows, rows * len(edge_costs))

    seconds = best(lambda: pr.workup_cost(truth, p, workup))
    unit = best(one_by_one, repeats=2)
    assert np.allclose(out, pr.workup_cost(truth, p, workup, per_instance=True), rtol=1e-10)
    per_row = f", {1e6 * seconds / rows:.1f} us per forecast"
    claim(f"{what}, {len(graph.likelihood):,} states{per_row}", seconds, "the plain recursion", unit, 1 / 10)


def hierarchy() -> None:
    names = [f"{group}{leaf}" for group in "abcd" for leaf in range(3)]
    tree = {group: {"cost": 3, **{f"{group}{leaf}": 1 + leaf for leaf in range(3)}} for group in "abcd"}
    workup = pr.Workup(names, hierarchy=tree)
    truth, p = forecasts(200_000, len(names))
    costs = np.linspace(1, 3, len(names))
    unit = best(lambda: pr.search_cost(truth, p, costs))
    claim("hierarchy, 200,000 x 12", best(lambda: pr.workup_cost(truth, p, workup)), "search_cost", unit, 5)


def forest() -> None:
    names = classes(10)
    steps: dict[str, Any] = {"visit": {"cost": 2}, "admission": {"cost": 5, "requires": "visit"}}
    for k, name in enumerate(names):
        steps[f"test {k}"] = {"cost": 1 + k / 3, "requires": ["visit", "admission"][k % 2], "tells_apart": [name]}
    workup = pr.Workup(names, steps)
    truth, p = forecasts(100_000, 10)
    unit = best(lambda: pr.search_order(p, np.linspace(1, 4, 10)))
    claim("forest, 100,000 x 10", best(lambda: pr.workup_cost(truth, p, workup)), "search_order", unit, 5)


def unit_incident(n: int) -> pr.Workup:
    """Components behind three windows, some behind two at once; or the unit is replaced."""
    names = [f"component {k}" for k in range(n)]
    steps: dict[str, Any] = {f"window {w}": {"cost": cost} for w, cost in enumerate((30, 45, 20))}
    for k, name in enumerate(names):
        windows = ["window 0", "window 1"] if k % 7 == 3 else [f"window {k % 4}"] if k % 4 < 3 else []
        steps[f"look at {name}"] = {"cost": 3 + 7 * k % 11, "confirms": name, "requires": windows}
    return pr.Workup(names, steps, stops={"replace the unit": {"loss": 150}})


def incidents(n: int) -> None:
    """Scores against those of a search over as many classes, and one plan."""
    workup, (truth, p) = unit_incident(n), forecasts(ROWS, n)
    unit = best(lambda: pr.search_cost(truth, p, np.linspace(1, 9, n)))
    seconds = best(lambda: pr.workup_cost(truth, p, workup), 3)
    what = f"{n} components, 3 windows, giving up, {ROWS:,} forecasts"
    record(what, f"{seconds:.2f} s = {seconds / unit:.0f} x search_cost", "at most 10 s", seconds <= 10)
    planned = best(lambda: pr.plan_workup(p[0], workup), 3)
    record(f"{n} components, one plan", f"{1e3 * planned:.0f} ms", "at most 1 s", planned <= 1)


class OneStep(Planner):
    """Rules of thumb as yardsticks, with the planner's own way to stop where that is cheaper."""

    rule_name = "information"

    def run(self) -> None:
        """Its plans are asked for one by one."""

    def rule(self, node: Node, outlook: Outlook, price: float, is_rare: bool) -> int:
        left = outlook.entropies if self.rule_name == "information" else outlook.stops
        gain = left[0] - self.bounds.per_action(np.where(outlook.ended, 0.0, left))
        return int(np.where(np.isfinite(node.least), gain / self.bounds.costs, -np.inf).argmax())


def by_rule(workup: pr.Workup, p: np.ndarray, rule: str, likely: float) -> float:
    planner = OneStep(workup, p, {}, np.inf)
    planner.rule_name = rule
    return planner.plan_by_rule(0.0, likely)


RULES = ("information", "price", "value", "always", "base")  # what the plan is compared with
FULLY = 1e-6  # states less likely than this end a rule


def rule_costs(workup: pr.Workup, p: np.ndarray) -> dict[str, tuple[float, float]]:
    """What each rule costs, and the seconds that it takes to say so, without a limit of time.

    information: the most nats per cost. price: the best of four prices of a nat. value: the most that one step
    saves per cost, as long as it pays. always: all diagnostics that pay on average, made in every case. base: the
    step, or the first of two, after which the cheapest ending costs least. All end by stopping or a search.
    """
    planner = Planner(workup, p, {}, np.inf, limit=1)
    rollouts = planner.rollouts
    start = planner.beliefs(planner.root)
    prices = [rollouts.by_price(planner.root.price * price) for price in PRICE_MULTIPLES]
    battery = rollouts.battery(start) if planner.searches.can_search else []
    rules = {
        "information": [rollouts.by_information],
        "price": prices,
        "value": [rollouts.by_value],
        "always": [rollouts.by_list(battery)],
        "base": [rollouts.by_ending],
    }
    costs = {}
    for name, versions in rules.items():
        begin = planning.perf_counter()
        values = [rollouts.evaluate(rule, start, FULLY * planner.root.mass)[0].values[0] for rule in versions]
        costs[name] = (min(values) / planner.root.mass, planning.perf_counter() - begin)
    return costs


def compare_plan(what: str, workup: pr.Workup, p: np.ndarray, seconds: float) -> dict[str, float]:
    """One row: the plan and its bound, and what rules cost; how far the best of these is above the plan."""
    begin = planning.perf_counter()
    plan = pr.plan_workup(p, workup, method="planner", seconds=seconds)
    took = planning.perf_counter() - begin
    costs = rule_costs(workup, p)
    found = f"{plan.expected_cost:.2f} in {took:.1f} s, at least {plan.lower_bound:.2f}"
    rules = ", ".join(f"{name} {cost:.2f} ({spent:.1f} s)" for name, (cost, spent) in costs.items())
    least = min(cost for cost, _ in costs.values())
    record(what, found, rules, plan.expected_cost <= least * (1 + 1e-9))
    return {"plan": plan.expected_cost, "bound": plan.lower_bound, "best rule": least}


def simulated(workup: pr.Workup, seconds: float, n_cases: int = 4_000) -> None:
    """Cases drawn from the rates that a work-up knows pay what its plan promises, but for chance."""
    rng = np.random.default_rng(0)
    plan = pr.plan_workup(None, workup, seconds=seconds)
    shares = np.array(list(workup.shares.values()))
    truths = rng.choice(len(shares), n_cases, p=shares / shares.sum())
    paid = np.array([one_case(plan.tree, workup, truth, rng) for truth in truths])
    error = paid.std() / n_cases**0.5
    found = f"promised {plan.expected_cost:.1f}, paid {paid.mean():.1f} (standard error {error:.1f})"
    holds = abs(paid.mean() - plan.expected_cost) <= 3 * error
    record(f"the incident, {n_cases:,} simulated cases", found, "at most 3 errors apart", bool(holds))


def one_case(node: Any, workup: pr.Workup, truth: int, rng: np.random.Generator) -> float:
    """What one case pays that follows a tree, its outcomes drawn."""
    paid = 0.0
    while node.kind == "step":
        paid += node.cost
        step = workup.steps[workup.step_index[node.name]]
        chances = np.array(step.chances)[:, truth]
        node = node.branches[step.outcomes[rng.choice(len(chances), p=chances / chances.sum())]]
    return paid + (RESTART if node.kind == "stop" else 0.0)


def random_mixed(number: int) -> pr.Workup:
    """An incident of 8 to 25 components and 2 to 8 diagnostics."""
    rng = np.random.default_rng(number)
    return Incident.drawn(number, int(rng.integers(8, 26)), int(rng.integers(2, 9))).workup(seed=number)


def mixed(seconds: float) -> None:
    """The incident, and 20 random ones: how much dearer the best rule is."""
    workup = Incident.drawn().workup()
    compare_plan(
        "the incident: 25 components, 8 diagnostics", workup, np.array(list(workup.shares.values())), seconds
    )
    simulated(workup, seconds)
    saved = []
    for number in range(20):
        workup = random_mixed(number)
        what = f"mixed {number}: {len(workup.classes)} components"
        row = compare_plan(what, workup, np.array(list(workup.shares.values())), seconds)
        saved.append(row["best rule"] / row["plan"] - 1)
    found = f"{100 * np.mean(saved):.2f} % dearer on average, {100 * min(saved):.2f} to {100 * max(saved):.2f} %"
    record("20 random mixed work-ups: the best rule", found, "never cheaper", min(saved) >= -1e-9)


def ddxplus(folder: Path, seconds: float) -> None:
    """Two forecasts: the diseases' frequencies, and one of which five diseases hold 90 %."""
    with open(folder / "ddxplus_rates.csv", newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    names, table = [row[0] for row in rows], np.array([row[1:] for row in rows], np.float64)
    tables = {
        finding: {
            "cost": 1,
            "outcomes": {"yes": dict(zip(names, rates.tolist(), strict=True)), "no": "otherwise"},
            "confirming": [],
        }
        for finding, rates in zip(header[2:], table.T[1:], strict=True)
    }
    prior = table[:, 0] / table[:, 0].sum()
    peaked = np.full(len(names), 0.1 / (len(names) - 5))
    peaked[np.random.default_rng(0).choice(len(names), 5, replace=False)] = 0.18
    for loss in (10, 50):
        workup = pr.Workup(names, tables, stops={"name": {"wrong": loss}})
        compare_plan(f"DDXPlus, {len(names)} diseases, loss {loss}", workup, prior, seconds)
        compare_plan(f"DDXPlus, five diseases hold 90 %, loss {loss}", workup, peaked, seconds)


def thyroid(folder: Path, seconds: float) -> None:
    """A wrong name loses 10 and 50 times what the dearest test costs."""
    train = pd.read_csv(folder / "thyroid_train.csv")
    fees = dict(pd.read_csv(folder / "thyroid_costs.csv").itertuples(index=False))
    for times in (10, 50):
        workup = pr.learn_workup(train, "class", fees, wrong=times * max(fees.values()))
        p = np.array(list(workup.shares.values()))
        compare_plan(f"thyroid, loss {times} x TSH", workup, p, seconds)


def pathfinder(path: Path, seconds: float) -> None:
    """The findings that depend on the disease alone."""
    text = gzip.decompress(path.read_bytes()).decode()
    values = dict(re.findall(r"variable (\S+) \{\s*type discrete \[ \d+ \] \{ ([^}]*) \}", text))
    names = values["Fault"].split(", ")
    [prior] = re.findall(r"probability \( Fault \) \{\s*table ([^;]*);", text)
    p, tables = np.array(prior.split(", "), np.float64), {}
    for finding, body in re.findall(r"probability \( (\S+) \| Fault \) \{([^}]*)\}", text):
        rows = np.array([row.split(", ") for row in re.findall(r"\) ([^;]*);", body)], np.float64)
        rows /= rows.sum(axis=1, keepdims=True)
        outcomes: dict[str, Any] = {
            name: dict(zip(names, rows[:, o].tolist(), strict=True))
            for o, name in enumerate(values[finding].split(", "))
        }
        tables[finding] = {"cost": 1, "outcomes": outcomes | {list(outcomes)[-1]: "otherwise"}, "confirming": []}
    for loss in (10, 50):
        workup = pr.Workup(names, tables, stops={"name": {"wrong": loss}})
        compare_plan(f"pathfinder, {len(names)} diseases, loss {loss}", workup, p / p.sum(), seconds)


def plans(arguments: argparse.Namespace) -> None:
    """The plan against simple rules."""
    if arguments.processor:
        planning.perf_counter = process_time
    mixed(arguments.seconds)
    if arguments.folder is not None:
        ddxplus(arguments.folder, arguments.seconds)
        thyroid(arguments.folder, arguments.seconds)
    if arguments.pathfinder is not None:
        pathfinder(arguments.pathfinder, arguments.seconds)


def cube(sigma: float) -> None:
    """The most that five of CUBE's features can tell: class k shifts features k to k + 2 to the bits of k.

    Of 20 features ten are uniform noise for all classes, and left out. In thirds of the unit interval.
    """
    names, tables = classes(8), {}
    for feature in range(10):
        rows = np.full((8, 3), 1 / 3)
        for k in range(8):
            if 0 <= feature - k < 3:
                spread = NormalDist((k >> (feature - k)) & 1, sigma)
                rows[k] = np.diff([0, spread.cdf(1 / 3), spread.cdf(2 / 3), 1])
        low, middle = (dict(zip(names, rows[:, o].tolist(), strict=True)) for o in range(2))
        tables[f"feature {feature}"] = {"cost": 1, "outcomes": {"low": low, "middle": middle, "high": "otherwise"}}
    dear, p = 1e9, np.full(8, 1 / 8)
    workup = pr.Workup(names, tables, stops={"name": {"wrong": dear}}, budget=5)
    exact = pr.plan_workup(p, workup, method="graph").expected_cost
    rules = {rule: 1 - by_rule(workup, p, rule, 0.0) / dear for rule in ("information", "value")}
    against = ", ".join(f"{rule} {100 * share:.2f} %" for rule, share in rules.items())
    what = f"CUBE, deviation {sigma}, three bins, 5 of 20 features: highest accuracy"
    record(what, f"{100 * (1 - exact / dear):.2f} %", f"by one-step {against}", None)


@njit(**PLAIN)
def burn(n):
    total = 0.0
    for i in range(n):
        total += np.sin(1e-3 * i)
    return total


def threads() -> None:
    """Of work-ups, and of a loop that shares nothing: where that gains nothing, the cores are taken by others."""
    workup, (truth, p) = panels(10, 5), forecasts(4 * ROWS, 10)
    cores = engine._n_threads()

    def gain(work: Any) -> float:
        every = best(work)
        engine._n_threads = lambda: 1
        one = best(work)
        engine._n_threads = lambda: cores
        return one / every

    ours = gain(lambda: pr.workup_cost(truth, p, workup))
    alone = gain(lambda: in_threads(lambda part: burn(part.stop - part.start), 10**7, 10**9))
    holds = ours >= 1.6 if cores > 1 and alone >= 1.6 else None
    against = f"{cores} threads against one, at least 1.6; a loop that shares nothing gains {alone:.2f} x"
    record("state graph, 40,000 x 10", f"{ours:.2f} x", against, holds)


def memory() -> None:
    """Peak allocation beyond the arguments: as much for ten times as many rows, but for one number per row."""
    workup, peaks = noisy(10, 8), []
    for rows in (30_000, 300_000):
        truth, p = forecasts(rows, 10)
        pr.workup_cost(truth[:20_000], p[:20_000], workup)
        tracemalloc.start()
        pr.workup_cost(truth, p, workup)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    small, large = (f"{peak / 1e6:.1f} MB" for peak in peaks)
    holds = peaks[1] <= peaks[0] + 16 * 300_000
    record("memory, 6,561 states", f"{small} at 30,000, {large} at 300,000 rows", "no N x states", holds)


def timings() -> None:
    """What scores and single plans take, and what rules of thumb name right."""
    state_graph("10 classes, 15 deterministic tests", panels(10, 5), ROWS)
    state_graph("10 classes, 8 noisy tests", noisy(10, 8), ROWS // 4)
    hierarchy()
    forest()
    for n in (20, 60):
        incidents(n)
    threads()
    memory()
    for sigma in (0.1, 0.3):
        cube(sigma)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plans", action="store_true")
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--processor", action="store_true")
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("pathfinder", type=Path, nargs="?")
    options = parser.parse_args()
    if options.plans:
        plans(options)
    else:
        timings()
    sys.exit(finish())
