"""A work-up learned from 3,772 thyroid patients at Turney's fees, replayed on 3,428 others, beside simpler rules.

Run with ``python benchmarks/workup_thyroid.py FOLDER docs/evidence``: a table of docs/study/workups.md. FOLDER has
UCI's ann-thyroid data as thyroid_train.csv, thyroid_test.csv and thyroid_costs.csv.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier

import pandora_regret as pr
from pandora_regret.inference.joint import Figure
from pandora_regret.workup import replay_workup

WRONG = 1000.0  # dollars
SECONDS = 10.0  # for the plan
NUMBERS = ("age", "TSH", "T3", "TT4", "T4U")
COMPUTED = {"FTI": ("TT4", "T4U")}  # what is computed from other tests costs what they do


def entropy(terms: np.ndarray) -> float:
    """Shannon's entropy of unnormalised probabilities, times their sum."""
    return float(-(terms * np.log(terms / terms.sum())).sum())


def told(workup: pr.Workup, table: pd.DataFrame) -> np.ndarray:
    """The number of each step's outcome, (N, M)."""
    return np.array([[step.outcome(value) for value in table[step.name]] for step in workup.steps]).T


def everything(workup: pr.Workup, table: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """All fees, and the class that all outcomes together make likeliest."""
    chances = [np.log(np.array(step.chances)) for step in workup.steps]
    terms = np.log(list(workup.shares.values())) + sum(
        rows[outcome] for rows, outcome in zip(chances, told(workup, table).T, strict=True)
    )
    return np.full(len(table), workup.costs.sum()), np.array(workup.classes)[terms.argmax(axis=1)]


def by_information(workup: pr.Workup, table: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """The test with the most information per fee, as long as some single test pays for itself."""
    chances = [np.array(step.chances) for step in workup.steps]
    shares = np.array(list(workup.shares.values()))

    @cache
    def action(findings: frozenset) -> tuple[int, int]:
        """The next test, or -1, and the likeliest class."""
        terms = shares * np.prod(
            [np.ones(len(shares)), *(chances[test][shown] for test, shown in findings)], axis=0
        )
        best, pays, choice = -np.inf, False, -1
        for test in set(range(len(chances))) - {made for made, _ in findings}:
            parts = terms * chances[test]
            gain = (entropy(terms) - sum(map(entropy, parts))) / workup.costs[test]
            saved = WRONG * (parts.max(axis=1).sum() - terms.max()) - workup.costs[test] * terms.sum()
            pays = pays or saved > 0
            if gain > best:
                best, choice = gain, test
        return (choice if pays else -1), int(terms.argmax())

    spent, named = np.zeros(len(table)), []
    for case, outcomes in enumerate(told(workup, table)):
        findings, (test, name) = frozenset(), action(frozenset())
        while test >= 0:
            spent[case] += workup.costs[test]
            findings |= {(test, int(outcomes[test]))}
            test, name = action(findings)
        named.append(workup.classes[name])
    return spent, np.array(named)


def decision_tree(depth: int, fees: dict[str, float], train: pd.DataFrame, table: pd.DataFrame) -> Any:
    """scikit-learn's on all columns as they are; a case pays for those that its path asks about, each once."""
    names = list(train.columns[:-1])
    model = DecisionTreeClassifier(max_depth=depth, random_state=0).fit(train[names], train["class"])
    paths, asked = model.decision_path(table[names]), model.tree_.feature
    spent = []
    for case in range(len(table)):
        columns = {names[asked[node]] for node in paths[case].indices if asked[node] >= 0}
        spent.append(sum(fees[test] for test in {one for name in columns for one in COMPUTED.get(name, (name,))}))
    return np.array(spent), model.predict(table[names])


def stump_cuts(train: pd.DataFrame) -> dict[str, list[float]]:
    """Where a small tree on one number alone would cut it."""
    cuts = {}
    for name in NUMBERS:
        model = DecisionTreeClassifier(max_leaf_nodes=5, min_samples_leaf=10, criterion="entropy", random_state=0)
        tree = model.fit(train[[name]], train["class"]).tree_
        cuts[name] = sorted({round(float(cut), 5) for cut in tree.threshold[tree.feature >= 0]})
    return cuts


def row(rule: str, paid: Any, spent: float, wrong: float, promised: Any = None) -> dict[str, Any]:
    ends = {"low": "", "promised": "", "high": ""}
    if promised is not None:
        ends = {"promised": f"{promised.value:.1f}", "low": f"{promised.low:.1f}", "high": f"{promised.high:.1f}"}
    return {"rule": rule, "promised": ends["promised"], "promised low": ends["low"], "promised high": ends["high"],
            "paid": f"{paid.value:.1f}", "paid low": f"{paid.low:.1f}", "paid high": f"{paid.high:.1f}",
            "fees": f"{spent:.1f}", "wrong": f"{wrong:.4f}"}  # fmt: skip


def thyroid(folder: Path) -> list[dict[str, Any]]:
    train, test = (pd.read_csv(folder / f"thyroid_{part}.csv") for part in ("train", "test"))
    fees = dict(pd.read_csv(folder / "thyroid_costs.csv").itertuples(index=False))
    rows, quantiles = [], None
    for rule, cuts in (("learned, five quantiles", {}), ("learned, cuts of small trees", stump_cuts(train))):
        workup = pr.learn_workup(train, "class", fees, wrong=WRONG, cuts=cuts, unit="USD")
        quantiles = quantiles or workup
        result = replay_workup(workup, test, "class", seconds=SECONDS)
        print(result.to_text(), flush=True)
        rows.append(row(rule, result.paid, result.spent, result.wrong / result.named, result.promised))
    rules = {
        "information per fee": by_information(quantiles, test),
        "ask everything": everything(quantiles, test),
        "decision tree of depth 4": decision_tree(4, fees, train, test),
        "name the commonest class": (np.zeros(len(test)), np.full(len(test), "normal")),
    }
    for rule, (spent, named) in rules.items():
        wrong = (named != test["class"]).to_numpy()
        paid = Figure.of_mean(spent + WRONG * wrong, np.ones(len(test))).estimate(0.95)
        rows.append(row(rule, paid, spent.mean(), wrong.mean()))
    return rows


if __name__ == "__main__":
    results = pd.DataFrame(thyroid(Path(sys.argv[1])))
    results.to_csv(Path(sys.argv[2]) / "workup-thyroid.csv", index=False)
    print(results.to_string())
