"""Streamed scores: whatever the batches, fragments and processes, those of the whole table."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pandora_regret as pr
from pandora_regret.files import Layout, open_predictions, read_all
from pandora_regret.inputs import InputError
from pandora_regret.kernels import engine
from pandora_regret.metrics import METRICS, Metric, comparison_metrics
from pandora_regret.stream import Settings, StreamScore, batches, score_stream

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

CLASSES = ("a", "b", "c", "d")
SAME = {"rel": 1e-12, "abs": 1e-14}
KEYS = [metric.key for metric in comparison_metrics()]


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


def expected(truth, values, prior=None, typical=None, weights=None, logits=False):
    """The same by the public functions, on the whole table."""
    how = {"sample_weight": weights, "logits": logits}
    prior = prior or pr.Uniform()
    mean_costs = np.broadcast_to(prior.mean, 4) if typical is None else np.asarray(typical)
    p = np.exp(values - values.max(axis=1, keepdims=True)) if logits else values.astype(np.float64)
    p = p / p.sum(axis=1, keepdims=True) if logits else p
    weight_of = np.ones(len(truth)) if weights is None else weights
    own = np.take_along_axis(p, truth[:, None], axis=1)[:, 0]
    order = pr.search_order(values, mean_costs, logits=logits)
    predicted, counted = values.argmax(axis=1), weight_of > 0
    f1 = [
        2
        * weight_of[(truth == k) & (predicted == k)].sum()
        / max(weight_of[truth == k].sum() + weight_of[predicted == k].sum(), 1e-300)
        for k in range(4)
    ]
    return {
        "pandora_regret": pr.pandora_regret(truth, values, **how),
        "excess_burden": pr.excess_search_burden(truth, values, **how),
        "expected_cost": pr.expected_search_cost(truth, values, prior=prior, typical_costs=typical, **how),
        "realised_cost": pr.search_cost(truth, values, mean_costs, **how),
        "tests": np.average((order == truth[:, None]).argmax(axis=1) + 1.0, weights=weight_of),
        "log_loss": np.average(-np.log(own), weights=weight_of),
        "brier": np.average(((p - np.eye(4)[truth]) ** 2).sum(axis=1), weights=weight_of),
        "accuracy": np.average(predicted == truth, weights=weight_of),
        "macro_f1": np.mean(np.array(f1)[np.union1d(truth[counted], predicted[counted])]),
    }


def check(score, wanted):
    for metric in KEYS:
        assert score.value(metric) == pytest.approx(wanted[metric], **SAME), metric


@pytest.fixture(params=["step by step", "compiled"])
def way(request, monkeypatch):
    """Both ways to score a batch, whatever its size."""
    compiled = request.param == "compiled"
    if compiled:
        pytest.importorskip("numba")
    monkeypatch.setattr(batches, "worth_compiling", lambda n, alpha=1.0: compiled and n > 0)
    return request.param


PRICES = [7.0, 1.0, 3.0, 5.0]
PRIORS = [
    None,
    pr.Beta(0.4),
    pr.Fixed(),
    pr.Gamma(2.0),
    pr.Empirical(np.random.default_rng(0).uniform(1, 2, (5, 4))),
]


@pytest.mark.parametrize("prior", PRIORS, ids=str)
@pytest.mark.parametrize("typical", [None, PRICES])
def test_a_stream_scores_as_the_public_functions_do(tmp_path, way, prior, typical):
    truth, values = forecasts(60)
    predictions = predictions_of(tmp_path, truth, values)
    for rows in (1, 7, 1000):
        score = score_stream(predictions, prior=prior, typical_costs=typical, rows=rows)
        check(score, expected(truth, values, prior, typical))
        assert score.rows == score.weight == 60


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_lower_precision(tmp_path, way, dtype):
    truth, values = forecasts(300, dtype=dtype)
    check(score_stream(predictions_of(tmp_path, truth, values), rows=70), expected(truth, values))


def test_logits(tmp_path, way):
    truth, values = forecasts(60)
    score = score_stream(predictions_of(tmp_path, truth, np.log(values) + 3, logits=True), typical_costs=PRICES)
    check(score, expected(truth, np.log(values) + 3, typical=PRICES, logits=True))


def test_weights(tmp_path, way):
    truth, values = forecasts(60)
    weights = np.random.default_rng(1).integers(0, 4, 60) / 2
    predictions = predictions_of(tmp_path, truth, values, weight=weights)
    score = score_stream(predictions, typical_costs=PRICES, rows=7)
    check(score, expected(truth, values, typical=PRICES, weights=weights))
    assert score.weight == weights.sum()
    np.testing.assert_allclose(score.class_weights, np.bincount(truth, weights), rtol=1e-12)


def test_costs_of_each_row(tmp_path, way):
    truth, values = forecasts(60)
    typical = np.random.default_rng(1).uniform(1, 5, (60, 4))
    columns = {f"cost_{name}": typical[:, k] for k, name in enumerate(CLASSES)}
    predictions = predictions_of(tmp_path, truth, values, **columns)
    check(score_stream(predictions, rows=11), expected(truth, values, typical=typical))
    with pytest.raises(InputError, match="not both"):
        score_stream(predictions, typical_costs=PRICES)


def test_ties_and_impossible_classes(tmp_path, way):
    values = np.array([[0.5, 0.5, 0, 0], [0.25, 0.25, 0.25, 0.25], [0, 0, 1, 0], [0, 0.5, 0.5, 0]])
    truth = np.array([1, 2, 2, 2])
    check(score_stream(predictions_of(tmp_path, truth, values)), expected(truth, values))
    impossible = np.array([1, 2, 0, 3])
    with np.errstate(divide="ignore"):
        wanted = expected(impossible, values, typical=PRICES)
    score = score_stream(predictions_of(tmp_path, impossible, values), typical_costs=PRICES, bootstrap=5)
    assert score.value("log_loss") == np.inf
    assert score.interval("log_loss") is None
    assert score.interval("brier") is not None
    check(score, wanted)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15)
@given(st.integers(0, 10**6), st.integers(2, 40), st.integers(1, 41), st.sampled_from([0.05, 1.0, 20.0]))
def test_compiled_and_step_by_step_agree(tmp_path, seed, n, rows, spread):
    pytest.importorskip("numba")
    truth, values = forecasts(n, seed, spread=spread)
    weights = np.random.default_rng(seed).integers(0, 3, n).astype(float) + (seed % 2)
    if not weights.any():
        weights[0] = 1.0
    predictions = predictions_of(tmp_path, truth, values, weight=weights)
    slow = score_stream(predictions, typical_costs=PRICES, rows=rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batches, "worth_compiling", lambda n, alpha=1.0: True)
        fast = score_stream(predictions, typical_costs=PRICES, rows=rows)
    for metric in KEYS:
        assert fast.value(metric) == pytest.approx(slow.value(metric), **SAME)
        assert fast.standard_error(metric) == pytest.approx(
            slow.standard_error(metric), rel=1e-9, abs=1e-12, nan_ok=True
        )
    assert fast.means.count == slow.means.count == np.count_nonzero(weights)


def surprise(truth, proba):
    return 1 - proba[np.arange(len(truth)), truth]


def test_a_metric_that_the_compiled_loop_does_not_know_is_scored_beside_those_it_knows(tmp_path, way, monkeypatch):
    surprising = Metric("surprise", "Surprise", "lower", rows=surprise, shown_in=("comparison",))
    monkeypatch.setitem(METRICS, "surprise", surprising)
    truth, values = forecasts(60)
    weights = np.random.default_rng(1).uniform(0.5, 2, 60)
    score = score_stream(predictions_of(tmp_path, truth, values, weight=weights), bootstrap=20, rows=13)
    check(score, expected(truth, values, weights=weights))
    assert score.value("surprise") == pytest.approx(np.average(surprise(truth, values), weights=weights), **SAME)
    low, high = score.interval("surprise")
    assert low < score.value("surprise") < high
    assert list(score.scores()) == [*KEYS, "surprise"]


def test_a_score_that_is_nan_is_an_error_that_names_the_row(tmp_path, way, monkeypatch):
    def undefined(truth, proba):
        return np.where(proba[:, 0] < 0.01, np.nan, 1.0)

    broken = Metric("broken", "Broken", "lower", rows=undefined, shown_in=("comparison",))
    monkeypatch.setitem(METRICS, "broken", broken)
    truth, values = forecasts(30)
    values[:, 0] = 0.25
    values[:, 1:] *= 0.75 / values[:, 1:].sum(axis=1, keepdims=True)
    values[17] = [0.0, 0.5, 0.25, 0.25]
    with pytest.raises(InputError, match=r"model\.parquet row 18 makes metric 'broken' NaN"):
        score_stream(predictions_of(tmp_path, truth, values), rows=7)


def test_large_batches_take_the_compiled_way_and_hand_back_doubtful_rows(tmp_path):
    pytest.importorskip("numba")
    n = engine.WORTH_COMPILING // 4 + 1000
    truth, values = forecasts(n, dtype=np.float32, spread=0.02)  # many probabilities underflow to 0
    values[::1000], truth[::1000] = [1e-30, 1, 0, 0], 0
    predictions = predictions_of(tmp_path, truth, values, row_group_size=50_000)
    assert batches.score_batch(next(predictions.batches()), Settings(pr.Uniform())).compiled
    with np.errstate(divide="ignore"):
        check(score_stream(predictions), expected(truth, values))


def test_merged_fragments_are_the_whole(tmp_path, way):
    truth, values = forecasts(60)
    weights = np.random.default_rng(1).uniform(0.5, 2, 60)
    predictions = predictions_of(tmp_path, truth, values, weight=weights)
    how = {"typical_costs": PRICES, "bootstrap": 20, "seed": 3, "pairs": True}
    whole = score_stream(predictions, **how)
    pieces = predictions.fragments(3)
    assert len(pieces) == 3
    parts = [pickle.loads(pickle.dumps(score_stream(pickle.loads(pickle.dumps(one)), **how))) for one in pieces]
    merged = StreamScore(whole.name, whole.classes, whole.settings)
    for at in (2, 0, 1):
        merged.merge(parts[at])
    assert merged.rows == 60
    for metric in KEYS:
        assert merged.value(metric) == pytest.approx(whole.value(metric), **SAME)
        assert merged.standard_error(metric) == pytest.approx(whole.standard_error(metric), rel=1e-12)
        assert merged.interval(metric) == pytest.approx(whole.interval(metric), **SAME)
    np.testing.assert_allclose(merged.pair_costs, whole.pair_costs, rtol=1e-12)


def test_several_processes_give_the_same_answer(tmp_path):
    pytest.importorskip("joblib")
    truth, values = forecasts(60)
    predictions, counted = predictions_of(tmp_path, truth, values), []
    alone = score_stream(predictions, bootstrap=10)
    together = score_stream(predictions, bootstrap=10, jobs=2, progress=counted.append)
    assert sum(counted) == 60
    for metric in KEYS:
        assert together.interval(metric) == pytest.approx(alone.interval(metric), **SAME)


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
    for metric in KEYS:
        assert first.interval(metric) == pytest.approx(second.interval(metric), **SAME)
    other = score_stream(one, bootstrap=50, seed=2)
    assert other.interval("brier") != pytest.approx(first.interval("brier"))


def test_rows_of_a_group_are_drawn_together(tmp_path):
    truth, values = forecasts(30)
    groups = np.repeat(["x", "y", "z"], 10)
    predictions = predictions_of(tmp_path, truth, values, group=groups)
    score = score_stream(predictions, bootstrap=200)
    losses = pr.pandora_regret(truth, values, per_instance=True)
    from pandora_regret.inference.intervals import suitable_interval
    from pandora_regret.inference.keyed import keys_of
    from pandora_regret.inference.resampling import poisson_weights

    drawn = poisson_weights(keys_of(groups), 200).astype(float)
    drawn = drawn[drawn.sum(axis=1) > 0]
    means = drawn @ losses / drawn.sum(axis=1)
    wanted = suitable_interval(losses.mean(), means.std(ddof=1), 30, 0.95, replicates=means)
    assert score.interval("pandora_regret") == pytest.approx(wanted, **SAME)
    with pytest.raises(InputError, match="bootstrap=1000"):
        score_stream(predictions)


def test_standard_errors_and_pair_costs_are_those_of_the_tally(tmp_path, way):
    truth, values = forecasts(80)
    predictions = predictions_of(tmp_path, truth, values)
    score = score_stream(predictions, typical_costs=PRICES, pairs=True, rows=9)
    tally = pr.search_tally(truth, values, typical_costs=PRICES)
    assert score.standard_error("expected_cost") == pytest.approx(tally.standard_error, rel=1e-12)
    assert score.standard_error("realised_cost") == pytest.approx(tally.realised.standard_error, rel=1e-12)
    np.testing.assert_allclose(score.pair_costs, tally.pair_costs, rtol=1e-12)
    assert score_stream(predictions).pair_costs is None
    low, high = score.interval("expected_cost", 0.9)
    assert low < score.value("expected_cost") < high
    wider = score.interval("expected_cost", 0.99)
    assert wider[0] < low
    assert high < wider[1]


def test_analytic_intervals_agree_with_the_bootstrap(tmp_path):
    truth, values = forecasts(3000)
    predictions = predictions_of(tmp_path, truth, values, weight=np.random.default_rng(2).uniform(0.5, 2, 3000))
    analytic, drawn = score_stream(predictions), score_stream(predictions, bootstrap=500)
    for metric in KEYS:
        widths = [np.ptp(score.interval(metric)) for score in (analytic, drawn)]
        assert widths[0] == pytest.approx(widths[1], rel=0.2), metric
    assert set(analytic.scores()) == set(KEYS)
    assert analytic.scores()["tests"]["value"] == analytic.value("tests")


def test_a_single_row_has_no_interval(tmp_path):
    truth, values = forecasts(1)
    predictions = predictions_of(tmp_path, truth, values)
    for bootstrap in (0, 9):
        score = score_stream(predictions, bootstrap=bootstrap)
        assert score.scores()["pandora_regret"]["low"] is None


def test_too_many_classes_are_counted_without_a_square_table(tmp_path, monkeypatch):
    for module in ("score", "rows"):
        monkeypatch.setattr(f"pandora_regret.stream.{module}.MOST_CLASSES", 3)
    truth, values = forecasts(60)
    weights = np.random.default_rng(1).uniform(0.5, 2, 60)
    predictions = predictions_of(tmp_path, truth, values, weight=weights)
    score = score_stream(predictions, bootstrap=4)
    check(score, expected(truth, values, weights=weights))
    assert score.interval("macro_f1") is None
    assert np.isnan(score.standard_error("macro_f1"))


def test_errors_name_the_file_and_the_row(tmp_path, way):
    truth, values = forecasts(30)
    values[20] = [0.5, np.nan, 0.3, 0.2]
    predictions = predictions_of(tmp_path, truth, values)
    with pytest.raises(InputError, match=r"model\.parquet row 21, column 'b' has no value"):
        score_stream(predictions, rows=7)
    values[20] = [50, 20, 20, 10]
    with pytest.raises(InputError, match=r"model\.parquet row 21 sums to 100: these look like percentages"):
        score_stream(predictions_of(tmp_path, truth, values), rows=7)
    values[20] = [0.5, 0.6, -0.1, 0.0]
    with pytest.raises(InputError, match=r"model\.parquet row 21 contains the negative value"):
        score_stream(predictions_of(tmp_path, truth, values))


def test_nothing_to_score_is_an_error(tmp_path):
    truth, values = forecasts(3)
    with pytest.raises(InputError, match="no rows"):
        score_stream(predictions_of(tmp_path, truth[:0], values[:0]))
    with pytest.raises(InputError, match="weight of every row is 0"):
        score_stream(predictions_of(tmp_path, truth, values, weight=np.zeros(3)))
    predictions = predictions_of(tmp_path, truth, values)
    with pytest.raises(InputError, match="shape"):
        score_stream(predictions, typical_costs=[1.0, 2.0])
    with pytest.raises(InputError, match="one of pandora_regret"):
        score_stream(predictions).value("f1")


def rarely_dear(n_dear, n=400):
    """True classes and forecasts of which so many give the dear truth next to nothing."""
    truth = np.zeros(n, dtype=int)
    truth[:n_dear] = 2
    return truth, np.tile([0.9, 0.0999, 0.0001], (n, 1))


@pytest.mark.parametrize("jobs", [1, 2])
def test_few_rows_that_carry_a_cost_are_counted_as_in_a_comparison(tmp_path, jobs):
    from pandora_regret.compare import compare

    truth, proba = rarely_dear(4)
    path = tmp_path / "p.csv"
    rows = (f"{label},{a},{b},{c}" for label, (a, b, c) in zip(truth, proba, strict=True))
    path.write_text("\n".join(["y_true,0,1,2", *rows, ""]))
    [predictions] = open_predictions(path, Layout(classes=("0", "1", "2")))
    score = score_stream(predictions, typical_costs=[1.0, 1.0, 500.0], jobs=jobs)
    expected = compare(truth, {"p": proba}, typical_costs=[1.0, 1.0, 500.0]).best.scores["expected_cost"]
    carriers = score.carriers("expected_cost")
    assert carriers.few
    assert expected.warning.startswith(f"{carriers.number:.0f} of 400 cases")
    assert score.carriers("macro_f1") is None


def test_scores_of_many_rows_are_not_kept(tmp_path, monkeypatch):
    from pandora_regret.stream import rows as module

    monkeypatch.setattr(module, "MOST_REMEMBERED", 100)
    truth, proba = rarely_dear(4)
    path = tmp_path / "p.csv"
    rows = (f"{label},{a},{b},{c}" for label, (a, b, c) in zip(truth, proba, strict=True))
    path.write_text("\n".join(["y_true,0,1,2", *rows, ""]))
    [predictions] = open_predictions(path, Layout(classes=("0", "1", "2")))
    assert score_stream(predictions, rows=60).carriers("expected_cost") is None
