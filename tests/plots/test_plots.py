"""What holds for every figure: imports, settings left alone, names as they are, the same bytes."""

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

pytest.importorskip("matplotlib")
import matplotlib
from matplotlib.figure import Figure

import pandora_regret.plots as plots
from pandora_regret import Candidates, InputError, compare
from pandora_regret.plots import paper
from pandora_regret.workup import plan_search

TRUTH = np.array([0, 1, 2, 0, 1, 2, 0, 0])
FORECASTS = np.random.default_rng(1).dirichlet([1.0, 1.0, 1.0], 8)
LISTS = Candidates.from_lists([["a"], ["b"], ["a"], ["c"]], ["a", "b", "c", "b"])
LONG_LISTS = Candidates.from_lists([["b", "a"], ["a", "b"], ["a", "c"], ["c", "a"]], ["a", "b", "c", "b"])


@pytest.fixture(scope="module")
def comparison():
    blunt = (FORECASTS + 1 / 3) / 2
    return compare(TRUTH, {"_sharp": FORECASTS, "$a and $b": blunt}, costs=[90, 60, 30], currency="US$")


def test_every_plot_draws_on_the_axes_it_is_given_and_changes_no_setting(comparison):
    before = dict(matplotlib.rcParams)
    forecast, prices = {"a": 0.6, "b": 0.4}, {"a": 2.0, "b": 1.0}
    arguments = {
        "plot_alpha_curve": (TRUTH, {"_sharp": FORECASTS, "$a": FORECASTS}),
        "plot_bills": ({"x": forecast}, "a", prices),
        "plot_cost_calibration": (comparison,),
        "plot_miss_curve": ({"_short": LISTS, "$long": LONG_LISTS},),
        "plot_pair_costs": (comparison,),
        "plot_ranks": (comparison,),
        "plot_score_histograms": (TRUTH, FORECASTS),
        "plot_search_trace": (plan_search(forecast, costs=prices),),
        "plot_ternary": (TRUTH, FORECASTS),
    }
    of_studies = {"plot_tau_gaps", "plot_sensitivity"}
    for name in {name for name in plots.__all__ if name.startswith("plot_")} - of_studies:
        axes = Figure(layout="constrained").subplots()
        assert getattr(plots, name)(*arguments.get(name, ()), ax=axes) is axes
        axes.figure.draw_without_rendering()
        for legend in [axes.get_legend()] if name == "plot_alpha_curve" else ():  # names as they are
            assert [text.get_text() for text in legend.get_texts()] == ["_sharp", "$a"]
            assert not any(text.get_parse_math() for text in legend.get_texts())
    assert dict(matplotlib.rcParams) == before


def test_importing_plots_needs_no_matplotlib_and_drawing_says_what_to_install(tmp_path):
    program = """
import sys
sys.modules["matplotlib"] = None
from pandora_regret.plots import *
assert not any(name.startswith("matplotlib.") for name in sys.modules)
for draw in (plot_pair_loss, plot_decision_simplex, lambda: draw_paper_figures("never")):
    try:
        draw()
    except ImportError as error:
        print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 3
    assert all("matplotlib" in line and "'pandora-regret[report]'" in line for line in lines)


def test_the_paper_s_figures_come_as_vector_graphics_and_the_same_every_time(tmp_path):
    first = plots.draw_paper_figures(tmp_path / "first" / "of_all")
    again = plots.draw_paper_figures(tmp_path / "again")
    assert [path.stem for path in first] == list(paper.FIGURES)
    for one, other in zip(first, again, strict=True):
        assert one.read_bytes() == other.read_bytes()
        page = ElementTree.parse(one).getroot()
        assert page.attrib["width"] == "237.6pt"  # 3.3 in
        assert not list(page.iter("{http://www.w3.org/2000/svg}image"))


@pytest.mark.parametrize(
    ("wrong", "words"), [({"kind": "gif"}, "kind is 'gif'"), ({"width": "A0"}, "width is 'A0'")]
)
def test_what_cannot_be_drawn_is_said_before_anything_is_written(tmp_path, wrong, words):
    with pytest.raises(InputError, match=words):
        plots.draw_paper_figures(tmp_path / "out", **wrong)
    assert not list(tmp_path.iterdir())


@pytest.fixture
def command(monkeypatch):
    testing = pytest.importorskip("click.testing")
    from pandora_regret.cli.commands import pandora

    monkeypatch.setattr(paper, "FIGURES", {"pair_loss": paper.FIGURES["pair_loss"]})  # one is enough here
    return lambda *given: testing.CliRunner().invoke(pandora, ["study", "figures", *map(str, given)])


def test_the_command_draws_all_and_with_a_study_its_intervals_too(command, tmp_path):
    out, study = tmp_path / "figures", Path(__file__).parents[2] / "docs" / "study" / "medmnist"
    done = command("--out", out, "--format", "png", "--width", "page", "--study", study)
    assert done.exit_code == 0, done.output
    assert done.stdout.split() == [str(out / "pair_loss.png"), str(out / "tau_gaps.png")]


def test_the_command_replaces_nothing_unasked_and_says_what_is_missing(command, tmp_path):
    (tmp_path / "pair_loss.svg").write_text("mine")
    kept = command("--out", tmp_path)
    assert kept.exit_code == 2
    assert "pair_loss.svg exists" in kept.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["pair_loss.svg"]
    done = command("--out", tmp_path, "--force")
    assert done.exit_code == 0
    assert (tmp_path / "pair_loss.svg").read_text().startswith("<?xml")
    assert "--study" in done.stderr
    no_folder = command("--out", tmp_path / "pair_loss.svg")
    assert (no_folder.exit_code, "is a file" in no_folder.stderr) == (2, True)
    no_study = command("--out", tmp_path / "new", "--study", tmp_path)
    assert (no_study.exit_code, "has no results" in no_study.stderr) == (2, True)
    assert not (tmp_path / "new").exists()
