"""The cases of same_numbers.py: fixture files by a fixed seed, commands on them, and library calls.

A command is written as in a terminal; several of one case run one after the other. What a command prints and the
files that it writes are compared. A library call is a function whose name begins with `call_`.
"""

import csv
import gzip
import importlib
import json
import shutil
from pathlib import Path

import numpy as np

CLASSES = ("flu", "covid", "cold", "gout")
PRICES = {"flu": 100.0, "covid": 300.0, "cold": 40.0, "gout": 85.5}
COSTS = '--costs "flu=100,covid=300,cold=40,gout=85.5"'
NAMED = f"--classes {','.join(CLASSES)}"
VOTES = f"--votes-prefix votes_ {NAMED}"
SKIN = """
title = "A pigmented lesion"
classes = ["flu", "covid", "cold", "gout"]
currency = "USD"
steps.visit.cost = 75
steps.swab = { cost = 52, requires = "visit", positive_for = ["flu"], sensitivity = 0.9, specificity = 0.8 }
steps.blood = { cost = 309, requires = "visit", tells_apart = "all" }
stops.watch = { loss = { covid = 2000, others = 30 } }
"""
SEARCH = """
classes = ["flu", "covid", "cold", "gout"]
steps.a = { cost = 100, confirms = "flu" }
steps.b = { cost = 300, confirms = "covid" }
steps.c = { cost = 40, confirms = "cold" }
steps.d = { cost = 85.5, confirms = "gout" }
"""
STUDY = """
title = "Wine"
seed = 42
replicates = 60
resample = "both"
conditions = ["clinical", "well_specified", "random_temperature", "random_distractor_temperature", "noisy_costs",
    "imperfect_tests", "equal_prevalence",
    { name = "averaged", prior = "uniform", typical = "drawn", reading = "mean_of_costs", draws = 20 },
    { name = "gamma_by_case", prior = "gamma:2", reading = "per_instance", draws = 5 }]
[[data]]
name = "wine"
costs = { class_0 = 90, class_1 = 60, class_2 = 30 }
zoo = { kind = "sklearn", data = "wine", noise = 1.0, models = ["neighbours*", "naive Bayes"], folds = 3 }
[[data]]
name = "files"
costs = { flu = 100, covid = 300, cold = 40, gout = 85.5 }
zoo = { kind = "files", paths = ["zoo/*.csv"], group = "patient" }
"""
MODELS = """
[[models]]
name = "Deep net"
path = "a.csv"
[[models]]
name = "Vendor A"
path = "vendor.csv"
label = "diagnosis"
id = "patient"
proba_prefix = "logit_"
logits = true
"""


def cases(seed, n=240, skill=1.5):
    """(truth, logits) of one model; all models forecast the same cases."""
    truth = np.random.default_rng(7).integers(0, len(CLASSES), n)
    noise = np.random.default_rng(seed).normal(size=(n, len(CLASSES)))
    return truth, skill * np.eye(len(CLASSES))[truth] + noise


def probabilities(logits):
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


