"""The tables and figures on pages and in the README are those of the stored results."""

import importlib.util
import json
import re
from collections import defaultdict
from itertools import chain
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

SCRIPT = Path(__file__).parents[2] / "examples" / "studies" / "publish.py"
SPEC = importlib.util.spec_from_file_location("publish", SCRIPT)
publish = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(publish)


@pytest.mark.parametrize("page", publish.PAGES, ids=lambda page: page.name)
def test_tables_and_figures_on_pages_are_those_of_the_stored_results(page):
    text = page.read_text(encoding="utf-8")
    assert publish.with_results(text) == text
    assert text.count("<!-- table: ") + text.count("<!-- figure: ") == len(publish.MARKED.findall(text))
    assert not re.search(r"^\s*<!-- figure: ", text, re.MULTILINE)  # Markdown would end the paragraph there


def test_every_table_and_figure_that_is_made_is_on_a_page():
    shown = {
        match[2] for page in publish.PAGES for match in publish.MARKED.finditer(page.read_text(encoding="utf-8"))
    }
    assert shown == {*publish.TABLES, *publish.FIGURES}


def test_every_interval_of_tau_contains_its_estimate():
    for what in ("tau", "gap"):
        for _, _, cells in publish.study_grid(publish.read_results(publish.STORED), what, ()).rows:
            assert all(cell.low <= cell.value <= cell.high for cell in cells)


def stored(name):
    return json.loads((publish.STORED.parent / name).read_text(encoding="utf-8"))


def taus_of_studies():
    """Zoo, condition, metric, file, tau: of every study."""
    for path in [*sorted(publish.STORED.parent.glob("*/results.json")), publish.WORKUPS]:
        for part in stored(path)["data"]:
            for condition in part["agreement"]["conditions"]:
                name = "well_specified" if condition["name"] == "mean_of_taus" else condition["name"]
                for cell in condition["metrics"]:
                    yield part["name"], name, cell["key"], str(path), cell["tau"]["value"]


def taus_beside_studies():
    """The same of what is computed from the predictions of studies."""
    for zoo, found in stored("near-baseline.json").items():
        for cell in found["all"]["metrics"]:
            yield zoo, "clinical", cell["key"], "near-baseline", cell["tau"]["value"]
    for zoo, described in stored("zoos.json").items():
        yield zoo, "well_specified", "pandora_regret", "zoos", described["tau_of_single_draws"]["mean"]
    for metric, value in stored("votes.json")["digits"]["tau"]["truth"].items():
        yield "digits", "clinical", metric, "votes", value


def taus_of_lines():
    """The same of the lines against sigma, where it is 1, and against alpha."""
    lines = stored("sensitivity.json")
    kinds = {"all": "random_temperature", "distractors": "random_distractor_temperature"}
    at_one = lines["sigmas"].index(1.0)
    for zoo, by_kind in lines["sigma"].items():
        for kind, by_metric in by_kind.items():
            for metric, values in by_metric.items():
                yield zoo, kinds[kind], metric, "sigma", values[at_one][0]
    keys = ["pandora_regret" if alpha == "1" else f"beta_{alpha}" for alpha in lines["alphas"]]
    for zoo, by_condition in lines["alpha"].items():
        for condition, values in by_condition.items():
            for metric, value in zip(keys, values, strict=True):
                yield zoo, condition, metric, "alpha", value[0]


def test_all_stored_results_are_of_the_same_forecasts():
    """A study that was run again takes along what rests on its predictions."""
    taus = defaultdict(dict)
    for zoo, condition, metric, file, tau in chain(taus_of_studies(), taus_beside_studies(), taus_of_lines()):
        taus[zoo, condition, metric][file] = tau
    shared = {cell: by_file for cell, by_file in taus.items() if len(by_file) > 1}
    assert len(shared) > 250
    for cell, by_file in shared.items():
        assert max(by_file.values()) - min(by_file.values()) < 2e-4, (cell, by_file)
