"""The paper's figures show what the library computes."""

from itertools import pairwise
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("matplotlib")
from matplotlib.figure import Figure

from pandora_regret import Beta, InputError, expected_search_cost, pandora_regret, search_order
from pandora_regret.plots import (
    plot_beta_simplex,
    plot_decision_plane,
    plot_decision_simplex,
    plot_decision_surface,
    plot_gradient_profile,
    plot_pair_loss,
)
from pandora_regret.plots.decision_regions import RULES, Case, _shades, to_plane

costs_of_three = st.lists(st.floats(0.05, 0.9), min_size=3, max_size=3)
forecasts_of_three = st.lists(st.floats(0.01, 1.0), min_size=3, max_size=3).map(lambda p: np.array(p) / sum(p))
classes = st.integers(0, 2)


def axes():
    return Figure(layout="constrained").subplots()


def classes_that(rule, p, c, truth):
    """What each rule tests, said without geometry."""
    order = [int(k) for k in search_order(p, c)]
    rival = (truth + 1) % 3
    return {
        "simultaneous": tuple(k for k in range(3) if p[k] > c[k]),
        "pairwise": (min(truth, rival, key=order.index),),
        "top1": (order[0],),
        "sequential": tuple(order[: order.index(truth) + 1]),
    }[rule]


@pytest.mark.parametrize("rule", RULES)
@given(costs=costs_of_three, truth=classes)
def test_regions_cover_the_simplex_and_each_tests_what_the_rule_says(rule, costs, truth):
    covered = 0.0
    for tested, corners in Case(rule, np.array(costs), truth).regions():
        covered += sum(np.linalg.det([corners[0], a, b]) for a, b in pairwise(corners[1:]))
        assert tested == classes_that(rule, corners.mean(axis=0), np.array(costs), truth)
    assert abs(covered) == pytest.approx(1)


@pytest.mark.parametrize("rule", RULES)
@settings(max_examples=20)
@given(forecast=forecasts_of_three, costs=costs_of_three, truth=classes)
def test_a_class_is_filled_in_the_plane_if_and_only_if_it_is_tested(rule, forecast, costs, truth):
    drawn = plot_decision_plane(rule, forecast=forecast, costs=costs, truth=truth, ax=axes())
    marks = [line for line in drawn.lines if line.get_linestyle() == "None"]
    points = [(float(line.get_xdata()[0]), float(line.get_ydata()[0])) for line in marks]
    assert points == list(zip(forecast, costs, strict=True))
    filled = {k for k, line in enumerate(marks) if line.get_markerfacecolor() != "white"}
    merit = np.append(forecast / costs, 1.0)
    if np.diff(np.sort(merit)).min() > 1e-9:  # no ties
        assert filled == set(classes_that(rule, forecast, np.array(costs), truth))
    assert [line.get_marker() == "*" for line in marks] == [k == truth for k in range(3)]


def test_names_of_classes_and_errors():
    labels = ["nevus", "$5 to $10", "actinic keratoses and carcinoma"]
    drawn = plot_decision_simplex("top1", labels=labels, truth="$5 to $10", ax=axes())
    names = [text.get_text() for text in drawn.texts]
    assert names[-3:] == ["nevus", "$5 to $10", "actinic…cinoma"]
    assert not any(text.get_parse_math() for text in drawn.texts)
    wrong = [({"rule": "guess"}, "rule is 'guess'"), ({"forecast": [0.5, 0.5]}, "a triangle shows three")]
    wrong += [({"costs": [1, 2]}, "costs has shape"), ({"truth": 3}, "3")]
    for options, words in wrong:
        with pytest.raises(InputError, match=words):
            plot_decision_plane(**options, ax=axes())


