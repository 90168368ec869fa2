"""Rows with options of their own: lists of candidates, orders alone, samples of language models."""

import json

import numpy as np
import pytest
from cli_files import run, run_json
from hypothesis import given, settings
from hypothesis import strategies as st
from prediction_files import cell_of, inspect_file, opened, refusal, refused, remark_of, whole

from pandora_regret import expected_search_cost
from pandora_regret.calibrate.maps import log_probabilities
from pandora_regret.core.inputs import LEAST_NORMAL
from pandora_regret.core.kernels import engine
from pandora_regret.core.priors import Beta, Uniform
from pandora_regret.files import (
    Layout,
    ModelFiles,
    align,
    open_models,
    open_predictions,
    read_aligned_models,
    read_all,
    read_all_models,
    read_models_argument,
)
from pandora_regret.files.dialect import Dialect
from pandora_regret.metrics import METRICS

ROWS = [
    {"id": 1, "truth": "flu", "forecast": {"flu": 0.5, "cold": 0.3, "covid": 0.2}, "site": "North"},
    {"id": 2, "truth": "cold", "forecast": {"cold": 0.25, "gout": 0.75}, "site": "South"},
    {"id": 3, "truth": "gout", "forecast": {"gout": 1.0, "flu": 0.0}, "site": "South"},
]


def lists(folder, rows, name="a"):
    path = folder / f"{name}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def row(truth, id, **forecast):
    return {"truth": truth, "forecast": forecast} | ({} if id is None else {"id": id})


@given(
    st.lists(
        st.lists(st.sampled_from([0.0, 0.0, 1.0, 2.0, 3.0]), min_size=1, max_size=5).filter(lambda p: sum(p) > 0),
        min_size=1,
        max_size=4,
    ),
    st.sampled_from([0.5, 1.0, 3.0, np.inf]),
    st.integers(0, 10**6),
    st.booleans(),
)
@settings(deadline=None, max_examples=60)
def test_options_that_a_row_lacks_cost_nothing_even_where_the_truth_is_held_impossible(
    weights, alpha, seed, compiled
):
    """Each row scored in the table of all options is the row scored alone, by either engine."""
    import tempfile
    from pathlib import Path

    rng, rows, alone = np.random.default_rng(seed), [], []
    names = np.array(["a", "b", "c", "d", "e", "f", "g"])
    for row in weights:
        p, own = np.array(row) / sum(row), rng.permutation(names)[: len(row)]
        truth = int(rng.integers(len(row)))
        rows.append({"truth": own[truth], "forecast": dict(zip(own, p, strict=True))})
        alone.append(expected_search_cost([truth], [p], prior=Beta(alpha)) if len(row) > 1 else Beta(alpha).mean)
    before, engine.WORTH_COMPILING = engine.WORTH_COMPILING, 0 if compiled else engine.WORTH_COMPILING
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = lists(Path(folder), rows)
            [model] = open_predictions(path, Layout(classes=tuple(names)))
            forecast = read_all(model).forecast()
            costs = METRICS["expected_cost"].of_rows(forecast, Beta(alpha))
    finally:
        engine.WORTH_COMPILING = before
    np.testing.assert_allclose(costs, alone, rtol=1e-12)


def test_probability_zero_has_the_log_loss_of_a_table(tmp_path):
    rows = [row("flu", 1, flu=0.0, cold=1.0), row("cold", 2, flu=0.25, cold=0.75)]
    (tmp_path / "table.csv").write_text("id,truth,flu,cold\n1,flu,0,1\n2,cold,0.25,0.75\n")
    for path, options in ((lists(tmp_path, rows), ()), (tmp_path / "table.csv", ("--label", "truth"))):
        [model] = run_json("score", path, *options)["models"]
        assert model["scores"]["log_loss"]["value"] is None
        assert model["scores"]["log_loss"]["warning"].startswith("infinite")


def test_lists_of_all_classes_are_recalibrated_as_a_table_is(tmp_path):
    rng = np.random.default_rng(0)
    table = ["id,y_true,flu,cold,tb"]
    rows = []
    for case in range(200):
        flu, cold = rng.permutation([0.0, *rng.multinomial(100, [0.7, 0.3])])[:2] / 100
        p = [flu, cold, round(1 - flu - cold, 2)]
        truth = rng.choice(["flu", "cold", "tb"], p=[0.8 * value + 0.2 / 3 for value in p])
        table.append(f"{case},{truth},{','.join(map(str, p))}")
        rows.append(row(truth, case, flu=p[0], cold=p[1], tb=p[2]))
    (tmp_path / "table.csv").write_text("\n".join(table))
    models = run_json("compare", lists(tmp_path, rows), tmp_path / "table.csv")["models"]
    costs = [model["recalibrated"]["cost"]["value"] for model in models]
    assert costs[0] == pytest.approx(costs[1], rel=1e-12)


