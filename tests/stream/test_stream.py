"""A streamed comparison of one model: whatever the batches, fragments and processes, that of the whole table."""

from dataclasses import replace

import numpy as np
import pytest
from asked import compare_with
from refusals import refused

import pandora_regret as pr
from pandora_regret import Comparison, ComparisonOptions, compare
from pandora_regret.comparison.charge import Pricing
from pandora_regret.comparison.request import read_interval
from pandora_regret.core.inputs import InputError
from pandora_regret.core.kernels import engine
from pandora_regret.files import FileError, Layout, NoRowsError, open_predictions, read_all
from pandora_regret.metrics import METRICS, Metric
from pandora_regret.stream import StreamSums, clusters, score_stream, settings, sums

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

CLASSES = ("a", "b", "c", "d")
SAME = {"rel": 1e-12, "abs": 1e-14}
CLOSE = {"rel": 1e-9, "abs": 1e-12}
PRICES = [7.0, 1.0, 3.0, 5.0]


def forecasts(n, seed=0, dtype=np.float64, spread=1.0):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 4, n), rng.dirichlet(np.full(4, spread), n).astype(dtype)


def predictions_of(tmp_path, truth, values, *, row_group_size=13, logits=False, **columns):
    table = {"y_true": np.array(CLASSES)[truth], **dict(zip(CLASSES, values.T, strict=True)), **columns}
    pq.write_table(pa.table(table), tmp_path / "model.parquet", row_group_size=row_group_size)
    layout = Layout(classes=CLASSES, logits=logits, group="group" if "group" in columns else None)
    prefix = "cost_" if any(name.startswith("cost_") for name in columns) else None
    [predictions] = open_predictions(tmp_path / "model.parquet", replace(layout, cost_prefix=prefix))
    return predictions


def limits(result, metric):
    score = result.best.scores[metric]
    return score.value, score.low, score.high


def check(streamed, truth, values, **options):
    """All that a stream can know is what a comparison in memory says."""
    names = {"y_true": np.array(CLASSES)[truth], "labels": CLASSES}
    wanted = compare_with(models={"model": values}, recalibrate=None, **names, **options)
    assert streamed.data.rows == wanted.data.rows
    assert streamed.data.class_weights == pytest.approx(wanted.data.class_weights, **SAME)
    assert streamed.best.unavoidable == pytest.approx(wanted.best.unavoidable, **SAME)
    assert streamed.costs == replace(wanted.costs, source=streamed.costs.source)
    assert set(wanted.best.scores) == set(streamed.best.scores)
    for metric, estimate in streamed.best.scores.items():
        if estimate.value is None:
            assert wanted.best.scores[metric].value is None
        else:
            assert limits(streamed, metric) == pytest.approx(limits(wanted, metric), **CLOSE), metric
            assert estimate.warning == wanted.best.scores[metric].warning
    assert Comparison.from_dict(streamed.to_dict()) == streamed
    return wanted


@pytest.fixture(params=["step by step", "compiled"])
def way(request, monkeypatch):
    """Both ways to score a batch, whatever its size."""
    compiled = request.param == "compiled"
    if compiled:
        pytest.importorskip("numba")
    monkeypatch.setattr(settings, "worth_compiling", lambda n, alpha: compiled and n > 0)
    return request.param


PRIORS = [
    None,
    pr.Beta(0.4),
    pr.Fixed(),
    pr.Gamma(2.0),
    pr.Empirical(np.random.default_rng(0).uniform(1, 2, (5, 4))),
]