def test_the_pair_loss_is_the_library_s_and_its_limits_are_the_paper_s():
    alphas = [0, 0.3, 1, inf]
    drawn = plot_pair_loss(alphas, ax=axes())
    for alpha, line in zip(alphas, drawn.lines, strict=False):
        odds, loss = line.get_data()
        if alpha in (0.3, 1):
            share = Beta(alpha).pair_loss(odds) * (1 + 1 / alpha) * (2 + 1 / alpha)
            np.testing.assert_allclose(loss, share)
        assert loss[odds == 1] == [1]
    behind, ahead = odds < 1, odds > 1
    np.testing.assert_allclose(drawn.lines[0].get_ydata()[behind], 1 - np.log(odds[behind]))
    np.testing.assert_allclose(drawn.lines[0].get_ydata()[ahead], 1 / odds[ahead])
    assert set(drawn.lines[3].get_ydata()[behind]) == {2}
    assert set(drawn.lines[3].get_ydata()[ahead]) == {0}
    words = [text.get_text() for text in drawn.get_legend().get_texts()]
    assert words[1:] == ["α = 0.3", "α = 1: Pandora’s Regret", "α → ∞: ranks alone"]
    assert [line.get_linestyle() == "-" for line in drawn.lines[:4]] == [False, False, True, False]


def test_the_gradient_profile_is_the_slope_of_the_pair_loss_in_the_distractor_s_logit():
    drawn = plot_gradient_profile([0, 0.3, 1, 3, inf], ax=axes())
    for alpha, line in zip([0, 0.3, 1, 3], drawn.lines, strict=False):
        gaps, slope = line.get_data()
        assert slope.max() == slope[gaps == 0][0] == pytest.approx(alpha + 1)
        expected = (alpha + 1) * np.exp(np.where(gaps <= 0, alpha, -(alpha + 1)) * gaps)
        np.testing.assert_allclose(slope, expected)
    assert list(drawn.lines[4].get_xdata()) == [0, 0]
    assert len(drawn.get_legend().get_texts()) == 5


def shade(score):
    return tuple(_shades().to_rgba([score])[0])


def colours_at(drawn, forecast):
    """The colours of what is drawn over a forecast, the last on top."""
    shapes = [(patch.get_path(), patch.get_facecolor()) for patch in drawn.patches]
    for filled in drawn.collections[:1]:
        shapes += zip(filled.get_paths(), map(tuple, filled.get_facecolors()), strict=True)
    return [colour for path, colour in shapes if path.contains_point(to_plane(np.array(forecast)))]


@pytest.mark.parametrize("forecast", [[0.55, 0.25, 0.2], [0.2, 0.65, 0.15], [0.12, 0.48, 0.4]])
def test_the_beta_simplex_is_shaded_by_the_score_or_by_what_wrong_tests_cost(forecast):
    for alpha in (0, 0.5, 1, 4, inf):
        drawn = plot_beta_simplex(alpha, colorbar=False, ax=axes())
        score = pandora_regret([0], [forecast], alpha=alpha)
        assert colours_at(drawn, forecast)[-1] == pytest.approx(shade(score)), alpha
    costs = [1.0, 3.0, 0.5]
    wasted = expected_search_cost([0], [forecast], max_costs=costs) - costs[0] / 2  # b_1 = 1 / 6, L_1 at most 3
    drawn = plot_beta_simplex(costs=costs, colorbar=False, ax=axes())
    assert colours_at(drawn, forecast)[-1] == pytest.approx(shade(6 * wasted / (3 * 3.5)))


@pytest.mark.parametrize("forecast", [[0.6, 0.25, 0.15], [0.46, 0.5, 0.04], [0.7, 0.05, 0.25]])
def test_surfaces_are_shaded_by_the_score_of_each_decision(forecast):
    first, second, _ = forecast
    scores = {
        "simultaneous": -np.log(first),
        "pairwise": (3 - 2 * first / second if first < second else (second / first) ** 2) / 3,
        "top1": float(first < max(forecast)),
        "sequential": pandora_regret([0], [forecast]),
    }
    for rule, score in scores.items():
        drawn = plot_decision_surface(rule, ax=axes())
        assert colours_at(drawn, forecast)[-1] == pytest.approx(shade(score)), rule