def test_a_truth_that_is_listed_with_0_counts_as_0_where_logarithms_are_taken(tmp_path):
    rows = [row("flu", 1, flu=0.0, cold=1.0), row("tb", 2, tb=0.25, cold=0.5, flu=0.25)]
    forecast = whole(lists(tmp_path, rows)).forecast()
    assert 0 < forecast.values[0, 0] == LEAST_NORMAL  # tb is no option, and comes after it
    scored, level = log_probabilities(forecast)
    assert level == pytest.approx(np.log(0.125))
    assert scored.values[0].tolist() == pytest.approx([np.log(0.125), 0.0, np.log(0.125)])


def test_what_lists_do_not_name_goes_into_a_bucket_and_is_counted(tmp_path):
    rows = [
        row("flu", 1, flu=0.5, cold=0.3),
        row("gout", 2, flu=0.5, cold=0.3),
        row("gout", 3, flu=0.75, cold=0.25),
    ]
    path = lists(tmp_path, rows)
    assert cell_of(refusal(path)) == (2, None, "gout")
    assert "--other NAME" in refused(path)
    batch = whole(path, dialect=Dialect(other="something else"))
    assert batch.classes == ("something else", "flu", "cold")
    np.testing.assert_allclose(batch.values, [[0.2, 0.5, 0.3], [0.2, 0.5, 0.3], [0, 0.75, 0.25]], atol=1e-300)
    assert batch.truth.tolist() == [1, 0, 0]
    [rest] = opened(path, dialect=Dialect(other="something else")).remarks
    assert remark_of(rest) == ("rest of lists", 2, path)
    [remark] = batch.changes.remarks("a")
    assert remark_of(remark) == ("truths to other", 2, "a")
    assert "'something else'" in rest.sentence
    assert "'something else'" in remark.sentence


def test_lists_of_two_models_may_name_different_things(tmp_path):
    first = [row("flu", n, flu=0.6, cold=0.4) for n in range(3)]
    second = [
        row("flu", 2, covid=0.5, flu=0.5),
        row("flu", 1, gout=0.9),
        row("flu", 0, flu=1.0),
    ]
    paths = lists(tmp_path, first), lists(tmp_path, second, "b")
    files = [ModelFiles((path,), Layout(dialect=Dialect(other="other"))) for path in paths]
    aligned = align(list(read_all_models(open_models(files))), ["a", "b"])
    assert aligned[0].classes == aligned[1].classes == ("other", "flu", "cold", "covid", "gout")
    np.testing.assert_allclose(
        aligned[1].values, [[0, 1, 0, 0, 0], [0.1, 0, 0, 0, 0.9], [0, 0.5, 0, 0.5, 0]], atol=1e-15
    )
    assert aligned[1].truth.tolist() == [1, 0, 1]
    second[0]["truth"] = "covid"
    conflicting = run("compare", paths[0], lists(tmp_path, second, "b"), "--other", "other")
    assert conflicting.exit_code == 2
    assert "'covid'" in conflicting.stderr


def test_orders_without_probabilities_are_scored_by_the_order_alone(tmp_path):
    rows = [
        {"id": 1, "truth": "b", "forecast": ["a", "b", "c"]},
        {"id": 2, "truth": "c", "forecast": ["c", "d"]},
        {"id": 3, "truth": "x", "forecast": ["d", "a"]},
    ]
    path = lists(tmp_path, rows)
    assert "--other NAME" in refused(path)
    options = ("--other", "rest", "--costs", "a=1000,b=3,c=500,d=7,rest=20")
    [model] = run_json("score", path, *options)["models"]
    assert model["scores"]["expected_cost"]["value"] == pytest.approx((1003 + 500 + 1027) / 3)
    assert model["scores"]["tests"]["value"] == pytest.approx((2 + 1 + 3) / 3)
    assert set(model["scores"]) == {"expected_cost", "realised_cost", "tests", "accuracy", "macro_f1"}
    content = run_json("compare", path, lists(tmp_path, rows[:1] + rows[2:] + rows[1:2], "b"), *options)
    assert [remark["what"] for remark in content["remarks"]] == ["order only"] * 2 + ["truths to other"] * 2
    assert "alpha = inf" in content["remarks"][0]["sentence"]
    for command in ("score", "compare"):
        assert run(command, path, *options, "--prior", "fixed").exit_code == 0
        of_other_prior = run(command, path, *options, "--prior", "uniform")
        assert of_other_prior.exit_code == 2
        assert "--prior fixed" in of_other_prior.stderr