@pytest.mark.slow
@pytest.mark.parametrize("prior", PRIORS, ids=str)
@pytest.mark.parametrize("typical", [None, PRICES])
def test_a_stream_is_a_comparison_of_one_model(tmp_path, way, prior, typical):
    truth, values = forecasts(60)
    predictions = predictions_of(tmp_path, truth, values)
    for rows in (1, 7, 1000):
        streamed = score_stream(predictions, prior=prior, costs=typical, rows=rows, currency="USD")
        check(streamed, truth, values, prior=prior, costs=typical, currency="USD")


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_lower_precision_and_logits(tmp_path, way, dtype):
    truth, values = forecasts(300, dtype=dtype)
    check(score_stream(predictions_of(tmp_path, truth, values), rows=70), truth, values)
    logits = np.log(np.maximum(values, 1e-3)) + dtype(3)
    streamed = score_stream(predictions_of(tmp_path, truth, logits, logits=True), costs=PRICES)
    check(streamed, truth, logits, costs=PRICES, logits=True)


def test_costs_of_each_row(tmp_path, way):
    truth, values = forecasts(60)
    typical = np.random.default_rng(1).uniform(1, 5, (60, 4))
    columns = {f"cost_{name}": typical[:, k] for k, name in enumerate(CLASSES)}
    predictions = predictions_of(tmp_path, truth, values, **columns)
    check(score_stream(predictions, rows=11), truth, values, costs=typical)
    with refused(argument="costs", place=str(predictions.path)):
        score_stream(predictions, costs=PRICES)


def test_ties_and_impossible_classes(tmp_path, way):
    values = np.array([[0.5, 0.5, 0, 0], [0.25, 0.25, 0.25, 0.25], [0, 0, 1, 0], [0, 0.5, 0.5, 0]])
    truth = np.array([1, 2, 2, 2])
    check(score_stream(predictions_of(tmp_path, truth, values)), truth, values)
    impossible = np.array([1, 2, 0, 3])
    predictions = predictions_of(tmp_path, impossible, values)
    check(score_stream(predictions, costs=PRICES), impossible, values, costs=PRICES)
    scores = score_stream(predictions, bootstrap=50).best.scores
    assert scores["log_loss"].warning.startswith("infinite")
    assert scores["log_loss"].value is None
    assert scores["brier"].low is not None


def surprise(truth, proba):
    return 1 - proba[np.arange(len(truth)), truth]


def test_a_metric_that_the_compiled_loop_does_not_know_is_scored_beside_those_it_knows(tmp_path, way, monkeypatch):
    surprising = Metric("surprise", "Surprise", "lower", rows=surprise, shown_in=("comparison",))
    monkeypatch.setitem(METRICS, "surprise", surprising)
    truth, values = forecasts(60)
    predictions = predictions_of(tmp_path, truth, values)
    check(score_stream(predictions, rows=13), truth, values)
    value, low, high = limits(score_stream(predictions, bootstrap=50, rows=13), "surprise")
    assert low < value < high


def test_a_score_that_is_nan_is_an_error_that_names_the_row(tmp_path, way, monkeypatch):
    def undefined(truth, proba):
        return np.where(proba[:, 0] < 0.01, np.nan, 1.0)

    broken = Metric("broken", "Broken", "lower", rows=undefined, shown_in=("comparison",))
    monkeypatch.setitem(METRICS, "broken", broken)
    truth, values = forecasts(30)
    values[:, 0] = 0.25
    values[:, 1:] *= 0.75 / values[:, 1:].sum(axis=1, keepdims=True)
    values[17] = [0.0, 0.5, 0.25, 0.25]
    with refused(argument="y_proba", place=f"{tmp_path / 'model.parquet'} row 18", says="'broken' NaN"):
        score_stream(predictions_of(tmp_path, truth, values), rows=7)


def test_large_batches_take_the_compiled_way_and_hand_back_doubtful_rows(tmp_path, monkeypatch):
    pytest.importorskip("numba")
    monkeypatch.setattr(engine, "WORTH_COMPILING", n := 20_000)
    truth, values = forecasts(n, dtype=np.float32, spread=0.02)  # many probabilities underflow to 0
    values[::1000], truth[::1000] = [1e-30, 1, 0, 0], 0
    predictions = predictions_of(tmp_path, truth, values, row_group_size=5_000)
    how = settings.read_settings(predictions, Pricing(), read_interval(0.95, 0, 3), False)
    assert how.is_compiled(n)
    assert StreamSums(how, True)._score(next(predictions.batches()), False)[1] is None
    check(score_stream(predictions), truth, values)


