"""Twelve situations that people come with, as small files; and what `pandora compare` says of each.

The data are drawn here, in the shape of real ones. ``python tests/helpers/situations.py`` (with src on the path)
writes tests/comparison/situations/*.txt again: read every sentence as a committee would before you commit them.
"""

import json
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from cli_files import run
from simulated_models import calibrated, sharpened

OUTPUTS = Path(__file__).parents[1] / "comparison/situations"
WORKUP = """\
title = "A pump that fails"
classes = ["seal", "bearing", "motor"]
[steps.open]
cost = 25
[steps.vibration]
cost = 10
outcomes.rough = { seal = 0.1, bearing = 0.9, motor = 0.3 }
outcomes.smooth = "otherwise"
[steps.strip]
cost = 60
requires = "open"
tells_apart = "all"
[stops.run_on]
loss = { bearing = 300, others = 20 }
"""


def write(name, classes, truth, table, digits=6, **columns):
    """A CSV file of forecasts, one column per class."""
    table = np.round(table, digits)
    table[np.arange(len(table)), table.argmax(axis=1)] += 1 - table.sum(axis=1)
    rows = [",".join(["id", "label", *columns, *classes])]
    for number, row in enumerate(table):
        cells = [number, classes[truth[number]], *(column[number] for column in columns.values())]
        rows.append(",".join(map(str, [*cells, *(f"{each:.{digits}f}" for each in row)])))
    Path(f"{name}.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return f"{name}.csv"


def cases(n, k, seed=0):
    return np.random.default_rng(seed).integers(0, k, n)


def nearby(table, spread, seed):
    """The same forecasts but for a little noise."""
    noise = np.random.default_rng(seed).normal(size=table.shape)
    return sharpened(table * np.exp(spread * noise), 1.0)


def analyst():
    """Three vendors, a price list, five hospitals; one vendor fails at one of them."""
    classes, truth = ["appendicitis", "colic", "gastritis", "reflux"], cases(1800, 4)
    site = np.random.default_rng(1).choice(["Sion", "Bern", "Basel", "Chur", "Genève"], 1800)
    models = {"TriageAI": calibrated(truth, 1.6, 1, 4), "MedNet": calibrated(truth, 1.3, 2, 4)}
    models["Clinix"] = sharpened(calibrated(truth, 1.45, 3, 4), 2.0)
    wrong = site == "Sion"
    models["MedNet"][wrong] = np.roll(models["MedNet"][wrong], 1, axis=1)
    files = [write(name, classes, truth, table, site=site) for name, table in models.items()]
    Path("prices.csv").write_text(
        "test,price\nappendicitis,480\ncolic,120\ngastritis,210\nreflux,95\n", encoding="utf-8"
    )
    options = ["--costs", "prices.csv", "--currency", "CHF", "--by", "site", "--scenario"]
    return [*files, *options, "cheap CT=appendicitis=90"]


def odds():
    """Four bookmakers, whose odds differ by next to nothing."""
    classes, truth = ["home", "draw", "away"], cases(9000, 3)
    table = calibrated(truth, 0.5, 1)
    files = [
        write(name, classes, truth, nearby(table, 0.01, n)) for n, name in enumerate(("B365", "WH", "LB", "IW"))
    ]
    return [*files, "--costs", "home=10,draw=25,away=15"]


def zoo():
    """Nineteen networks of a study, some of them the same but for their seeds."""
    truth = cases(1200, 7)
    classes = ["akiec", "bcc", "bkl", "df", "mel", "nv", "vasc"]
    prices = "akiec=120,bcc=150,bkl=75,df=75,mel=384,nv=75,vasc=90"
    skills = [1.9] * 5 + list(np.linspace(1.85, 1.0, 14))
    tables = {f"net{n:02}": calibrated(truth, skill, n, 7) for n, skill in enumerate(skills)}
    files = [write(name, classes, truth, table) for name, table in tables.items()]
    return [*files, "--costs", prices, "--currency", "USD"]


def one_model_twice():
    """Two names for one file."""
    truth = cases(800, 3)
    table = calibrated(truth, 1.5, 1)
    files = [write(name, ["flu", "cold", "covid"], truth, table) for name in ("release", "candidate")]
    return [*files, "--costs", "flu=20,cold=5,covid=35", "--currency", "EUR"]


def one_row():
    """A single case."""
    truth = cases(1, 3)
    tables = {"net": np.array([[0.2, 0.5, 0.3]]), "forest": np.array([[0.3, 0.3, 0.4]])}
    return [write(name, ["flu", "cold", "covid"], truth, table) for name, table in tables.items()]


def one_class():
    """All cases of one class."""
    truth, rng = np.zeros(150, int), np.random.default_rng(0)
    tables = {"near": rng.dirichlet([8, 1, 1], 150), "far": rng.dirichlet([3, 2, 2], 150)}
    files = [write(name, ["flu", "cold", "covid"], truth, table) for name, table in tables.items()]
    return [*files, "--costs", "flu=20,cold=5,covid=35", "--currency", "EUR"]


def two_classes():
    """A screening test: ill or not."""
    truth = cases(2500, 2)
    tables = {"new": calibrated(truth, 1.6, 1, 2), "old": calibrated(truth, 1.3, 2, 2)}
    files = [write(name, ["ill", "healthy"], truth, table) for name, table in tables.items()]
    return [*files, "--costs", "ill=300,healthy=40", "--currency", "USD"]


def hundred_classes():
    """A hundred species, no prices."""
    truth, classes = cases(1500, 100), [f"species {n:02}" for n in range(100)]
    tables = {"small": calibrated(truth, 2.6, 1, 100), "large": calibrated(truth, 2.8, 2, 100)}
    return [write(name, classes, truth, table) for name, table in tables.items()]


def workup_in_minutes():
    """A machine's work-up, which costs time."""
    truth = cases(600, 3)
    tables = {"sensor": calibrated(truth, 1.5, 1), "rules": calibrated(truth, 0.9, 2)}
    files = [write(name, ["seal", "bearing", "motor"], truth, table) for name, table in tables.items()]
    Path("pump.toml").write_text(WORKUP, encoding="utf-8")
    return [*files, "--workup", "pump.toml", "--unit", "minutes"]


def weights():
    """A survey's weights; one model is too sure of itself, and the better one once that is mended."""
    truth, rng = cases(2500, 3), np.random.default_rng(3)
    weight = np.round(rng.uniform(0.5, 3.0, 2500), 2)
    tables = {"careful": calibrated(truth, 1.0, 1), "bold": sharpened(calibrated(truth, 1.2, 2), 5.0)}
    files = [write(name, ["A", "B", "C"], truth, table, 12, weight=weight) for name, table in tables.items()]
    return [*files, "--weight", "weight", "--costs", "A=380,B=120,C=90", "--currency", "USD"]


def votes():
    """Five annotators per case, who disagree."""
    rng = np.random.default_rng(0)
    chance = rng.dirichlet([0.6, 2.0, 1.0], size=900)
    counts = np.array([rng.multinomial(5, p) for p in chance])
    classes, truth = ["melanoma", "nevus", "keratosis"], counts.argmax(axis=1)
    extra = {f"votes_{name}": counts[:, k] for k, name in enumerate(classes)}
    tables = {"honest": 0.9 * chance + 0.1 / 3, "majority": 0.9 * np.eye(3)[truth] + 0.1 / 3}
    files = [write(name, classes, truth, table, **extra) for name, table in tables.items()]
    options = "--votes-prefix votes_ --costs melanoma=384,nevus=75,keratosis=75 --currency USD"
    return [*files, *options.split()]


def lists():
    """Top-3 lists of candidates beside each other."""
    truth, names = cases(700, 6), ["flu", "cold", "covid", "measles", "gout", "asthma"]
    for name, skill, seed in (("chatbot", 1.5, 1), ("rules", 1.1, 2)):
        lines = []
        for number, row in enumerate(calibrated(truth, skill, seed, 6)):
            top = {names[k]: round(float(row[k]), 4) for k in np.argsort(-row)[:3]}
            lines.append(json.dumps({"id": number, "truth": names[truth[number]], "forecast": top}))
        Path(f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return ["chatbot.jsonl", "rules.jsonl", "--costs", "flu=20,cold=5,covid=35,measles=60,gout=45,asthma=80"]


SITUATIONS = (
    analyst, odds, zoo, one_model_twice, one_row, one_class, two_classes, hundred_classes, workup_in_minutes,
    weights, votes, lists,
)  # fmt: skip


def said(situation, folder):
    """What the command prints, with its own line first."""
    with chdir(folder):
        arguments = situation()
        shown = " ".join(f'"{each}"' if " " in each else each for each in arguments)
        result = run("compare", *arguments)
        return f"$ pandora compare {shown}\n{result.stdout or result.stderr}"


if __name__ == "__main__":
    OUTPUTS.mkdir(exist_ok=True)
    for situation in SITUATIONS:
        with TemporaryDirectory() as folder:
            path = OUTPUTS / f"{situation.__name__}.txt"
            path.write_text(said(situation, folder), encoding="utf-8")
