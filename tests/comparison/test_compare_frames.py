"""Frames that share a column of ids: joined, they say what arrays in one order say."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from simulated_models import simulated

from pandora_regret import ComparisonOptions, compare
from pandora_regret.comparison import compare_frames
from pandora_regret.core.inputs import InputTypeError

ROWS = 120
CLASSES = ["cold", "flu", "none"]
PRICES = [90.0, 60.0, 30.0]


@pytest.fixture(scope="module")
def cases():
    rng = np.random.default_rng(4)
    truth, models = simulated(ROWS)
    frame = pd.DataFrame(
        {
            "case": rng.permutation(ROWS) + 1000,
            "diagnosis": np.array(CLASSES)[truth],
            "times": rng.uniform(0.5, 2.0, ROWS),
            "patient": rng.integers(0, 60, ROWS),
            "site": rng.choice(["North", "South"], ROWS),
        }
    )
    return frame, models


@pytest.mark.parametrize("make", [lambda frame: frame, pl.from_pandas], ids=["pandas", "polars"])
def test_joined_frames_say_what_arrays_in_one_order_say(cases, make):
    frame, models = cases
    rng = np.random.default_rng(5)
    frames = {}
    for name, table in models.items():
        forecasts = pd.DataFrame(table, columns=CLASSES).assign(case=frame["case"])
        frames[name] = make(forecasts.iloc[rng.permutation(ROWS)].reset_index(drop=True))
    joined = compare_frames(
        make(frame),
        frames,
        id="case",
        label="diagnosis",
        sample_weight="times",
        groups="patient",
        by="site",
        labels=CLASSES,
        costs=PRICES,
        currency="USD",
        options=ComparisonOptions(smallest_group=20, level=0.9, seed=3),
    )
    arrays = compare(
        frame["diagnosis"],
        models,
        labels=CLASSES,
        sample_weight=frame["times"],
        groups=frame["patient"],
        ids=frame["case"],
        by={"site": frame["site"]},
        costs=PRICES,
        currency="USD",
        options=ComparisonOptions(smallest_group=20, level=0.9, seed=3),
    )
    for result in (joined, arrays):
        assert (result.interval.level, result.interval.seed) == (0.9, 3)
        assert {group.name for group in result.by[0].groups} == {"North", "South"}
    assert joined.data == arrays.data
    assert [model.name for model in joined.models] == [model.name for model in arrays.models]
    for model, same in zip(joined.models, arrays.models, strict=True):
        cost = model.scores["expected_cost"]
        expected = same.scores["expected_cost"]
        assert (cost.value, cost.low, cost.high) == pytest.approx((expected.value, expected.low, expected.high))
    for group, same in zip(joined.by[0].groups, arrays.by[0].groups, strict=True):
        assert (group.name, group.rows, group.leader) == (same.name, same.rows, same.leader)
        assert [model.cost.value for model in group.models] == pytest.approx(
            [model.cost.value for model in same.models]
        )


def test_what_is_no_frame_cannot_be_joined(cases):
    frame, models = cases
    with pytest.raises(InputTypeError) as error:
        compare_frames(frame, models, id="case")
    assert error.value.argument == "id"
