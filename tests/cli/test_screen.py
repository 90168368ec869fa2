"""A comparison on one screen: 25 lines of 80 columns, whatever was compared, unless the verdict takes more."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from asked import compare_with
from cli_files import CLASSES, COSTS, run, wine_file
from simulated_models import simulated

from pandora_regret.cli.comparison import screen
from pandora_regret.core.inputs import Remark
from pandora_regret.text import cell_width

ROWS = 400
ORDINARY = tuple(f"model {number}" for number in range(20))
WIDE = ("網絡" * 40, "a name that nobody can type, of a model that nobody can deploy " * 3, "ordinary")
REMARKS = tuple(
    Remark("rows rescaled", n, f"{n} rows of {name} rescaled (sums 0.998 to 1.002)")
    for n, name in enumerate(("Deep net", "Forest", "Vendor A", "Rounded", "Old model"), 10)
)


@cache
def compared(n_models, n_classes, names=ORDINARY, currency="USD"):
    rng = np.random.default_rng(0)
    truth, models = simulated(ROWS, k=n_classes, noise=tuple(np.linspace(0.4, 0.9, n_models)))
    models = dict(zip(names[:n_models], models.values(), strict=True))
    site, sex = rng.choice(["North", "South", "East"], ROWS), rng.choice(["F", "M"], ROWS)
    last, east = names[min(2, n_models - 1)], site == "East"
    models[last][east] = np.roll(models[last][east], 1, axis=1)
    by = {"site": site, "age:10": rng.integers(0, 90, ROWS), "site*sex": (site, sex)}
    costs = {} if currency is None else {"costs": np.linspace(100.0, 900.0, n_classes)}
    return compare_with(truth, models, currency=currency, by=by, **costs)


def without_columns(comparison, n_columns):
    return replace(comparison, by=comparison.by[:n_columns])


@pytest.mark.slow
@pytest.mark.parametrize(
    "remarks", [(), REMARKS[:1], REMARKS * 8], ids=["as they are", "one remark", "many remarks"]
)
@pytest.mark.parametrize("n_columns", [0, 1, 3])
@pytest.mark.parametrize("n_classes", [3, 40])
@pytest.mark.parametrize("n_models", [1, 2, 3, 20])
def test_it_fits_one_screen(n_models, n_classes, n_columns, remarks):
    comparison = without_columns(compared(n_models, n_classes), n_columns)
    comparison = replace(comparison, remarks=remarks, notes=("Do not trust it. " * 20,) * 3)
    lines = screen(comparison)
    n_lines_of_verdict = lines.index("")
    assert len(lines) <= 25 or n_lines_of_verdict > 1
    assert len(lines) - n_lines_of_verdict <= 25
    assert max(map(cell_width, lines)) <= 80
    assert all(option in lines[-1] for option in ("--full", "--html", "--json"))
    verdict = " ".join(lines[:n_lines_of_verdict])
    assert verdict == " ".join(comparison.verdict.sentences)


@pytest.mark.parametrize("width", [80, 60, 40])
@pytest.mark.parametrize("currency", ["USD", "CHF", "Zimbabwean dollars", None])
def test_it_fits_with_wide_names_and_units_on_narrow_terminals(currency, width):
    lines = screen(compared(3, 4, WIDE, currency=currency), width)
    assert max(map(cell_width, lines)) <= width
    assert len(lines) <= 45 + (80 - width)  # wide units take a second table, and longer sentences
    assert any(line.startswith("網") for line in lines)


def test_of_many_models_the_first_are_shown_and_the_others_counted():
    lines = screen(compared(20, 3))
    assert "16 more models: --full" in lines


def test_groups_that_stand_out_are_shown_with_the_models_that_do():
    comparison = without_columns(compared(20, 3), 2)
    lines = screen(comparison)
    title = next(line for line in lines if line.startswith("By site"))
    assert "model 2" in title
    assert next(line for line in lines if line.startswith("  East")).endswith("<- stands out")
    [age] = [line for line in lines if line.startswith("By age")]
    assert "(10 groups)" in age
    assert "model" not in age


def test_models_called_like_words_of_a_sentence_take_no_column_of_those_that_stand_out():
    names = (*ORDINARY[:8], "is", "the", "cases", "fails")
    truth, models = simulated(ROWS, noise=tuple(np.linspace(0.4, 0.9, len(names))))
    models = dict(zip(names, models.values(), strict=True))
    site = np.random.default_rng(0).choice(["North", "South", "East"], ROWS)
    models["fails"][site == "East"] = np.roll(models["fails"][site == "East"], 1, axis=1)
    comparison = compare_with(truth, models, by={"site": site})
    [part] = comparison.by
    assert part.all_flagged == {"fails"}
    header = next(line for line in screen(comparison) if line.startswith("By site"))
    assert "fails" in header
    assert not {"is", "the", "cases"} & set(header.split())


def test_what_was_done_is_said_in_one_sentence_of_a_few_lines():
    few, many = (screen(replace(compared(2, 3), remarks=remarks)) for remarks in (REMARKS[:2], REMARKS * 8))
    start = f"Done to the files: {REMARKS[0].sentence}; "
    assert start in " ".join(few)
    assert start in " ".join(many)
    assert any(line.endswith("…") for line in many)


def test_full_prints_every_table_of_groups(tmp_path):
    sites = ["north"] * 60 + ["south"] * 60 + ["east"] * 58
    files = [wine_file(tmp_path, name, site=sites) for name in ("tree", "bayes")]
    options = ["--costs", COSTS, "--by", "site", "--classes", ",".join(CLASSES)]
    full = run("compare", *files, *options, "--full").stdout
    for group in set(sites):
        assert f"\n{group} " in full
    assert "p (Holm)" in full[full.index("By site") :]


def test_the_first_warning_is_shown_and_the_others_counted():
    [warning] = [line for line in screen(replace(compared(2, 3), notes=("A: no.", "B: no."))) if line[0:1] == "!"]
    assert "2 warnings" in warning
    assert "A: no." in warning
    assert "B: no." not in warning
