"""Tests that answer for several classes at once, after the paper's paragraph on the multiplexing abstraction."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pandora_regret import InputError, InputTypeError, search_cost, search_order

each_method = pytest.mark.parametrize("method", ["greedy", "exact"])


def mean_cost(order, p, costs, groups):
    """Of testing groups in this order, group by group: all who are still unfound pay."""
    unfound, total = dict(enumerate(p)), 0.0
    for g in order:
        total += costs[g] * sum(unfound.values())
        unfound = {i: mass for i, mass in unfound.items() if i not in groups[g]}
    return total


def forecast_cost(p, costs, groups, method="exact"):
    """The search's own mean: of an order of groups, or over every class as the truth."""
    if method == "greedy":
        return mean_cost(search_order(p, costs, groups=groups, method="greedy"), p, costs, groups)
    table, truth = np.tile(p, (len(p), 1)), np.arange(len(p))
    return p @ search_cost(truth, table, costs, groups=groups, per_instance=True)


def some_case(seed, n_classes=6, n_groups=5, overlap=True):
    rng = np.random.default_rng(seed)
    groups = [set() for _ in range(n_groups)]
    for i in range(n_classes):
        for g in rng.choice(n_groups, size=rng.integers(1, 4) if overlap else 1, replace=False):
            groups[g].add(i)
    groups = [sorted(group) for group in groups if group]
    return rng.dirichlet(np.ones(n_classes)), rng.lognormal(0, 1, len(groups)), groups