@pytest.mark.parametrize(
    ("row", "column", "value"),
    [
        ({"truth": "a", "forecast": ["a", "b"]}, None, ["a", "b"]),
        ({"truth": "a", "forecast": {"a": True}}, "a", True),
        ({"truth": "a", "forecast": {}}, "forecast", None),
        ({"truth": ["a"], "forecast": {"a": 1}}, "truth", ["a"]),
    ],
)
def test_what_is_wrong_with_a_list_is_said_with_its_line(tmp_path, row, column, value):
    error = refusal(lists(tmp_path, [*ROWS, row]))
    assert (error.column, error.value) == (column, value)
    assert error.argument == ("y_true" if column == "truth" else "y_proba")
    assert error.where == " line 4"


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"id": 9, "forecast": {"a": 1}}, "column 'truth'"),
        (row("a", 9, a=0.5, b=0.6), "sums to 1.1"),
    ],
)
def test_what_does_not_fit_the_other_lists_is_said_with_its_line(tmp_path, row, says):
    message = refused(lists(tmp_path, [*ROWS, row]))
    assert says in message
    assert "line 4" in message


def test_repeated_names_are_refused(tmp_path):
    path = tmp_path / "twice.jsonl"
    path.write_text('{"truth": "a", "forecast": {"a": 0.5, "b": 0.5, "a": 0.5}}\n')
    twice = refusal(path)
    assert (twice.where, twice.column) == (" line 1", "a")
    assert refusal(lists(tmp_path, [{"truth": "a", "forecast": ["a", "a"]}])).value == ["a", "a"]
    assert "two options" in refused(lists(tmp_path, [{"truth": "a", "forecast": ["a"]}]))


def sample(doc_id, scores, target, *, as_text=True, options=None, **more):
    """A row as lm-evaluation-harness logs it."""
    options = options or [f"option {k}" for k in range(len(scores))]
    pairs = [[score, score == max(scores)] for score in scores]
    requests = [["Question: why? Answer:", f" {option}"] for option in options]
    row = {
        "doc_id": doc_id,
        "doc": {"question": "why?", "choices": {"text": options}, "subject": "anatomy"},
        "target": str(target) if as_text else target,
        "arguments": {f"gen_args_{i}": {"arg_0": of[0], "arg_1": of[1]} for i, of in enumerate(requests)}
        if as_text
        else requests,
        "filtered_resps": [[str(part) for part in pair] for pair in pairs] if as_text else pairs,
    }
    return row | more


@pytest.mark.parametrize("as_text", [True, False])
def test_samples_of_a_language_model_are_recognised(tmp_path, as_text):
    rows = [
        sample(0, [-3.5, -1.25, -8.0], 1, as_text=as_text, acc=1.0),
        sample(1, [-2.0, -1.0, -3.0, -1.5], 3, as_text=as_text, acc=0.0),
        sample(2, [-900.0, -1.0], 0, as_text=as_text, acc=0.0),
    ]
    path = lists(tmp_path, rows, "samples_model")
    predictions = opened(path)
    assert predictions.logits
    batch = read_all(predictions)
    assert batch.classes == ("A", "B", "C", "D")
    assert batch.truth.tolist() == [1, 3, 0]
    assert batch.ids.tolist() == [0, 1, 2]
    assert batch.values[0].tolist() == [-3.5, -1.25, -8.0, -np.inf]
    [remark] = predictions.remarks
    assert remark_of(remark) == ("format", 3, path)
    losses = METRICS["log_loss"].of_rows(batch.forecast(), Uniform())
    assert np.isfinite(losses).all()  # -900 would underflow as a probability
    assert inspect_file(path, Layout())[0].fine


def test_where_contexts_differ_instead_of_options_the_outcome_tells_the_truth(tmp_path):
    """As in Winogrande: two contexts, one continuation, and a target that is neither number nor option."""
    rows = [
        sample(k, [-1.0, -2.0], "the end", options=["the end", "the end"], acc=acc)
        for k, acc in enumerate((1.0, 0.0))
    ]
    assert whole(lists(tmp_path, rows)).truth.tolist() == [0, 1]
    error = refusal(lists(tmp_path, [row | {"acc": None} for row in rows]))
    assert error.where == " line 1"
    assert "'the end'" in str(error)


