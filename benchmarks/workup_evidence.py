"""What looking one step ahead loses, on random work-ups and on the patients of UCI's dermatology data.

Run with ``python benchmarks/workup_evidence.py DERMATOLOGY.csv docs/evidence``: tables of docs/study/workups.md.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any

import numpy as np

import pandora_regret as pr
from pandora_regret.workup import PlanNode
from pandora_regret.workup.solver import Solver

METHODS = ("optimal", "greedy", "information")
FOLDS = 5
CLINICAL, MICROSCOPIC = 4, 4  # findings that are asked for, of each kind
DISEASES = "psoriasis, seborrheic dermatitis, lichen planus, pityriasis rosea, chronic dermatitis, rubra pilaris"
CLINICAL_FINDINGS = """erythema, scaling, definite borders, itching, Koebner phenomenon, polygonal papules,
follicular papules, oral mucosa, knee and elbow, scalp, family history"""
MICROSCOPIC_FINDINGS = """melanin incontinence, eosinophils, PNL infiltrate, fibrosis, exocytosis, acanthosis,
hyperkeratosis, parakeratosis, clubbing of rete ridges, elongation of rete ridges, thinning, spongiform pustule,
Munro microabscess, focal hypergranulosis, granular layer lost, basal layer damage, spongiosis, saw-tooth retes,
follicular horn plug, perifollicular parakeratosis, mononuclear infiltrate, band-like infiltrate"""


def listed(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


NAMES = dict(enumerate(listed(DISEASES)))
FINDINGS = [*listed(CLINICAL_FINDINGS), *listed(MICROSCOPIC_FINDINGS)]


class OneStepAhead(Solver):
    """The step that gains most per cost: of "greedy" the chance of being done, or what stopping then loses less.

    By "information", entropy. Where there are ways to stop, it stops as soon as no single step pays for itself.
    """

    def __init__(self, workup: pr.Workup, p: np.ndarray, rule: str) -> None:
        super().__init__(workup, p, {})
        self.rule = rule

    def option(self, state: Any, likelihood: np.ndarray) -> int:
        terms, moves = self.p * likelihood, self.space.open_actions(state)
        greedy = [self.gain(terms, state, move, "greedy", 0.0) for move in moves]
        if not moves or (self.workup.stops and not any(gain > cost * terms.sum() for gain, cost in greedy)):
            losses = [self.stop_loss(terms, stop) for stop in self.workup.stops]
            return -1 - (int(np.argmin(losses)) if losses else 0)
        gains = [self.gain(terms, state, move, self.rule, 0.0) for move in moves]
        return moves[int(np.argmax([gain / cost if cost > 0 else np.inf for gain, cost in gains]))]

    def gain(self, terms: np.ndarray, state: Any, action: int, rule: str, spent: float) -> Any:
        """What an action gains and costs; one that tells nothing by itself counts with the best that it allows."""
        cost, branches = spent + self.action_costs[action], list(self.space.branches(state, action))
        if len(branches) == 1 and branches[0][1] is not None:
            after = branches[0][1]
            further = [self.gain(terms, after, move, rule, cost) for move in self.space.open_actions(after)]
            return max(further, key=lambda pair: pair[0] / pair[1] if pair[1] else np.inf, default=(0.0, cost))
        parts = [(terms * self.space.rows[row], after is None) for row, after in branches]
        if rule == "information":
            return entropy(terms) - sum(entropy(part) for part, _ in parts), cost
        if self.workup.stops:
            return self.least_loss(terms) - sum(self.least_loss(part) for part, ended in parts if not ended), cost
        return float(sum(part.sum() for part, ended in parts if ended)), cost

    def least_loss(self, terms: np.ndarray) -> float:
        return min(self.stop_loss(terms, stop) for stop in self.workup.stops)

    def stop_loss(self, terms: np.ndarray, stop: Any) -> float:
        weighted = terms * stop.losses
        return float(weighted.sum() - (weighted.max() if stop.names_class else 0.0))


def entropy(terms: np.ndarray) -> float:
    """Shannon's entropy of unnormalised probabilities, times their sum."""
    positive = terms[terms > 0]
    return float(-(positive * np.log(positive / positive.sum())).sum())


def planned(p: np.ndarray, workup: pr.Workup, method: str) -> PlanNode:
    """The tree of the best plan, or of a rule's."""
    if method == "optimal":
        return pr.plan_workup(p, workup).tree
    solver = OneStepAhead(workup, p, method)
    return solver.grow(solver.start, solver.likelihood)


def random_panels(rng: np.random.Generator, k: int = 7) -> pr.Workup:
    """Definitive tests, and cheaper ones that tell in which half of the classes the truth lies."""
    classes = [f"class {i}" for i in range(k)]
    steps: dict[str, Any] = {f"test {i}": {"cost": rng.uniform(1, 10), "confirms": classes[i]} for i in range(k)}
    for i in range(4):
        some = [classes[j] for j in rng.choice(k, int(rng.integers(2, k - 1)), replace=False)]
        steps[f"panel {i}"] = {"cost": rng.uniform(1, 5), "positive_for": some, "sensitivity": 1, "specificity": 1}
    return pr.Workup(classes, steps)


