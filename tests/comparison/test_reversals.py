"""A model that is cheaper on most cases, and behind on all of them because of one group."""

import numpy as np
import pytest
from asked import compare_with
from simulated_models import simulated

from pandora_regret.text import money

SITES = ("North", "South", "East")


@pytest.fixture(scope="module")
def compared():
    truth, models = simulated(2400, k=4, noise=(0.4, 0.7))
    sharp, blunt = models.values()
    site = np.array(SITES)[np.arange(2400) % 10 // 4]  # 40 % North, 40 % South, 20 % East
    mixed_up = np.where((site == "East")[:, None], np.roll(sharp, 1, axis=1), sharp)
    by = {"site": site}
    return compare_with(
        truth, {"sharp": mixed_up, "blunt": blunt}, by=by, costs=[9.0, 3.0, 6.0, 2.0], currency="EUR"
    )


def test_it_is_said_where_and_by_how_much(compared):
    assert compared.best.name == "blunt"
    [part] = compared.by
    [sentence] = part.flags
    cost = {group.name: {model.name: model.cost.value for model in group.models} for group in part.groups}
    rows = {group.name: group.rows for group in part.groups}
    most = [
        np.average([cost[site][name] for site in SITES[:2]], weights=[rows["North"], rows["South"]])
        for name in ("sharp", "blunt")
    ]
    assert "on 80 % of cases (North and South: " in sentence
    for amount in (*most, cost["East"]["sharp"], cost["East"]["blunt"]):
        assert money(amount, "EUR") in sentence


def test_no_group_is_said_to_be_the_only_one(compared):
    flags = [flag for group in compared.by[0].groups for flag in group.flags if "is the cheapest" in flag]
    assert len(flags) == 2
    assert not any("elsewhere" in flag for flag in flags)
