"""A zoo of made-up models, quick to run, some of which fail; and a study of it that can be run as a program."""

import os
import signal
import sys
import time
from dataclasses import dataclass

import numpy as np

from pandora_regret.study import Outcome, Prediction, Target, begin, run_study

FAILURES = {"raises": "RuntimeError: out of luck"}
ENDINGS = {
    "exits": lambda: os._exit(1),
    "crashes": lambda: os.kill(os.getpid(), signal.SIGSEGV),
    "leaves": lambda: sys.exit(0),
    "hangs": lambda: time.sleep(600),
}
STUDY = """
title = "Made-up models"
seed = 1
replicates = 20
metrics = ["pandora_regret", "log_loss", "accuracy", "macro_f1"]
conditions = ["clinical", "random_temperature"]

[[data]]
name = "made up"
[data.costs]
a = 10
b = 20
c = 70
[data.zoo]
kind = "made_up"
"""


@dataclass(frozen=True)
class MadeUpZoo:
    models: int = 12
    seconds: float = 0.01
    most_jobs: int | None = None
    culprits: tuple[str, ...] = ()
    together: int = 1

    def target(self):
        return Target(np.random.default_rng(0).integers(0, 3, 60), ("a", "b", "c"))

    def names(self):
        return [f"model {number}" for number in range(self.models)] + [
            "raises",
            "gives NaN",
            *self.culprits,
        ]

    def batches(self, names):
        return [list(names[start : start + self.together]) for start in range(0, len(names), self.together)]

    def predict(self, names):
        for name in names:
            time.sleep(self.seconds)
            if name in ENDINGS:
                ENDINGS[name]()
            yield (
                Outcome(name, failure=FAILURES[name]) if name in FAILURES else Outcome(name, self._forecast(name))
            )

    def _forecast(self, name):
        if name == "gives NaN":
            return Prediction(np.full((60, 3), np.nan), logits=False)
        number = int(name.split()[1])
        noise = np.random.default_rng(number).normal(size=(60, 3))
        return Prediction(
            number / 4 * np.eye(3)[self.target().truth] + noise, logits=True, metadata={"seed": number}
        )

    def about(self):
        return {"made": "up"}


def register():
    """Let study files name this zoo."""
    from pandora_regret.study import zoos

    zoos.ZOO_CLASSES["made_up"] = lambda: MadeUpZoo


if __name__ == "__main__":
    sys.modules["study_zoo"] = sys.modules["__main__"]
    register()
    run_study(begin(sys.argv[1], sys.argv[2]), sys.argv[2])
