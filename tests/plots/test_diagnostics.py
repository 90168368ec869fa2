"""Diagnostic figures show the comparison's and the scores' own numbers."""

import numpy as np
import pytest

pytest.importorskip("matplotlib")
from matplotlib.figure import Figure
from refusals import refused

from pandora_regret import InputError, compare, pandora_regret
from pandora_regret.plots import (
    plot_alpha_curve,
    plot_cost_calibration,
    plot_pair_costs,
    plot_ranks,
    plot_score_histograms,
    plot_ternary,
)
from pandora_regret.plots.decision_regions import to_plane
from pandora_regret.plots.style import COLOURS, QUIET

CLASSES = ["melanoma", "nevus", "actinic keratoses and intraepithelial carcinoma"]
rng = np.random.default_rng(0)
TRUTH = rng.integers(0, 3, 120)


def forecasts(skill, temperature):
    odds = np.exp((rng.normal(size=(120, 3)) + skill * np.eye(3)[TRUTH]) / temperature)
    return odds / odds.sum(axis=1, keepdims=True)


MODELS = {f"model {number}": forecasts(1 + number / 4, 0.5 + number / 8) for number in range(8)}


@pytest.fixture(scope="module")
def comparison():
    names = np.array(CLASSES)[TRUTH]
    return compare(names, MODELS, labels=CLASSES, costs=[384, 75, 180], currency="USD")


def axes():
    return Figure(layout="constrained").subplots()


def texts(drawn):
    return [text.get_text() for text in drawn.texts]


def test_the_heat_map_holds_the_pair_costs_and_writes_them(comparison):
    drawn = plot_pair_costs(comparison, "model 3", ax=axes())
    costs = next(np.array(model.pair_costs) for model in comparison.models if model.name == "model 3")
    order = sorted(range(3), key=lambda k: -costs[k].sum() - costs[:, k].sum())  # as a truth and as a wrong test
    costs = costs[order][:, order]
    np.testing.assert_array_equal(drawn.collections[0].get_array(), costs)
    written = {text.get_position(): float(text.get_text()) for text in drawn.texts}
    assert len(written) == 6  # nothing is wasted on the truth
    for (j, i), cost in written.items():
        assert cost == pytest.approx(costs[int(i), int(j)], abs=0.05)
    assert drawn.get_ylim() == (3, 0)  # as a matrix is read
    assert drawn.get_title() == "model 3\ncost per case (USD)"
    names = ["melanoma", "nevus", "actinic …rcinoma"]
    for labels in (drawn.get_xticklabels(), drawn.get_yticklabels()):
        assert [label.get_text() for label in labels] == [names[k] for k in order]


def test_curves_hold_the_scores_at_all_alphas_and_both_limits_have_a_place():
    drawn = plot_alpha_curve(TRUTH, MODELS, ax=axes())
    for line, table in zip(drawn.lines, MODELS.values(), strict=True):
        assert line.get_ydata()[6] == pandora_regret(TRUTH, table)
        assert line.get_ydata()[-1] == pandora_regret(TRUTH, table, alpha=np.inf)
    assert drawn.lines[0].get_xdata()[[0, 6, -1]].tolist() == [0, 0.5, 1]
    assert [label.get_text() for label in drawn.get_xticklabels()] == ["0", "0.1", "0.3", "1", "3", "10", "∞"]
    assert [line.get_color() for line in drawn.lines] == [*COLOURS, QUIET, QUIET]
    assert [text.get_text() for text in drawn.get_legend().get_texts()] == list(MODELS)[:6]


@pytest.mark.parametrize("numbers", [(0, 6), (7, 0)])
def test_calibration_shows_every_bin_with_its_interval_and_models_share_axes(comparison, numbers):
    drawn, models = axes(), [comparison.models[number] for number in numbers]
    for model in models:
        plot_cost_calibration(comparison, model.name, ax=drawn)
    for container, model in zip(drawn.containers, models, strict=True):
        line, _, (bars,) = container.lines
        bins = model.calibration
        np.testing.assert_array_equal(line.get_xydata(), [(each.predicted, each.observed) for each in bins])
        ends = [segment[:, 1] for segment in bars.get_segments()]
        np.testing.assert_allclose(ends, [(each.low, each.high) for each in bins])
        low, high = drawn.get_ylim()
        assert low <= np.min(ends) <= np.max(ends) <= high
    assert drawn.get_xlim() == drawn.get_ylim()
    assert [line.get_transform() for line in drawn.lines].count(drawn.transAxes) == 1  # the diagonal
    assert drawn.get_xlabel() == "predicted cost (USD)"
    assert drawn.get_ylabel().endswith("(USD)")
    assert [text.get_text() for text in drawn.get_legend().get_texts()] == [model.name for model in models]


