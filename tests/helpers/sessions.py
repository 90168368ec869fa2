"""Sessions at a terminal: several commands one after the other, on small files, and all that each of them prints.

With `sentences` and `situations` the place where the words of the command are pinned; other tests assert numbers,
JSON and exit codes. ``python tests/helpers/sessions.py`` (with src on the path) writes tests/sentences/sessions/
again: read every changed sentence as a stranger would before you commit it.
"""

from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from cli_files import run
from monitored import COSTS, write_week
from vendors import write_vendors

OUTPUTS = Path(__file__).parents[1] / "sentences/sessions"
SKIN = """\
classes = ["melanoma", "nevus", "keratosis"]
currency = "USD"

[steps.visit]
cost = 75

[steps.dermoscopy]
cost = 52
requires = "visit"
outcomes.suspicious = { melanoma = 0.92, nevus = 0.2, keratosis = 0.15 }
outcomes.benign = "otherwise"

[steps.biopsy]
cost = 309
requires = "visit"
tells_apart = "all"

[stops.watch]
loss = { melanoma = 20000, others = 30 }
"""


def monitor():
    """Forecasts that cost more than they promise, from the first week on; labels that come too late."""
    state = ["--state", "state.json"]
    write_week(Path("week1.csv"), 1, power=6.0)
    first = pd.read_csv("week1.csv")
    first[["id", "label"]].to_csv("labels.csv", index=False)
    first.assign(label=first["label"].where(first.index > 3)).to_csv("week1.csv", index=False)
    for number in range(2, 6):
        write_week(Path(f"week{number}.csv"), number, power=6.0)
    later = [["monitor", f"week{number}.csv", *state] for number in range(2, 6)]
    return [
        ["monitor", "week1.csv", "--costs", COSTS, "--currency", "EUR", "--time", "week", *state],
        *later,
        ["monitor", "week5.csv", *state],
        ["monitor", "--labels", "labels.csv", *state],
        ["monitor", "week5.csv", "--level", "0.01", *state],
    ]


def monitor_of_dependent_cases():
    """Periods whose cases belong together, the last of them still open."""
    state = ["--state", "state.json"]
    for number in range(1, 4):
        write_week(Path(f"week{number}.csv"), number)
    begin = ["monitor", "week1.csv", "--costs", COSTS, "--dependent", "week", *state]
    return [
        begin,
        *(["monitor", f"week{number}.csv", *state] for number in (2, 3)),
        ["monitor", "--close", *state],
    ]


def vendors():
    """Files as three vendors send them: what is missing, what is wrong, and what was done to them."""
    write_vendors(Path())
    told = ["--id", "patient", "--label", "diagnosis", "--costs", "prices.xlsx#Tarifs:Diagnosis:Price"]
    return [
        ["compare", "models.toml", *told],
        ["validate", "models.toml", *told, "--ids-as-numbers"],
        ["compare", "models.toml", *told, "--ids-as-numbers", "--full"],
        ["compare", "medica.csv", "--truth", "cases.csv", *told, "--logits"],
    ]


def recalibrate():
    """Forecasts that are too bold, and such as were made where classes were as frequent as they no longer are."""
    names = ["melanoma", "nevus", "keratosis"]
    rng = np.random.default_rng(0)
    calm = rng.dirichlet([0.8, 1.5, 1.0], size=600)
    truth = np.array([rng.choice(names, p=row) for row in calm])
    bold = calm**2.5 / (calm**2.5).sum(axis=1, keepdims=True)
    for name, table in (("bold", bold), ("calm", calm)):
        frame = pd.DataFrame(table, columns=names).round(6)
        frame = frame.div(frame.sum(axis=1), axis=0)
        frame.assign(id=np.arange(600), y_true=truth).to_csv(f"{name}.csv", index=False)
    is_new = (truth != "melanoma") | (rng.random(600) < 0.1)
    pd.read_csv("calm.csv")[is_new].drop(columns="y_true").to_csv("new.csv", index=False)
    told = ["--costs", "melanoma=$380,nevus=$120,keratosis=$90", "--classes", ",".join(names)]
    onto_new = ["--apply", "new.csv", "--out", "again.csv"]
    return [
        ["recalibrate", "bold.csv", *told],
        ["recalibrate", "calm.csv", *told],
        ["recalibrate", "calm.csv", *told, "--method", "prior", *onto_new],
    ]