def test_several_processes_give_the_same_answer(tmp_path):
    truth, values = forecasts(60)
    weights = np.random.default_rng(1).uniform(0.5, 2, 60)
    predictions, counted = predictions_of(tmp_path, truth, values, weight=weights), []
    alone = score_stream(predictions, bootstrap=40, pairs=True)
    together = score_stream(predictions, bootstrap=40, pairs=True, jobs=2, progress=counted.append)
    assert sum(counted) == 60
    for metric in alone.best.scores:
        assert limits(together, metric) == pytest.approx(limits(alone, metric), **SAME)
    np.testing.assert_allclose(together.best.pair_costs, alone.best.pair_costs, rtol=1e-12)


def test_parts_and_formats_draw_the_same_bootstrap(tmp_path):
    truth, values = forecasts(40)
    one = predictions_of(tmp_path, truth, values, id=np.arange(100, 140))
    batch = read_all(one)
    lines = ["id,y_true,a,b,c,d"]
    rows = zip(batch.ids.tolist(), batch.truth, batch.values.tolist(), strict=True)
    lines += [",".join([str(name), CLASSES[i], *map(repr, row)]) for name, i, row in rows]
    (tmp_path / "one.csv").write_text("\n".join([lines[0], *lines[30:]]))
    (tmp_path / "two.csv").write_text("\n".join(lines[:30]))
    [parts] = open_predictions([tmp_path / "one.csv", tmp_path / "two.csv"], Layout(classes=CLASSES))
    first, second = (
        score_stream(each, bootstrap=50, seed=1, rows=rows) for each, rows in ((one, 1000), (parts, 7))
    )
    for metric in first.best.scores:
        assert limits(first, metric) == pytest.approx(limits(second, metric), **SAME)
    other = score_stream(one, bootstrap=50, seed=2)
    assert any(limits(other, metric) != pytest.approx(limits(first, metric)) for metric in other.best.scores)


@pytest.mark.parametrize("bootstrap", [0, 200])
@pytest.mark.parametrize("weighted", [False, True])
def test_clusters_are_those_of_a_comparison(tmp_path, way, bootstrap, weighted):
    truth, values = forecasts(60)
    weights = np.random.default_rng(1).choice([0.0, 0.5, 2.0], 60) if weighted else None
    groups = np.array([f"patient {number}" for number in np.random.default_rng(5).integers(0, 9, 60)])
    columns = {"group": groups} | ({} if weights is None else {"weight": weights})
    predictions = predictions_of(tmp_path, truth, values, **columns)
    for rows in (7, 1000):
        streamed = score_stream(predictions, costs=PRICES, bootstrap=bootstrap, rows=rows)
        options = {"groups": groups, "sample_weight": weights, "bootstrap": bootstrap}
        wanted = check(streamed, truth, values, costs=PRICES, **options)
        assert streamed.data.clusters == wanted.data.clusters == 9
        assert streamed.notes == wanted.notes


def test_clusters_of_a_split_file_merge(tmp_path):
    truth, values = forecasts(60)
    groups = np.random.default_rng(5).integers(0, 9, 60)
    predictions = predictions_of(tmp_path, truth, values, group=groups)
    check(score_stream(predictions, jobs=2), truth, values, groups=groups)


def test_cases_that_were_voted_on_belong_to_clusters(tmp_path):
    rng = np.random.default_rng(3)
    _, values = forecasts(40)
    votes = rng.integers(0, 3, (40, 4)) + np.eye(4, dtype=int)[rng.integers(0, 4, 40)]
    groups = np.arange(40) // 4
    columns = dict(zip(CLASSES, values.T, strict=True))
    columns |= {f"votes_{name}": votes[:, k] for k, name in enumerate(CLASSES)}
    pq.write_table(pa.table(columns | {"group": groups}), tmp_path / "model.parquet")
    layout = Layout(classes=CLASSES, votes_prefix="votes_", group="group")
    [predictions] = open_predictions(tmp_path / "model.parquet", layout)
    wanted = compare(
        votes, {"model": values}, labels=CLASSES, groups=groups, options=ComparisonOptions(recalibrate=None)
    )
    streamed = score_stream(predictions, rows=9)
    for metric in wanted.best.scores:
        assert limits(streamed, metric) == pytest.approx(limits(wanted, metric), **CLOSE), metric


