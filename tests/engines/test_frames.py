"""The closed forms inside real engines, against the library: zeros, ties, every alpha, groups, bad rows."""

import importlib.util

import narwhals as nw
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from prediction_frames import predictions

from pandora_regret import Beta, InputError, expected_search_cost, pandora_regret
from pandora_regret.integrations.frames import (
    duckdb_sql,
    expected_search_cost_expr,
    log_loss_expr,
    pandora_regret_expr,
    score_frame,
    with_scores,
)

ALPHAS = (0.0, 0.3, 1.0, 2.0, 7.5, np.inf)


def _polars():
    return pytest.importorskip("polars", reason="Polars is not installed")


def _dask(frame):
    if importlib.util.find_spec("dask") is None or importlib.util.find_spec("dask.dataframe") is None:
        pytest.skip("Dask's frames are not installed: make engines")
    return pytest.importorskip("dask.dataframe", exc_type=ImportError).from_pandas(frame, npartitions=3)


ENGINES = {
    "pandas": lambda frame: frame,
    "Polars": lambda frame: _polars().from_pandas(frame),
    "lazy Polars": lambda frame: _polars().from_pandas(frame).lazy(),
    "DuckDB": lambda frame: pytest.importorskip("duckdb", reason="DuckDB: make engines").from_df(frame),
    "Dask": _dask,
}


@pytest.fixture(params=[*ENGINES, "Spark"])
def engine(request):
    """From a pandas frame to one of the engine."""
    if request.param == "Spark":
        return request.getfixturevalue("spark").createDataFrame
    return ENGINES[request.param]


def collected(frame, by=("row",)):
    table = nw.from_native(frame).lazy().collect().to_pandas()
    return table.sort_values([*by]).reset_index(drop=True) if by else table


@pytest.mark.parametrize("alpha", ALPHAS)
def test_rows_agree_with_the_library(engine, alpha):
    frame, classes = predictions()
    prices = dict(zip(classes, [10.0, 20.0, 20.0, 5.0, 80.0], strict=True))
    metrics = ["pandora_regret", "log_loss"] + ["expected_search_cost"] * (alpha > 0)
    scored = collected(
        with_scores(engine(frame), classes, label="truth", alpha=alpha, costs=prices, metrics=metrics)
    )
    regrets = pandora_regret(frame["truth"], frame[classes], alpha=alpha, per_instance=True)
    assert_allclose(scored["pandora_regret"].astype(float), regrets, rtol=1e-12, atol=1e-14)
    own = frame[classes].to_numpy()[np.arange(len(frame)), [classes.index(name) for name in frame["truth"]]]
    with np.errstate(divide="ignore"):
        assert_allclose(scored["log_loss"].astype(float), -np.log(own), rtol=1e-12, atol=1e-15)
    assert (own == 0).any()
    if alpha > 0:
        costs = expected_search_cost(
            frame["truth"], frame[classes], prior=Beta(alpha), costs=prices, per_instance=True
        )
        assert_allclose(scored["expected_search_cost"].astype(float), costs, rtol=1e-12)


def test_impossible_classes_are_compared_by_their_costs(engine):
    frame = pd.DataFrame({"y": ["a", "b"], "a": [0.0, 0.0], "b": [0.0, 0.0], "c": [1.0, 1.0], "row": [0, 1]})
    scored = collected(with_scores(engine(frame), ["a", "b", "c"], label="y", costs=[3, 7, 2]))
    costs = expected_search_cost(frame["y"], frame[["a", "b", "c"]], costs=[3, 7, 2], per_instance=True)
    assert_allclose(scored["expected_search_cost"].astype(float), costs, rtol=1e-12)


def test_groups(engine):
    frame, classes = predictions()
    table = collected(
        score_frame(engine(frame), classes, label="truth", costs=[1, 2, 3, 4, 5], by=["site"]), ["site"]
    )
    for row in table.to_dict("records"):
        part = frame[frame["site"] == row["site"]]
        scores = expected_search_cost(part["truth"], part[classes], costs=[1, 2, 3, 4, 5], per_instance=True)
        assert row["count"] == len(part)
        assert row["not_scored"] == 0
        assert_allclose(row["expected_search_cost"], scores.mean(), rtol=1e-12)
        assert_allclose(row["expected_search_cost_se"], scores.std(ddof=1) / np.sqrt(len(part)), rtol=1e-10)
        assert row["log_loss"] == np.inf
        assert pd.isna(row["log_loss_se"])


def test_rows_that_cannot_be_scored_are_counted(engine):
    frame, classes = predictions(n_rows=40)
    frame.loc[0, "truth"] = "no class"
    frame.loc[1, classes[0]] += 0.01
    frame.loc[2, classes[:2]] = [-0.5, 1.5]
    frame.loc[3, "truth"] = None
    table = collected(score_frame(engine(frame), classes, label="truth", metrics=["pandora_regret"]), ())
    kept = frame.iloc[4:]
    assert (table["count"][0], table["not_scored"][0]) == (36, 4)
    assert_allclose(table["pandora_regret"][0], pandora_regret(kept["truth"], kept[classes]), rtol=1e-12)


def test_expressions_stand_alone():
    frame, classes = predictions()
    rows = nw.from_native(_polars().from_pandas(frame))
    scored = rows.select(
        regret=pandora_regret_expr(classes, label="truth"),
        cost=expected_search_cost_expr(classes, label="truth", costs=[1, 2, 3, 4, 5], alpha=2.0),
        log_loss=log_loss_expr(classes, label="truth"),
    )
    costs = expected_search_cost(
        frame["truth"], frame[classes], prior=Beta(2.0), costs=[1, 2, 3, 4, 5], per_instance=True
    )
    assert_allclose(
        scored["regret"], pandora_regret(frame["truth"], frame[classes], per_instance=True), rtol=1e-12
    )
    assert_allclose(scored["cost"], costs, rtol=1e-12)
    assert np.isinf(scored["log_loss"].to_numpy()).any()


def test_sql_runs_and_agrees():
    duckdb = pytest.importorskip("duckdb", reason="DuckDB: make engines")
    frame, classes = predictions()
    query = duckdb_sql("forecasts", classes, label="truth", by="site", costs=[1, 2, 3, 4, 5])
    with duckdb.connect() as connection:
        connection.register("forecasts", frame)
        table = connection.sql(query).df().sort_values("site").reset_index(drop=True)
    direct = collected(score_frame(frame, classes, label="truth", by=["site"], costs=[1, 2, 3, 4, 5]), ["site"])
    pd.testing.assert_frame_equal(table[direct.columns], direct, check_dtype=False, rtol=1e-12)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"label": "lable"}, "lable"),
        ({"metrics": ["brier"]}, "brier"),
        ({"classes": ["a"]}, "two or more"),
        ({"classes": "ab"}, "two or more"),
        ({"alpha": 0.0}, "mean cost 0"),
        ({"costs": [1.0]}, "costs"),
    ],
)
def test_mistakes_are_named(change, sentence):
    frame = pd.DataFrame({"y": ["a"], "a": [0.5], "b": [0.5]})
    options = {"classes": ["a", "b"], "label": "y"} | change
    with pytest.raises(InputError, match=sentence):
        score_frame(frame, options.pop("classes"), **options)