def frame(seed, skill=1.5, n=240):
    """The columns of a prediction file."""
    truth, logits = cases(seed, n, skill)
    rng = np.random.default_rng(8)
    return {
        "id": [f"case-{i}" for i in range(n)],
        "y_true": [CLASSES[k] for k in truth],
        **dict(zip(CLASSES, probabilities(logits).T.tolist(), strict=True)),
        "site": rng.choice(["North", "South", "East"], n).tolist(),
        "age": rng.integers(1, 90, n).tolist(),
        "weight": rng.gamma(2.0, 1.0, n).tolist(),
        "patient": rng.integers(0, n // 3, n).tolist(),
    }


def write_text(path, columns, separator=",", decimal=".", opened=open):
    def spelled(value):
        return repr(value).replace(".", decimal) if isinstance(value, float) else value

    with opened(path, "wt", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=separator)
        writer.writerow(columns)
        writer.writerows(map(spelled, row) for row in zip(*columns.values(), strict=True))


def write_lines(path, rows):
    Path(path).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def without(columns, *names):
    return {name: values for name, values in columns.items() if name not in names}


def write_files():
    """Every fixture file, in the working folder."""
    plain = {name: without(frame(seed, skill), "weight") for name, seed, skill in (("a", 1, 1.5), ("b", 2, 1.7))}
    plain["c"] = without(frame(3, 0.6), "weight")
    for name, columns in plain.items():
        write_text(f"{name}.csv", columns)
    for name, seed in (("wa", 1), ("wb", 2)):
        write_text(f"{name}.csv", frame(seed))
    write_formats(without(frame(1), "weight", "site", "age", "patient"))
    write_pump()
    write_votes()
    write_lists()
    write_samples()
    write_weeks()
    write_described(plain["b"])
    write_damaged(plain["a"])
    zoo = Path("zoo")
    zoo.mkdir()
    for k in range(8):
        write_text(zoo / f"m{k}.csv", without(frame(20 + k, 0.3 * k), "weight", "site", "age"))


def write_formats(columns):
    import openpyxl
    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.parquet

    write_text("a.tsv", columns, "\t")
    write_text("german.csv", columns, ";", ",")
    write_text("a.csv.gz", columns, opened=gzip.open)
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    write_lines("a.jsonl", rows)
    pa.parquet.write_table(pa.table(columns), "a.parquet", row_group_size=50)
    pa.feather.write_feather(pa.table(columns), "a.arrow")
    truth, logits = cases(1)
    np.savez(
        "a.npz",
        classes=np.array(CLASSES),
        y_true=np.array(CLASSES)[truth],
        y_proba=probabilities(logits).astype("f4"),
    )
    book = openpyxl.Workbook()
    book.active.title = "notes"
    sheet = book.create_sheet("forecasts")
    for row in [list(columns), *zip(*columns.values(), strict=True)]:
        sheet.append(list(row))
    book.save("a.xlsx")
    halves = [{name: values[part] for name, values in columns.items()} for part in (slice(100), slice(100, None))]
    for number, half in enumerate(halves, 1):
        write_text(f"part-{number}.csv", half)
    truth, logits = cases(4)
    write_text("logits.csv", {"y_true": truth.tolist(), **dict(zip("0123", logits.T.tolist(), strict=True))})
    own = {f"cost_{name}": np.random.default_rng(5).gamma(3.0, 20.0, 240).tolist() for name in CLASSES}
    write_text("own_costs.csv", columns | own)
    write_text("other_costs.csv", without(frame(2), "weight", "site", "age", "patient") | own)
    both = {name: frame(1)[name] + frame(2)[name] for name in columns}
    write_text("long.csv", both | {"model": ["first"] * 240 + ["second"] * 240})


def write_pump():
    names = ("clogged strainer", "seal leak", "bearing wear", "worn impeller", "motor fault")
    truth = np.random.default_rng(0).integers(0, 5, 90)
    for number in (1, 2):
        logits = 2 * np.eye(5)[truth] + np.random.default_rng(number).normal(size=(90, 5))
        forecasts = dict(zip(names, probabilities(logits).T.tolist(), strict=True))
        write_text(f"pump{number}.csv", {"y_true": [names[k] for k in truth]} | forecasts)


def write_votes():
    for name, seed in (("va", 1), ("vb", 2)):
        columns = without(frame(seed), "y_true", "weight")
        votes = (
            np.random.default_rng(9).multinomial(5, np.full(4, 0.25), 240) + 2 * np.eye(4, dtype=int)[cases(1)[0]]
        )
        shown = {f"votes_{label}": votes[:, k].tolist() for k, label in enumerate(CLASSES)}
        write_text(f"{name}.csv", columns | shown)
        write_text(f"{name}w.csv", columns | shown | {"weight": frame(1)["weight"]})


def write_lists():
    for name, seed in (("la", 1), ("lb", 2)):
        truth, logits = cases(seed)
        rows, chances = [], probabilities(logits)
        for i, row in enumerate(chances):
            listed = {label: float(p) for label, p in zip(CLASSES, row, strict=True)}
            rows.append({"id": i, "truth": CLASSES[truth[i]], "forecast": listed, "site": "NS"[i % 2]})
        write_lines(f"{name}.jsonl", rows)
        short = [
            row | {"forecast": dict(sorted(row["forecast"].items(), key=lambda x: -x[1])[:2])} for row in rows
        ]
        write_lines(f"{name}_short.jsonl", short)
        orders = [
            row | {"forecast": sorted(row["forecast"], key=lambda label: -row["forecast"][label])} for row in rows
        ]
        write_lines(f"{name}_orders.jsonl", orders)


def write_samples():
    for name, seed in (("samples_small", 1), ("samples_large", 2)):
        truth, logits = cases(seed)
        write_lines(
            f"{name}.jsonl",
            [
                {
                    "doc_id": i,
                    "doc": {"question": f"q{i}", "subject": "xyz"[i % 3]},
                    "target": int(truth[i]),
                    "arguments": [[f"q{i}", f" {option}"] for option in CLASSES],
                    "filtered_resps": [[float(x) - 20.0, bool(x == row.max())] for x in row],
                    "acc": int(row.argmax() == truth[i]),
                }
                for i, row in enumerate(logits)
            ],
        )


def write_weeks():
    for number in range(1, 9):
        rng = np.random.default_rng(number)
        p = rng.dirichlet(np.ones(4), 40)
        truth = (rng.random((40, 1)) > p.cumsum(axis=1)).sum(axis=1).clip(max=3)
        sharp = p**4 / (p**4).sum(axis=1, keepdims=True)
        columns = {"id": [f"{number}/{i}" for i in range(40)], "label": [CLASSES[k] for k in truth]}
        tables = {"week": sharp, "calm": p, "other": 0.5 * p + 0.125}
        for name, table in tables.items():
            week = {"week": [f"week {number}"] * 40}
            write_text(f"{name}{number}.csv", columns | dict(zip(CLASSES, table.T.tolist(), strict=True)) | week)
        blank = dict(zip(CLASSES, p.T.tolist(), strict=True)) | {"week": [f"week {number}"] * 40}
        write_text(f"blank{number}.csv", {"id": columns["id"], "label": [""] * 40} | blank)
        write_text(f"labels{number}.csv", columns)


def write_described(columns):
    truth, logits = cases(2)
    order = np.random.default_rng(3).permutation(240)[:230]
    vendor = {"patient": [f"case-{i}" for i in order], "diagnosis": [CLASSES[truth[i]] for i in order]}
    vendor |= {f"logit_{label}": logits[order, k].tolist() for k, label in enumerate(CLASSES)}
    write_text("vendor.csv", vendor, ";", ",")
    Path("prices.csv").write_text("test;fee\nflu;$100.00\ncovid;$300.00\ncold;$40.00\ngout;$85.50\nmumps;$1.00\n")
    Path("minutes.csv").write_text("kind,time,fee\nflu,10,1\ncovid,30.5,2\ncold,4,3\ngout,8,4\n")
    drawn = np.random.default_rng(1).gamma(2.0, 1.0, (30, 4)) * list(PRICES.values())
    write_text("drawn.csv", dict(zip(CLASSES, drawn.T.tolist(), strict=True)))
    rounded = columns | {name: np.round(columns[name], 2).tolist() for name in CLASSES}
    write_text("rounded.csv", rounded)
    for name, text in (("models", MODELS), ("skin", SKIN), ("search", SEARCH), ("study", STUDY)):
        Path(f"{name}.toml").write_text(text)
    Path("bad_workup.toml").write_text(
        SKIN.replace("cost = 309", "cost = -1").replace("visit.cost", "visit.price")
    )
    package = Path(__file__).parents[1]
    for name in ("oct_panel", "derm_panel"):
        shutil.copy(package / "examples" / "studies" / "workups" / f"{name}.toml", ".")


def write_damaged(columns):
    def damaged(name, **changes):
        changed = {key: list(values) for key, values in columns.items()}
        for key, (row, value) in changes.items():
            changed[key][row] = value
        write_text(f"{name}.csv", changed)

    damaged("bad_sum", flu=(5, 3.0), covid=(9, -0.5))
    damaged("bad_label", y_true=(3, "measles"))
    damaged("bad_number", cold=(7, "oops"))
    damaged("bad_id", id=(4, "case-1"))
    damaged("bad_missing", gout=(2, ""))
    Path("bad_empty.csv").write_text("")


COMPARE = {
    "plain": f"a.csv b.csv c.csv {NAMED}",
    "costs": f"a.csv b.csv c.csv {COSTS} --currency USD",
    "price table": "a.csv b.csv --costs prices.csv",
    "price columns": "a.csv b.csv --costs minutes.csv:kind:time --unit minutes",
    "gamma prior": f"a.csv b.csv {COSTS} --prior gamma:2",
    "lognormal prior": f"a.csv b.csv {COSTS} --prior lognormal:0.5",
    "empirical prior": f"a.csv b.csv --prior empirical:drawn.csv {NAMED}",
    "fixed prior": f"a.csv b.csv {COSTS} --prior fixed",
    "beta prior": f"a.csv b.csv {COSTS} --prior beta:0.3",
    "exponential prior": f"a.csv b.csv {COSTS} --prior exponential",
    "group": f"a.csv b.csv {COSTS} --group patient",
    "weights": f"wa.csv wb.csv {COSTS} --weight weight",
    "weights, group, bootstrap": f"wa.csv wb.csv {COSTS} --weight weight --group patient --bootstrap 200 --seed 3",
    "bootstrap": f"a.csv b.csv c.csv {COSTS} --bootstrap 300 --level 0.9",
    "scenarios": f'a.csv b.csv {COSTS} --scenario "cheap=covid=50" --scenario "dear=cold=400,gout=10"',
    "by": f'a.csv b.csv {COSTS} --by site --by "age:18|65,site*age:2" --smallest-group 20',
    "by, group": f"a.csv b.csv {COSTS} --by site --group patient --scenario cheap=covid=50",
    "by, bootstrap": f"a.csv b.csv {COSTS} --by site --bootstrap 100",
    "decompose": f"a.csv c.csv {COSTS} --decompose",
    "work-up": "a.csv b.csv --workup skin.toml",
    "work-up of a search": "a.csv b.csv --workup search.toml --by site",
    "work-up, votes": f"va.csv vb.csv {VOTES} --workup skin.toml",
    "formats": f"first=a.parquet second=b.csv {COSTS} --common-rows",
    "models file": "models.toml --costs prices.csv --common-rows",
    "rounded": f"a.csv rounded.csv {COSTS} --normalise",
    "long file": f"long.csv --model model {COSTS} {NAMED}",
    "votes": f"va.csv vb.csv {VOTES} {COSTS}",
    "votes, weights": f"vaw.csv vbw.csv {VOTES} {COSTS} --weight weight --by site",
    "votes, group, bootstrap": f"va.csv vb.csv {VOTES} {COSTS} --group patient --bootstrap 100",
    "votes, gamma, decompose": f"va.csv vb.csv {VOTES} {COSTS} --prior gamma:2 --decompose",
    "lists": f"la.jsonl lb.jsonl {COSTS} --by site",
    "short lists": "la_short.jsonl lb_short.jsonl --other rest",
    "orders": f"la_orders.jsonl lb.jsonl {COSTS}",
    "samples": "samples_small.jsonl samples_large.jsonl --by doc.subject",
    "own costs": "own_costs.csv other_costs.csv --cost-prefix cost_",
    "shipped costs": "pump1.csv pump2.csv --costs pump_fault",
}
SCORE = {
    "csv": f"a.csv {COSTS} --wrong-tests",
    "tsv": f"a.tsv {COSTS}",
    "german": f"german.csv {COSTS}",
    "gzip": f"a.csv.gz {COSTS} --bootstrap 100",
    "jsonl": f"a.jsonl {COSTS}",
    "parquet": f"a.parquet {COSTS} --bootstrap 200 --seed 2",
    "arrow": f"a.arrow {COSTS}",
    "npz": f"a.npz {COSTS}",
    "excel": f"a.xlsx --sheet forecasts {COSTS}",
    "parts": f"part-1.csv part-2.csv {COSTS} --level 0.8",
    "logits": "logits.csv --logits",
    "own costs": "own_costs.csv --cost-prefix cost_",
    "weights": f"wa.csv {COSTS} --weight weight --group patient --bootstrap 50 {NAMED}",
    "weights, bootstrap": f"wa.csv {COSTS} --weight weight --bootstrap 100 {NAMED}",
    "gamma prior": f"a.csv {COSTS} --prior gamma:2",
    "votes": f"va.csv {VOTES} {COSTS} --wrong-tests",
    "votes, bootstrap": f"vaw.csv {VOTES} {COSTS} --weight weight --bootstrap 100",
    "lists": f"la.jsonl {COSTS}",
    "orders": f"la_orders.jsonl {COSTS}",
    "samples": "samples_large.jsonl",
    "work-up": "a.csv --workup skin.toml",
    "jobs": f"part-1.csv part-2.csv {COSTS} --jobs 2",
}
FORECAST = '"flu=0.5,covid=0.2,cold=0.2,gout=0.1"'
PLANS = {
    "next without costs": f"next {FORECAST} --json",
    "next by sensitivity": f"next {FORECAST} {COSTS} --sensitivity 0.8 --search adaptive --steps 9 --json",
    "next by sensitivities": f'next {FORECAST} {COSTS} --sensitivity "flu=0.8,covid=0.9,cold=1,gout=0.5" '
    "--search restarts --steps 7 --json",
    "next of a row": f"next a.csv --row 12 {COSTS} --json",
    "next of a case": "next a.csv --row 18 --costs prices.csv --json",
    "next of a list": f"next la.jsonl --row 3 {COSTS} --json",
    "next": f"next skin.toml {FORECAST} --json",
    "next after findings": f"next skin.toml {FORECAST} --found visit,swab=positive --json",
    "next of a search": f"next search.toml {FORECAST} --json",
    "next of a case by a work-up": "next skin.toml a.csv --row 18 --json",
    "next with a panel": 'next oct_panel.toml "CNV=0.4,DME=0.3,drusen=0.2,normal=0.1" --json',
    "next, tree": f"next skin.toml {FORECAST} --tree tree.svg",
    "work-up check": "validate skin.toml --json",
    "work-up check of a panel": "validate derm_panel.toml --json",
    "work-up check of a bad file": "validate bad_workup.toml --json",
}
RECALIBRATE = {
    "temperature": f"c.csv {COSTS} --objective log_loss",
    "temperature for search": f"c.csv {COSTS} --objective search",
    "vector": f"c.csv {COSTS} --method vector --objective log_loss --folds 5",
    "matrix": f"c.csv {COSTS} --method matrix --objective log_loss --folds 5 --level 0.9",
    "prior": f"c.csv {NAMED} --method prior --apply a.csv --out prior_applied.csv",
    "applied": f"c.csv {COSTS} --objective log_loss --apply b.csv --out applied.csv",
    "applied, parquet": f"c.csv {COSTS} --objective log_loss --apply a.parquet --out applied.jsonl --map m.json",
    "votes": f"va.csv {VOTES} {COSTS} --objective log_loss",
    "group, weights": f"wa.csv {COSTS} --objective log_loss --group patient --weight weight",
    "gamma prior": f"c.csv {COSTS} --prior gamma:2 --objective log_loss",
}
VALIDATE = {
    "good": "a.csv b.csv c.csv --costs prices.csv",
    "votes": f"va.csv {VOTES}",
    "lists": "la.jsonl lb.jsonl",
    "models file": "models.toml --costs prices.csv",
    **{
        name: f"{name}.csv {NAMED}"
        for name in ("bad_sum", "bad_label", "bad_number", "bad_id", "bad_missing", "bad_empty")
    },
    "mixed": f"a.csv bad_sum.csv {NAMED}",
    "excel": "a.xlsx --sheet forecasts",
    "samples": "samples_small.jsonl",
}


def weeks(kind, state, *more):
    first = f"monitor {kind}1.csv --state {state} {COSTS} --time week {NAMED} --json {' '.join(more)}"
    return [first, *(f"monitor {kind}{number}.csv --state {state} --json" for number in range(2, 9))]


MONITOR = {
    "alarm": [*weeks("week", "alarm.json"), "monitor week8.csv --state alarm.json --close --json"],
    "calm": weeks("calm", "calm.json", "--prior gamma:2 --level 0.1"),
    "cases": [f"monitor calm{number}.csv --state cases.json {COSTS} {NAMED} --json" for number in (1, 2)],
    "challenger": [
        f"monitor one=calm{number}.csv two=other{number}.csv --champion one --challenger two --state two.json "
        f"{COSTS} --time week --json"
        for number in range(1, 6)
    ],
    "late labels": [
        *(f"monitor blank{number}.csv --state late.json {COSTS} --time week {NAMED} --json" for number in (1, 2)),
        "monitor --labels labels1.csv --state late.json --json",
        "monitor --labels labels2.csv --state late.json --close --json --html late.html",
    ],
}
STUDIES = [
    "study run study.toml --out results",
    "study status results",
    *(f"study table results --what {what} --all --format csv --intervals" for what in ("tau", "gap")),
    "study table results --format latex",
    "study table results --format markdown --metric log_loss",
    "study resume results",
    "study figure results gaps.svg",
]
NEW_NAMES = {  # new spellings, compared with the old ones
}


def commands():
    """{name: commands}, or {name: (old commands, new commands)}."""
    return {
        **{f"compare: {name}": [f"compare {line} --json"] for name, line in COMPARE.items()},
        "compare: csv": [f"compare a.csv b.csv {COSTS} --csv"],
        "compare: page": [f"compare a.csv b.csv {COSTS} --html page.html --json"],
        "report of a comparison": [f"compare a.csv b.csv {COSTS} --json", "compare last.json --html again.html"],
        "report of files": [f"compare a.csv b.csv {COSTS} --html report.html --no-cases --title Report"],
        **{f"score: {name}": [f"score {line} --json"] for name, line in SCORE.items()},
        "score: table as csv": [f"score a.csv {COSTS} --csv"],
        **{name: [line] for name, line in PLANS.items()},
        **{f"recalibrate: {name}": [f"recalibrate {line} --json"] for name, line in RECALIBRATE.items()},
        **{f"monitor: {name}": lines for name, lines in MONITOR.items()},
        **{f"validate: {name}": [f"validate {line} --json"] for name, line in VALIDATE.items()},
        "study": STUDIES,
        "figures": ["study figures --out figures"],
        **{f"refused: {name}": [line] for name, line in REFUSED.items()},
        **{name: ([old], [new]) for name, (old, new) in NEW_NAMES.items()},
    }


REFUSED = {
    "sums": f"score bad_sum.csv {NAMED}",
    "ids": f"compare a.csv bad_id.csv {NAMED}",
    "prices": 'compare a.csv b.csv --costs "flu=1,cold=2"',
    "orders under a prior": "score la_orders.jsonl --prior uniform",
    "unlisted rest": "compare la_short.jsonl lb_short.jsonl",
    "work-up": "score a.csv --workup bad_workup.toml",
    "lists": "recalibrate la_short.jsonl",
}
MEANT = (  # parts of results that were meant to change
    ".recalibrated", "recalibrated.", ".saved.", ".worth_it",  # what recalibrating saves, whose intervals cover
)  # fmt: skip
EXPECTED = {  # what was meant to change: a case's name, and why
    "compare: orders": "orders are ranked lists, which have no classes",
    "score: orders": "orders are ranked lists, which have no classes",
}


def core_module(name):
    """A module of the core; in trees of before there was one, it lies in the package itself."""
    try:
        return importlib.import_module(f"pandora_regret.core.{name}")
    except ModuleNotFoundError:
        return importlib.import_module(f"pandora_regret.{name}")


def data(votes=False):
    truth, logits = cases(1, 60)
    p = probabilities(logits)
    p[:5] = [[0.5, 0.5, 0, 0], [0, 1, 0, 0], [0.25, 0.25, 0.25, 0.25], [1e-300, 0, 1, 0], [0.4, 0.4, 0.1, 0.1]]
    truth = np.eye(4)[truth] * 3 + np.random.default_rng(1).integers(0, 3, (60, 4)) if votes else truth
    return truth, p, np.random.default_rng(2).gamma(2.0, 1.0, 60)


def priors():
    import scipy.stats

    from pandora_regret.core.priors import (
        Beta,
        Empirical,
        Exponential,
        Fixed,
        FromScipy,
        Gamma,
        LogNormal,
        Uniform,
    )

    return {
        "uniform": Uniform(),
        "exponential": Exponential(),
        "fixed": Fixed(),
        "beta": Beta(0.3),
        "gamma": Gamma(2.0),
        "lognormal": LogNormal(0.5),
        "empirical": Empirical([[1.0, 2.0, 2.5, 7.0], [3.0, 1.0, 1.5, 2.0], [5.0, 4.0, 0.5, 1.0]]),
        "scipy": FromScipy(scipy.stats.gamma(3.0)),
    }


def call_scores(votes=False):
    import pandora_regret as pr

    truth, p, weights = data(votes)
    costs = list(PRICES.values())
    result = {}
    for name, prior in priors().items():
        how = {"prior": prior} if name == "empirical" else {"prior": prior, "costs": costs}
        result[f"cost {name}"] = pr.expected_search_cost(truth, p, per_instance=True, **how)
        result[f"cost {name}, weighted"] = pr.expected_search_cost(truth, p, sample_weight=weights, **how)
        result[f"pair_costs {name}"] = pr.pair_costs(truth, p, **how)
    result["burden"] = pr.excess_search_burden(truth, p, per_instance=True)
    for alpha in (0.0, 0.3, 1.0, 3.0, np.inf):
        result[f"regret {alpha}"] = pr.pandora_regret(truth, p, alpha=alpha, per_instance=True)
        result[f"beta {alpha}"] = pr.beta_score(truth, p, alpha=alpha, max_costs=costs, sample_weight=weights)
    return result


def call_scores_of_votes():
    return call_scores(votes=True)


def call_scores_of_logits():
    import pandora_regret as pr

    truth, logits = cases(3, 60)
    return {
        name: pr.expected_search_cost(truth, 5 * logits, logits=True, prior=prior, per_instance=True)
        for name, prior in priors().items()
    }


def call_entropy():
    import pandora_regret as pr

    _, p, _ = data()
    q = np.random.default_rng(4).dirichlet(np.ones(4), 60)
    costs = list(PRICES.values())
    return {
        name: [
            pr.search_entropy(q, prior=prior, costs=costs, per_instance=True),
            pr.search_divergence(p, q, prior=prior, costs=costs, per_instance=True),
        ]
        for name, prior in priors().items()
    }


def call_search(votes=False):
    import pandora_regret as pr

    truth, p, weights = data(votes)
    costs = list(PRICES.values())
    return {
        "order": pr.search_order(p, costs),
        "cost": pr.search_cost(truth, p, costs, per_instance=True),
        "averaged": pr.search_cost(truth, p, costs, ties="average", per_instance=True),
        "weighted": pr.search_cost(truth, p, costs, sample_weight=weights),
    }


def call_search_of_votes():
    return call_search(votes=True)


def call_imperfect():

    imperfect = core_module("imperfect")
    truth, p, _ = data()
    tests = imperfect.Tests(
        cost=list(PRICES.values()),
        sensitivity=[0.8, 0.9, 0.99, 0.5],
        false_positive_rate=0.1,
        confirmatory_cost=30.0,
    )
    payoff = imperfect.treatment_payoff(tests, benefit=[100, 50, 20, 10])
    by_search = {
        search: [
            imperfect.expected_expenditure(truth, p, tests, search=search, per_instance=True),
            imperfect.predicted_expenditure(p, tests, search=search, per_instance=True),
            imperfect.imperfect_order(p[7], tests, search=search),
        ]
        for search in ("single_pass", "restarts", "adaptive")
    }
    return by_search | {"effective": imperfect.effective_costs(tests), "payoff": payoff}


def call_workups(votes=False):
    import pandora_regret as pr
    from pandora_regret import workup as workups

    truth, p, weights = data(votes)
    result = {}
    for name in ("skin", "search"):
        workup = pr.Workup.load(f"{name}.toml")
        labelled = truth if votes else np.array(CLASSES)[truth]
        result[name] = [
            pr.workup_cost(labelled, p, workup, per_instance=True),
            pr.workup_regret(labelled, p, workup, sample_weight=weights),
            workups.workup_entropy(p, workup, per_instance=True),
        ]
    for name in ("dermamnist", "octmnist", "pump_fault"):
        workup = pr.Workup.from_pathways(name)
        q = np.random.default_rng(6).dirichlet(np.ones(len(workup.classes)), 40)
        result[name] = [
            workups.workup_entropy(q, workup, per_instance=True),
            pr.plan_workup(q[0], workup).expected_cost,
        ]
    return result


def call_workups_of_votes():
    return call_workups(votes=True)


def call_pathways():
    import pandora_regret as pr

    costs = core_module("costs")
    files = {name: pr.load_costs(name) for name in costs.available_costs()}
    return {
        name: [each.costs, [list(map(float, each.breakdown(label).values())) for label in each.classes]]
        for name, each in files.items()
    }


def for_log_loss(kind):
    try:
        return kind(objective="log_loss")
    except TypeError:  # which has become the only objective
        return kind()


def call_calibrators():
    from pandora_regret.calibrate import MatrixScaling, PriorShift, TemperatureScaling, VectorScaling

    truth, logits = cases(5, 200, 0.8)
    p = probabilities(3 * logits)
    result = {
        kind.__name__: for_log_loss(kind).fit(p, truth).predict_proba(p)
        for kind in (TemperatureScaling, VectorScaling, MatrixScaling)
    }
    result["search"] = TemperatureScaling(objective="search").fit(p, truth).predict_proba(p[:9])
    result["shift"] = PriorShift().fit(p, truth).adapt(p[:50]).predict_proba(p[:50])
    return result


def call_decompose():
    from pandora_regret.calibrate import decompose

    truth, logits = cases(5, 200, 0.8)
    p = probabilities(3 * logits)
    result = {}
    for method in ("temperature", "vector", "auto"):
        parts = decompose(truth, p, costs=list(PRICES.values()), method=method)
        for term in ("uncertainty", "discrimination", "miscalibration"):
            estimate = getattr(parts, term)
            result[f"{method} {term}"] = [estimate.value, estimate.low, estimate.high]
    return result


def with_bootstrap(replicates):
    """Keywords of compare in the trees that have options, and in those before."""
    import pandora_regret

    if "ComparisonOptions" in dir(pandora_regret):
        return {"options": pandora_regret.ComparisonOptions(bootstrap=replicates)}
    return {"bootstrap": replicates}


def comparison_module():
    """What compares models; in trees of before it had that name, it was called as its function is."""
    try:
        return importlib.import_module("pandora_regret.comparison")
    except ModuleNotFoundError:
        return importlib.import_module("pandora_regret.compare")


def call_metrics(votes=False):
    compare = comparison_module().compare
    from pandora_regret.metrics import METRICS

    truth, p, weights = data(votes)
    p = 0.99 * p + 0.0025
    result = compare(truth, {"one": p, "two": p[:, ::-1]}, sample_weight=weights, **with_bootstrap(50)).to_dict()
    return [result["models"], result["differences"], sorted(METRICS)]


def call_metrics_of_votes():
    return call_metrics(votes=True)


def call_decisions():
    decisions = core_module("decisions")

    truth, p, _ = data()
    p = 0.99 * p + 0.0025
    return [
        decisions.parallel_costs(truth, p),
        decisions.fixed_order_costs(truth, p, [0, 1, 2, 3], epsilon=0.01),
        decisions.fixed_order_regrets(truth, p, [3, 1, 2, 0]),
        decisions.instance_f1(truth, p),
        decisions.single_shot_cost(truth, p),
    ]


def call_array_api():
    import torch

    array_api = core_module("array_api")

    truth, p, _ = data()
    p = 0.99 * p + 0.0025
    return {
        name: getattr(array_api, name)(torch.tensor(truth), torch.tensor(p), per_instance=True).numpy()
        for name in ("pandora_regret", "beta_score")
    }


def call_torch_loss():
    import torch

    from pandora_regret.integrations.torch import PandoraLoss

    truth, logits = cases(3, 60)
    result = {}
    for alpha in (0.3, 1.0, 3.0):
        z = torch.tensor(logits, requires_grad=True)
        loss = PandoraLoss(alpha=alpha)(z, torch.tensor(truth))
        loss.backward()
        result[str(alpha)] = [loss.item(), z.grad.numpy()]
    return result


def call_monitor():
    from pandora_regret.monitor import Monitor

    truth, p, _ = data()
    monitor = Monitor(costs=list(PRICES.values()), level=0.1)
    for number in range(6):
        rows = slice(10 * number, 10 * number + 10)
        monitor.update(truth[rows], p[rows], ids=list(range(rows.start, rows.stop)), time=f"week {number}")
    monitor.close()
    return monitor.state()


def call_cases_needed():
    room = comparison_module()

    truth, p, _ = data()
    p = 0.99 * p + 0.0025
    result = room.compare(truth, {"one": p, "two": p[:, ::-1]})
    return [room.cases_needed(result), room.cases_needed(result, difference=0.1)]


CALLS = {name.removeprefix("call_"): each for name, each in list(globals().items()) if name.startswith("call_")}