def test_the_order_of_a_row_is_that_of_its_own_options(tmp_path):
    path = lists(tmp_path, [{"forecast": {"flu": 0.3, "cold": 0.7}}, {"forecast": {"gout": 0.6, "flu": 0.4}}])
    samples = lists(tmp_path, [sample(0, [-1.0, -2.0], 1), sample(1, [-3.0, -2.0, -1.0], 1)], "s")
    for arguments, order in (((path,), ["gout", "flu"]), ((samples, "--logits"), ["C", "B", "A"])):
        assert [step["test"] for step in run_json("next", *arguments, "--row", 2)["steps"]] == order
    orders = lists(tmp_path, [{"forecast": ["flu", "cold"]}], "o")
    assert "in order only" in run("next", orders, "--row", 1).stderr


@pytest.mark.slow
def test_what_needs_probabilities_or_a_table_says_so(tmp_path):
    path, orders = lists(tmp_path, ROWS), lists(tmp_path, [{"truth": "a", "forecast": ["a", "b"]}], "b")
    assert run("monitor", path, "--state", tmp_path / "state.json").exit_code == 0
    assert "in order only" in run("monitor", orders, "--state", tmp_path / "other.json").stderr
    assert "lists of candidates" in run("recalibrate", path).stderr


def test_what_a_list_leaves_goes_evenly_to_the_classes_that_it_does_not_name(tmp_path):
    rows = [
        row("flu", None, flu=0.5, cold=0.3),
        row("gout", None, flu=0.7),
        row("cold", None, flu=1.0, cold=0.0),
    ]
    batch = whole(lists(tmp_path, rows))
    assert batch.classes == ("flu", "cold", "gout")
    np.testing.assert_allclose(batch.values, [[0.5, 0.3, 0.2], [0.7, 0.15, 0.15], [1, 0, 0]], atol=1e-300)
    assert batch.values[2, 1] > batch.values[2, 2] == 0
    assert "line 1 sums to 0.8" in refused(lists(tmp_path, rows[:1]))  # there is no other class


def test_lists_may_be_written_out_as_text(tmp_path):
    scores = [{"label": "flu", "score": 0.75}, {"label": "cold", "score": 0.25}]
    rows = [{"truth": name, "scores": str(scores)} for name in ("flu", "cold")]
    assert whole(lists(tmp_path, rows)).values.tolist() == [[0.75, 0.25], [0.75, 0.25]]


TRUTHS = ["flu", "cold", "gout", "flu", "cold", "gout"]
LONG, SHORT = {"flu": 0.5, "cold": 0.3, "gout": 0.1}, {"flu": 0.5}


def alike(folder, name, forecast):
    return lists(folder, [{"id": k, "truth": truth, "forecast": forecast} for k, truth in enumerate(TRUTHS)], name)


def compared(*files):
    return run_json("compare", *files, "--other", "rest")


def test_truths_that_differ_between_models_are_counted_and_give_no_verdict(tmp_path):
    long, short = alike(tmp_path, "long", LONG), alike(tmp_path, "short", SHORT)
    [remark] = [each for each in compared(long, short)["remarks"] if each["what"] == "truths to other"]
    assert (remark["count"], remark["model"]) == (4, "short")
    assert run("compare", long, short, "--other", "rest").stdout.startswith("No verdict")


def test_every_model_that_is_scored_by_order_alone_is_named(tmp_path):
    order = alike(tmp_path, "order", list(LONG))
    others = [alike(tmp_path, name, LONG) for name in ("one", "two")]
    remarks = [each for each in compared(order, *others)["remarks"] if each["what"] == "order only"]
    assert [each["count"] for each in remarks] == [2, len(TRUTHS)]
    assert remarks[0]["sentence"].startswith("one and two")
    assert len([each for each in compared(order)["remarks"] if each["what"] == "order only"]) == 1


def test_what_lists_leave_is_not_said_to_be_zero(tmp_path):
    (tmp_path / "a.csv").write_text("id,label,flu,cold,covid\n1,flu,0.5,0.3,0.2\n2,cold,0.2,0.5,0.3\n")
    paths = str(tmp_path / "a.csv"), lists(tmp_path, [row("flu", 1, flu=0.6), row("cold", 2, cold=0.6)], "b")
    files = read_models_argument(paths, Layout())
    together = read_aligned_models(open_models(files, ["flu", "cold", "covid"]))
    np.testing.assert_allclose(together.batches[1].values, [[0.6, 0.2, 0.2], [0.2, 0.6, 0.2]])
    assert not any(remark.what == "classes taken as 0" for remark in together.remarks)
