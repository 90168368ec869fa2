"""Three vendors' files of the same cases as they come, and what they mean in plain arrays."""

import json

import numpy as np
import pytest
from prediction_files import write_xlsx

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

CLASSES = ("Appendicite", "Gastrite", "Lithiase biliaire", "Reflux")
PRICES = dict(zip(CLASSES, (1250.0, 180.0, 420.0, 95.0), strict=True))
N, LACKED = 240, 2
MODELS = """truth = "cases.csv"

[[models]]
name = "Medica"
path = "medica.csv"

[[models]]
name = "TriageAI"
path = "triage.jsonl"

[[models]]
name = "DeepGut"
path = "deepgut.parquet"
logits = true
missing_class_zero = true
"""


def made():
    """Truths, sites, ages, and what each vendor forecasts in full."""
    rng = np.random.default_rng(7)
    truth, site, age = rng.integers(0, 4, N), rng.choice(["Sion", "Brig", "Martigny"], N), rng.integers(1, 95, N)
    logits = {name: rng.normal(size=(N, 4)) for name in ("Medica", "TriageAI", "DeepGut")}
    for skill, z in zip((1.6, 1.2, 1.0), logits.values(), strict=True):
        z[np.arange(N), truth] += skill
    return truth, site, age, {name: np.exp(z) / np.exp(z).sum(axis=1, keepdims=True) for name, z in logits.items()}


def meant():
    """Truths, sites, ages, and the probabilities that the files hold: rounded, without a tail, without a class."""
    truth, site, age, whole = made()
    percent = np.round(100 * whole["Medica"], 1)
    shares = percent / 100
    off = np.abs(shares.sum(axis=1) - 1) > 1e-4
    shares[off] /= shares[off].sum(axis=1, keepdims=True)
    rest = np.argsort(whole["TriageAI"], axis=1)[:, 0]
    listed = np.round(whole["TriageAI"], 4)
    listed[np.arange(N), rest] = 0
    listed[np.arange(N), rest] = 1 - listed.sum(axis=1)
    without = whole["DeepGut"].copy()
    without[:, LACKED] = 0
    return (
        truth,
        site,
        age,
        {
            "Medica": shares,
            "TriageAI": listed,
            "DeepGut": without / without.sum(axis=1, keepdims=True),
        },
    )


def write_vendors(folder):
    """All the files of the folder."""
    truth, site, age, whole = made()
    ids = [f"{number:05d}" for number in range(1, N + 1)]
    lines = (f"{i},{CLASSES[k]},{s},{a}\n" for i, k, s, a in zip(ids, truth, site, age, strict=True))
    (folder / "cases.csv").write_text("Patient,Diagnosis,site,age\n" + "".join(lines), encoding="utf-8")
    lines = (
        ";".join([i, *(f"{100 * p:.1f}".replace(".", ",") for p in row)]) + "\n"
        for i, row in zip(ids, whole["Medica"], strict=True)
    )
    header = "patient;appendicite;gastrite;lithiase-biliaire;reflux\n"
    (folder / "medica.csv").write_text(header + "".join(lines), encoding="latin-1")
    loud = [name.upper().replace(" ", "_") for name in CLASSES]
    with open(folder / "triage.jsonl", "w", encoding="utf-8") as file:
        for i, row in zip(ids, whole["TriageAI"], strict=True):
            top = [{"label": loud[k], "score": round(float(row[k]), 4)} for k in np.argsort(-row)[:3]]
            file.write(json.dumps({"PATIENT": i, "top3": top}) + "\n")
    columns = {name: np.log(whole["DeepGut"][:, k]) for k, name in enumerate(CLASSES) if k != LACKED}
    pq.write_table(pa.table({"patient": [int(i) for i in ids], **columns}), folder / "deepgut.parquet")
    prices = [[name, f"CHF {price:,.2f}".replace(",", "'"), "-"] for name, price in PRICES.items()]
    tariff = [["Tarifs 2026 (CHF)"], [], ["Diagnosis", "Price", "Remark"], *prices]
    write_xlsx(folder / "prices.xlsx", {"Lisez-moi": [["Voir la feuille Tarifs"]], "Tarifs": tariff})
    (folder / "models.toml").write_text(MODELS, encoding="utf-8")