def random_noisy(rng: np.random.Generator, k: int = 5) -> pr.Workup:
    """Tests that shift the odds, a definitive panel, and a loss for naming the wrong class."""
    classes = [f"class {i}" for i in range(k)]
    steps: dict[str, Any] = {"panel": {"cost": rng.uniform(5, 20), "tells_apart": "all"}}
    for i in range(5):
        rates = dict(zip(classes, rng.beta(0.5, 0.5, k).tolist(), strict=True))
        steps[f"test {i}"] = {"cost": rng.uniform(0.5, 3), "outcomes": {"yes": rates, "no": "otherwise"}}
    return pr.Workup(classes, steps, stops={"name": {"wrong": 50}})


def myopic(name: str, make: Any, n: int) -> list[dict[str, Any]]:
    """How much more than the best each rule is expected to cost: on average, and at worst."""
    rng, extra = np.random.default_rng(0), {method: [] for method in METHODS[1:]}
    for _ in range(n):
        workup = make(rng)
        p = rng.dirichlet(np.ones(len(workup.classes)))
        best = pr.plan_workup(p, workup).expected_cost
        for method, found in extra.items():
            found.append(planned(p, workup, method).expected_cost / best - 1)
    return [
        {"work-ups": name, "rule": method, "mean": f"{np.mean(found):.3f}", "worst": f"{max(found):.3f}", "n": n}
        for method, found in extra.items()
    ]


def read_dermatology(path: str) -> tuple[np.ndarray, np.ndarray]:
    """Whether each finding is there, (N, 33), and the class, (N,); age, the last column but one, is no finding."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = [row for row in csv.reader(file) if row]
    found = np.array([[float(value) > 0 for value in row[: len(FINDINGS)]] for row in rows])
    return found, np.array([int(row[-1]) for row in rows])


def information(found: np.ndarray, truth: np.ndarray) -> float:
    """Between a finding and the class, in nats."""
    joint = np.array([[np.mean((truth == k) & (found == f)) for k in NAMES] for f in (False, True)]) + 1e-12
    return float((joint * np.log(joint / joint.sum(0) / joint.sum(1, keepdims=True))).sum())


def dermatology_workup(found: np.ndarray, truth: np.ndarray) -> pr.Workup:
    """Clinical findings first, findings under the microscope after a biopsy; rates of the training patients."""
    gain = [information(found[:, i], truth) for i in range(len(FINDINGS))]
    clinical = sorted(range(11), key=lambda i: -gain[i])[:CLINICAL]
    microscopic = sorted(range(11, len(FINDINGS)), key=lambda i: -gain[i])[:MICROSCOPIC]
    steps: dict[str, Any] = {"visit": {"cost": 75}, "biopsy": {"cost": 165, "requires": "visit"}}
    for i in (*clinical, *microscopic):
        rates = {NAMES[k]: (found[truth == k, i].sum() + 0.5) / ((truth == k).sum() + 1) for k in NAMES}
        before = {"cost": 10, "requires": "visit"} if i in clinical else {"cost": 25, "requires": "biopsy"}
        steps[FINDINGS[i]] = before | {"outcomes": {"yes": rates, "no": "otherwise"}}
    return pr.Workup(list(NAMES.values()), steps, stops={"treat as": {"wrong": 1000}})


def walk(tree: Any, patient: dict[str, bool], name: str) -> float:
    """What a patient's own findings make the tree cost."""
    total = 0.0
    while tree.kind == "step":
        total += tree.cost
        outcome = "done" if tree.name in ("visit", "biopsy") else "yes" if patient[tree.name] else "no"
        tree = tree.branches[outcome]
    return total + (0.0 if tree.named == name else 1000.0)


def dermatology(path: str) -> list[dict[str, Any]]:
    """Each patient walked through the tree that the patients of other folds made."""
    found, truth = read_dermatology(path)
    fold = np.random.default_rng(0).permutation(len(truth)) % FOLDS
    expected, paid = {m: [] for m in METHODS}, {m: [] for m in METHODS}
    for number in range(FOLDS):
        train, test = fold != number, np.flatnonzero(fold == number)
        workup = dermatology_workup(found[train], truth[train])
        p = np.array([np.mean(truth[train] == k) for k in NAMES])
        for method in METHODS:
            tree = planned(p, workup, method)
            expected[method].append(tree.expected_cost)
            for i in test:
                patient = dict(zip(FINDINGS, found[i], strict=True))
                paid[method].append(walk(tree, patient, NAMES[truth[i]]))
    n = len(truth)
    return [
        {"rule": m, "predicted": f"{np.mean(expected[m]):.0f}", "paid": f"{np.mean(paid[m]):.0f}",
         "more than optimal": f"{np.mean(more := np.subtract(paid[m], paid['optimal'])):.0f}",
         "standard error": f"{np.std(more) / n**0.5:.0f}", "patients": n}
        for m in METHODS
    ]  # fmt: skip


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    for row in rows:
        print(row, flush=True)


if __name__ == "__main__":
    data, out = sys.argv[1], Path(sys.argv[2])
    write(out / "workup-dermatology.csv", dermatology(data))
    losses = [*myopic("panels", random_panels, 200), *myopic("noisy tests", random_noisy, 200)]
    write(out / "workup-myopic.csv", losses)