def test_many_clusters_are_put_together_and_still_counted(tmp_path, monkeypatch):
    n = 6000
    truth, values = forecasts(n)
    groups = np.random.default_rng(5).integers(0, 4000, n)
    predictions = predictions_of(tmp_path, truth, values, row_group_size=1500, group=groups)
    exact = score_stream(predictions)
    monkeypatch.setattr(clusters, "MOST_NUMBERS", 1 << 15)
    pooled = score_stream(predictions, rows=700)
    apart = score_stream(predictions, jobs=2)
    assert pooled.data.clusters == apart.data.clusters == exact.data.clusters == len(set(groups.tolist()))
    for metric in exact.best.scores:
        value, low, high = limits(exact, metric)
        assert limits(pooled, metric)[0] == pytest.approx(value, **SAME)
        assert limits(pooled, metric)[2] - limits(pooled, metric)[1] == pytest.approx(high - low, rel=0.1)


def test_a_bootstrap_is_that_of_a_comparison(tmp_path, way):
    truth, values = forecasts(60)
    check(
        score_stream(predictions_of(tmp_path, truth, values), bootstrap=100, rows=7), truth, values, bootstrap=100
    )


def test_a_single_row_has_no_interval(tmp_path):
    predictions = predictions_of(tmp_path, *forecasts(1))
    for bootstrap in (0, 40):
        assert limits(score_stream(predictions, bootstrap=bootstrap), "pandora_regret")[1] is None


@pytest.mark.parametrize(
    ("row", "kind", "place", "value"),
    [
        ([0.5, np.nan, 0.3, 0.2], FileError, "row 21, column 'b'", None),
        ([50, 20, 20, 10], InputError, "row 21", 100),
        ([0.5, 0.6, -0.1, 0.0], InputError, "row 21", -0.1),
    ],
)
def test_errors_name_the_file_and_the_row(tmp_path, way, row, kind, place, value):
    truth, values = forecasts(30)
    values[20] = row
    with refused(kind, place=f"{tmp_path / 'model.parquet'} {place}", value=value):
        score_stream(predictions_of(tmp_path, truth, values), rows=7)


def test_nothing_to_score_is_an_error(tmp_path):
    truth, values = forecasts(3)
    with refused(NoRowsError, place=str(tmp_path / "model.parquet")):
        score_stream(predictions_of(tmp_path, truth[:0], values[:0]))
    with refused(argument="sample_weight", value=0.0, contexts=(str(tmp_path / "model.parquet"),)):
        score_stream(predictions_of(tmp_path, truth, values, weight=np.zeros(3)))
    with refused(argument="costs", value=(2,)):
        score_stream(predictions_of(tmp_path, truth, values), costs=[1.0, 2.0])


def test_a_handful_of_rows_that_carries_a_cost_is_warned_of_as_long_as_rows_are_few(tmp_path, monkeypatch):
    truth, values = np.zeros(400, dtype=int), np.tile([0.9, 0.0498, 0.0501, 0.0001], (400, 1))
    truth[:4] = 3
    predictions, prices = predictions_of(tmp_path, truth, values), [1.0, 1.0, 1.0, 500.0]
    check(score_stream(predictions, costs=prices, jobs=2), truth, values, costs=prices)
    warned = score_stream(predictions, costs=prices).best.scores["expected_cost"].warning
    assert warned.startswith("4 of 400 cases make")
    monkeypatch.setattr(sums, "MANY_UNITS", 100)
    assert score_stream(predictions, costs=prices, rows=60).best.scores["expected_cost"].warning is None
