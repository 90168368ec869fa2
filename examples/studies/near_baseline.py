"""How much of the agreement hangs on models that are about as accurate as naming the largest class always?

python examples/studies/near_baseline.py STUDY_FOLDER ...   writes docs/study/near-baseline.json

Every zoo at known costs: all models, and without those whose accuracy is within 0.01 of the largest class's share.
"""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pandora_regret.metrics import read_metrics
from pandora_regret.study import DataSet, Store, Study, agreement_of, read_conditions, reopen
from pandora_regret.study.results import DataSetResult
from pandora_regret.study.zoo import kept_models

STORED = Path(__file__).parents[2] / "docs" / "study" / "near-baseline.json"
METRICS = ("pandora_regret", "log_loss", "clipped_log_loss", "brier", "accuracy", "macro_f1_all", "macro_f1")
NEAR = 0.01
DIGITS = 6  # that are stored


def compared(study: Study, data: DataSet, store: Store) -> dict[str, Any]:
    """What all models of a zoo say at known costs, and what those say that are not near the baseline."""
    models = kept_models(store.models, data.leave_out)
    accuracy = (store.probabilities(models).argmax(axis=2) == store.truth).mean(axis=1)
    largest = np.bincount(store.truth).max() / len(store.truth)
    near = [model for model, share in zip(models, accuracy, strict=True) if abs(share - largest) <= NEAR]
    asked = replace(study, conditions=read_conditions(["clinical"]), metrics=read_metrics(METRICS))
    others = replace(data, leave_out=(*data.leave_out, *near))
    return {
        "largest_class": round(float(largest), DIGITS),
        "models": len(models),
        "left_out": len(near),
        "all": _short(agreement_of(asked, data, store)),
        "others": _short(agreement_of(asked, others, store)),
    }


def _short(part: DataSetResult) -> dict[str, Any]:
    """The one condition, without names of models, and with few digits."""
    [condition] = part.agreement.to_dict()["conditions"]
    for cell in condition["metrics"]:
        del cell["picked"]
    return dict(json.loads(json.dumps(condition), parse_float=lambda text: round(float(text), DIGITS)))


def main() -> None:
    found = json.loads(STORED.read_text(encoding="utf-8")) if STORED.exists() else {}
    for folder in map(Path, sys.argv[1:]):
        study = reopen(folder)
        for data in study.data:
            found[data.name] = compared(study, data, Store.open(folder / data.name))
            print(data.name, found[data.name]["left_out"], "of", found[data.name]["models"], flush=True)
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(zoo)}" for name, zoo in found.items())
    STORED.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
