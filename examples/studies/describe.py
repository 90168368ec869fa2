"""What the zoos of finished studies are like: how many models of what accuracy, and how much one cost draw says.

python examples/studies/describe.py STUDY_FOLDER ...   writes docs/study/zoos.json, which publish.py reads
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from pandora_regret.metrics import METRICS
from pandora_regret.study import DataSet, Store, reopen
from pandora_regret.study.conditions import CONDITIONS
from pandora_regret.study.ranking_agreement import ModelSet, read_model_set, replicate_taus
from pandora_regret.study.zoo import kept_models

STORED = Path(__file__).parents[2] / "docs" / "study" / "zoos.json"
SEED = 42  # of the draws, as in the studies


def described(data: DataSet, store: Store) -> dict[str, Any]:
    """One zoo: its size, its models' accuracies, and tau under each of 100 cost vectors from Unif[0, 1]."""
    models = kept_models(store.models, data.leave_out)
    proba = store.probabilities(models)
    costs = data.costs_of(store.classes)
    of_truth = proba[:, np.arange(len(store.truth)), store.truth]
    accuracy = np.quantile((proba.argmax(axis=2) == store.truth).mean(axis=1), [0, 0.25, 0.5, 0.75, 1])
    taus = taus_of_draws(read_model_set(store.truth, proba, models, store.classes, costs, SEED))
    return {
        "models": len(models),
        "failures": len(kept_models(store.failures, data.leave_out)),
        "rows": len(store.truth),
        "groups": None if store.groups is None else int(store.groups.max()) + 1,
        "classes": len(store.classes),
        "largest_class": round(float(np.bincount(store.truth).max() / len(store.truth)), 4),
        "costs": [round(float(cost), 2) for cost in (costs.min(), costs.max())],
        "accuracy_quartiles": [round(float(value), 4) for value in accuracy],
        "models_with_infinite_log_loss": int((of_truth == 0).any(axis=1).sum()),
        "tau_of_single_draws": {"mean": round(float(taus.mean()), 4), "sd": round(float(taus.std(ddof=1)), 4)},
    }


def taus_of_draws(model_set: ModelSet) -> Any:
    """|tau| of Pandora's Regret with search costs under each cost vector of the well-specified condition, (D,)."""
    condition, everything = CONDITIONS["well_specified"], np.ones((1, len(model_set.truth)))
    values, costs, _ = model_set.measured([METRICS["pandora_regret"]], condition, everything)
    once = np.ones((1, len(model_set.models)))
    return np.array(
        [abs(replicate_taus(values, costs[:, :, [draw]], once)[0, 0]) for draw in range(costs.shape[2])]
    )


def main() -> None:
    zoos = json.loads(STORED.read_text(encoding="utf-8")) if STORED.exists() else {}
    for folder in map(Path, sys.argv[1:]):
        for data in reopen(folder).data:
            zoos[data.name] = described(data, Store.open(folder / data.name))
            print(data.name, zoos[data.name], flush=True)
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(zoo)}" for name, zoo in zoos.items())
    STORED.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