def workup():
    """A work-up that is checked, followed and left."""
    Path("skin.toml").write_text(SKIN, encoding="utf-8")
    forecast = "melanoma=0.05,nevus=0.85,keratosis=0.1"
    return [
        ["validate", "skin.toml"],
        ["next", "skin.toml", forecast],
        ["next", "skin.toml", forecast, "--found", "visit", "--found", "dermoscopy=suspicious"],
        ["next", "skin.toml", forecast, "--found", "dermoscopy=odd"],
        ["next", "skin.toml", forecast, "--found", "visit", "--found", "visit"],
    ]


def learned_workup():
    """A work-up learned from past repairs, and replayed on others."""
    for name, seed in (("past", 1), ("others", 3)):
        rng = np.random.default_rng(seed)
        is_pump = rng.random(300) < 0.6
        is_loud = rng.random(300) < np.where(is_pump, 0.9, 0.1)
        heat = rng.normal(np.where(is_pump, 70, 40), 10).round(1)
        columns = {
            "fault": np.where(is_pump, "pump", "valve"),
            "noise": np.where(is_loud, "loud", "none"),
            "heat": heat,
            "remark": [f"case {number}" for number in range(300)],
        }
        pd.DataFrame(columns).to_csv(f"{name}.csv", index=False)
    Path("fees.csv").write_text("test,minutes\nnoise,1\nheat,3\n", encoding="utf-8")
    learn = ["workup", "learn", "past.csv", "--class", "fault", "--costs", "fees.csv", "--wrong", "60"]
    replay = ["workup", "replay", "pumps.toml", "others.csv", "--class", "fault"]
    return [
        [*learn, "--out", "pumps.toml"],
        ["next", "pumps.toml", "--found", "heat=71.5"],
        replay,
        [*replay, "--at-most-wrong", "10%", "--out", "safe.toml"],
        [*replay, "--at-most-wrong", "0.001"],
    ]


def search():
    """The order of tests of one case: typed, and of a file."""
    Path("cases.csv").write_text("case,a,b,age\np1,0.2,0.8,40\np2,0.9,0.1,50\n", encoding="utf-8")
    many = ",".join(f"c{number:02}=0.025" for number in range(40))
    return [
        ["next", "melanoma=0.2,nevus=0.7,keratosis=0.1", "--costs", "melanoma=384,nevus=75,keratosis=75"],
        ["next", "cases.csv", "--id", "case", "--case", "p2", "--costs", "a=3,b=5"],
        ["next", "cases.csv", "--id", "case", "--case", "p3"],
        ["next", many],
    ]


SESSIONS = (monitor, monitor_of_dependent_cases, vendors, recalibrate, workup, learned_workup, search)


def transcript(session, folder):
    """All commands of a session, each with what it printed, its errors and its exit code if that is not 0."""
    parts = []
    with chdir(folder):
        for arguments in session():
            result = run(*arguments)
            typed = " ".join(f"'{word}'" if " " in word or "$" in word else word for word in arguments)
            code = f"(exit code {result.exit_code})\n" if result.exit_code else ""
            parts.append(f"$ pandora {typed}\n{result.stdout}{result.stderr}{code}")
    return "\n".join(parts)


if __name__ == "__main__":
    OUTPUTS.mkdir(exist_ok=True, parents=True)
    for session in SESSIONS:
        with TemporaryDirectory() as folder:
            text = transcript(session, folder)
        (OUTPUTS / f"{session.__name__}.txt").write_text(text, encoding="utf-8")