@pytest.mark.parametrize("seed", range(12))
def test_the_multiplexing_abstraction_the_exact_order_is_the_best_of_all(seed):
    p, costs, groups = some_case(seed)
    best = min(mean_cost(order, p, costs, groups) for order in permutations(range(len(groups))))
    assert forecast_cost(p, costs, groups, "exact") == pytest.approx(best, rel=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_the_multiplexing_abstraction_greed_is_optimal_for_a_partition(seed):
    p, costs, groups = some_case(seed, n_classes=8, overlap=False)
    best = min(mean_cost(order, p, costs, groups) for order in permutations(range(len(groups))))
    assert forecast_cost(p, costs, groups, "greedy") == pytest.approx(best, rel=1e-12)
    by_group = [p[group].sum() / cost for group, cost in zip(groups, costs, strict=True)]
    assert search_order(p, costs, groups=groups).tolist() == np.argsort(-np.array(by_group)).tolist()


def test_the_multiplexing_abstraction_greed_is_an_approximation_where_groups_overlap():
    """The broad group looks best at first, and then both others are needed all the same."""
    p, costs, groups = np.array([0.25, 0.25, 0.25, 0.25]), np.array([1.0, 1.0, 1.0]), [[0, 1], [0, 2], [1, 3]]
    assert search_order(p, costs, groups=groups, method="greedy").tolist() == [0, 1, 2]
    assert forecast_cost(p, costs, groups, "greedy") == pytest.approx(1.75)
    assert search_order(p, costs, groups=groups, method="exact").tolist() == [1, 2, 0]
    assert forecast_cost(p, costs, groups, "exact") == pytest.approx(1.5)


@pytest.mark.parametrize("seed", range(12))
def test_greed_costs_at_most_four_times_the_optimum_and_never_less(seed):
    p, costs, groups = some_case(seed, n_classes=9, n_groups=7)
    greedy, exact = (forecast_cost(p, costs, groups, method) for method in ("greedy", "exact"))
    assert exact * (1 - 1e-12) <= greedy <= 4 * exact


@each_method
@given(data=st.data())
def test_groups_of_one_are_the_plain_search(method, data):
    k = data.draw(st.integers(2, 5))
    weights = data.draw(st.lists(st.integers(0, 4), min_size=k, max_size=k).filter(any))
    costs = data.draw(st.lists(st.sampled_from([0.1, 0.3, 1.0, 2.0, 3.0]), min_size=k, max_size=k))
    p, single = np.array(weights) / sum(weights), [[i] for i in range(k)]
    if method == "exact":  # equally good orders may be told apart by rounding: only where there is one best
        merit = np.sort([p[i] / costs[i] for i in range(k) if p[i] > 0])
        assume((np.diff(merit) > 1e-9).all())
    order = search_order(p, costs, groups=single, method=method)
    assert order.tolist() == search_order(p, costs).tolist()
    for truth in range(k):
        cost = search_cost([truth], [p], costs, groups=single)
        assert cost == pytest.approx(search_cost([truth], [p], costs), rel=1e-14)


def test_a_group_is_paid_for_once_and_settles_all_its_classes():
    groups, costs = {"biopsy": ["a", "b", "c"], "blood": ["d"]}, {"blood": 2.0, "biopsy": 5.0}
    p = np.tile([0.3, 0.3, 0.3, 0.1], (4, 1))
    paid = search_cost(
        ["a", "b", "c", "d"],
        p,
        costs,
        groups=groups,
        labels=["a", "b", "c", "d"],
        per_instance=True,
    )
    assert paid.tolist() == [5.0, 5.0, 5.0, 7.0]


@each_method
def test_groups_without_open_classes_come_last_and_impossible_ones_cheapest_first(method):
    p, costs, groups = [0.6, 0.4, 0.0, 0.0], [8.0, 9.0, 0.1, 1.0], [[3], [2], [3], [0, 1]]
    assert search_order(p, costs, groups=groups, method=method).tolist() == [3, 2, 1, 0]


def test_logits_weights_and_blocks_change_nothing(monkeypatch):
    rng = np.random.default_rng(3)
    _, costs, groups = some_case(3)
    y, p, w = rng.integers(6, size=40), rng.dirichlet(np.ones(6), 40), rng.uniform(0, 2, 40)
    whole = search_cost(y, p, costs, groups=groups, per_instance=True)
    logits = search_cost(y, np.log(p) - 5, costs, groups=groups, logits=True, per_instance=True)
    assert logits == pytest.approx(whole, rel=1e-14)
    monkeypatch.setattr("pandora_regret.inputs.tables.BLOCK_ELEMENTS", 70)
    weighted = search_cost(y, p, costs, groups=groups, sample_weight=w)
    assert weighted == pytest.approx(np.average(whole, weights=w), rel=1e-13)


@pytest.mark.parametrize(
    ("costs", "groups", "options", "said"),
    [
        ([1.0], [[0, 1]], {}, "groups leave out class 2: put every class into at least one group"),
        ([1.0, 2.0], [[0, 1], [2, 3]], {}, r"groups\[1\] is \[2, 3\]: every entry must be one of \[0, 1, 2\]"),
        ([1.0, 0.0], [[0, 1], [2]], {}, "costs of group 1 is 0: it must be a positive number"),
        ([1.0], [[0, 1], [2]], {}, r"costs has shape \(1,\) but there are 2 groups"),
        ({"x": 1.0}, {"x": [0, 1], "y": [2]}, {}, r"the names of costs .* missing \['y'\]"),
        ([1.0], [[0, 1, 2]], {"method": "best"}, "method is 'best': pass one of 'exact'"),
        ([1.0], [[0, 1, 2]], {"method": "greedy"}, "method is 'greedy', which is not a proper score: use"),
    ],
)
def test_groups_that_cannot_be_are_refused_in_a_sentence(costs, groups, options, said):
    with pytest.raises(InputError, match=said):
        search_cost([0], [[0.5, 0.3, 0.2]], costs, groups=groups, **options)


@pytest.mark.parametrize("groups", ["ab", 3, [], ["ab"], [[]], [5]])
def test_groups_of_the_wrong_kind_are_refused_in_a_sentence(groups):
    with pytest.raises(InputTypeError, match="must list"):
        search_order([0.5, 0.5], [1.0], groups=groups, labels=["a", "b"])