def test_ranks_are_the_comparison_s_with_the_best_on_top(comparison):
    keys = ["expected_cost", "log_loss", "macro_f1"]
    drawn = plot_ranks(comparison, keys, ax=axes())
    for number, line in enumerate(drawn.lines):
        assert list(line.get_ydata()) == [comparison.ranks[key][number] for key in keys]
    assert drawn.get_ylim() == (8.5, 0.5)
    titles = [label.get_text() for label in drawn.get_xticklabels()]
    assert titles == ["Expected search cost", "Log loss", "Macro-F1"]
    for side, key in (("right", keys[0]), ("left", keys[-1])):
        names = [text for text in drawn.texts if text.get_ha() == side]
        in_order = [text.get_text() for text in sorted(names, key=lambda text: text.get_position()[1])]
        by_rank = sorted(range(8), key=lambda number: comparison.ranks[key][number])
        assert in_order == [comparison.models[number].name for number in by_rank]
    with pytest.raises(InputError, match="metric is 'luck'"):
        plot_ranks(comparison, ["luck"], ax=axes())


def ridges(drawn):
    """The heights of each ridge's steps, the ridges from top to bottom, and what they stand on."""
    return [
        (patch.get_data().baseline - patch.get_data().values, patch.get_data().edges) for patch in drawn.patches
    ]


@pytest.mark.parametrize("logits", [False, True])
def test_histograms_are_of_each_class_s_own_scores(logits):
    proba, weights = MODELS["model 2"], rng.uniform(0.5, 2, 120)
    given = np.log(proba) + 3 if logits else proba
    drawn = plot_score_histograms(TRUTH, given, sample_weight=weights, logits=logits, alpha=0.5, ax=axes())
    scores = pandora_regret(TRUTH, proba, alpha=0.5, per_instance=True)
    for k, (heights, edges) in enumerate(ridges(drawn)):
        ours = k == TRUTH
        edges[0], edges[-1] = 0, np.inf  # the first bin holds all that is less
        expected = np.histogram(scores[ours], edges, weights=weights[ours])[0]
        highest = expected[1:].max()  # the first bin is cut off at the highest of the others
        np.testing.assert_allclose(heights / heights.max(), np.minimum(expected / highest, 1), atol=1e-12)
    means = [line.get_xdata()[0] for line in drawn.lines if line.get_color() == "black"]
    expected = [np.average(scores[k == TRUTH], weights=weights[k == TRUTH]) for k in range(3)]
    np.testing.assert_allclose(means, expected)
    assert drawn.get_xlabel() == "score $S_α$, α = 0.5 (line: mean)"
    assert drawn.get_xticklabels()[0].get_text() == "≤ 0.001"


def test_the_ternary_plot_places_forecasts_and_shades_them_by_regret():
    proba = MODELS["model 4"]
    drawn = plot_ternary(np.array(CLASSES)[TRUTH], proba, labels=CLASSES, ax=axes())
    scores = pandora_regret(TRUTH, proba, per_instance=True)
    order = np.argsort(scores)  # the most expensive on top
    for k, points in enumerate(drawn.collections):
        rows = order[k == TRUTH[order]]
        np.testing.assert_array_equal(points.get_offsets(), to_plane(proba[rows]))
        np.testing.assert_array_equal(points.get_array(), np.maximum(scores[rows], 1e-3))
        assert points.get_clim() == (1e-3, scores.max())
    good = drawn.collections[0].norm([0.002, 0.02, 0.2])
    np.testing.assert_allclose(np.diff(good)[0], np.diff(good)[1])  # good forecasts differ as much as bad ones
    assert texts(drawn)[:3] == ["● melanoma", "■ nevus", "◆ actinic…cinoma"]
    assert drawn.figure.axes[1].get_ylabel() == "Pandora’s Regret"


def test_the_ternary_plot_takes_logits_and_three_classes_only():
    logits = np.log([[0.7, 0.2, 0.1]]) + 5
    drawn = plot_ternary([0], logits, logits=True, ax=axes())
    np.testing.assert_allclose(drawn.collections[0].get_offsets(), to_plane(np.array([[0.7, 0.2, 0.1]])))
    infinite = plot_ternary([0, 1], [[0.0, 0.5, 0.5], [0.2, 0.6, 0.2]], alpha=0, ax=axes())
    assert np.isfinite(infinite.collections[0].get_array()).all()
    with refused(argument="y_proba", value=2):
        plot_ternary([0], [[0.5, 0.5]], ax=axes())
