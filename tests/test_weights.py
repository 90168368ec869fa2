"""A factor on all weights changes nothing, wherever weights are taken; equal weights are as good as none."""

import importlib
import inspect
import pkgutil
from dataclasses import asdict, is_dataclass

import numpy as np
import pytest
from asked import compare_with
from cli_files import run_json, write_csv

import pandora_regret
from pandora_regret import Candidates, ComparisonOptions, Workup, compare_lists
from pandora_regret.calibrate import decompose, load_map, recalibrate
from pandora_regret.comparison import compare_frames
from pandora_regret.comparison.request import read_models
from pandora_regret.core import array_api, entropy, scores, search
from pandora_regret.core.decisions import label_metrics
from pandora_regret.core.imperfect import Tests, expenditure
from pandora_regret.metrics import default_metrics
from pandora_regret.workup import scores as workup_scores

FACTORS = [1e-6, 1 / 400, 0.25, 1e6]
CLOSE = 1e-12  # relative, of what is computed directly
SOLVED = 1e-8  # relative, of what an iteration finds: a bottom is flat, so that what is lost there is some 1e-10
NAMES = ["a", "b", "c"]
COSTS = [100.0, 40.0, 10.0]
ROWS = 120


def sample():
    """Truths that are drawn from calm forecasts, bold forecasts of them, and uneven weights, two of them 0."""
    rng = np.random.default_rng(5)
    calm = rng.dirichlet([1.0, 1.5, 0.8], size=ROWS)
    truth = np.array([rng.choice(3, p=p) for p in calm])
    bold = calm**2
    weights = rng.lognormal(0.0, 0.7, ROWS)
    weights[[7, 40]] = 0.0
    return truth, bold / bold.sum(axis=1, keepdims=True), weights


TRUTH, FORECASTS, WEIGHTS = sample()
OTHERS = np.roll(FORECASTS, 1, axis=0) * 0.3 + FORECASTS * 0.7
GROUPS = np.arange(ROWS) // 3
VOTES = np.eye(3)[TRUTH] * 3 + np.eye(3)[(TRUTH + np.arange(ROWS) % 2) % 3]
DRUGS = Tests(cost=[100.0, 40.0, 10.0], sensitivity=[0.9, 0.5, 0.8], false_positive_rate=0.1)
VISIT = Workup(
    NAMES, {"visit": {"cost": 75, "tells_apart": ["b"]}, "scan": {"cost": 30, "tells_apart": ["a", "c"]}}
)


def plain(value):
    """A result as numbers, texts, lists and dictionaries."""
    if is_dataclass(value):
        return plain(asdict(value))
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return np.asarray(value).tolist() if hasattr(value, "__array__") else value


def assert_same(found, wanted, tolerance, path="result"):
    """Two plain results are the same; numbers that are nearly 0 beside their prices are taken as 0."""
    if isinstance(wanted, dict):
        assert found.keys() == wanted.keys(), path
        for key, part in wanted.items():
            assert_same(found[key], part, tolerance, f"{path}.{key}")
    elif isinstance(wanted, list):
        assert len(found) == len(wanted), path
        for number, part in enumerate(wanted):
            assert_same(found[number], part, tolerance, f"{path}[{number}]")
    elif isinstance(wanted, float):
        assert found == pytest.approx(wanted, rel=tolerance, abs=100 * tolerance, nan_ok=True), path
    else:
        assert found == wanted, path


# Functions of the weights, or of None: of labelled forecasts, of forecasts alone, and of both kinds of test


def labelled(function, *more, **options):
    return lambda weights: function(TRUTH, FORECASTS, *more, sample_weight=weights, **options)


def unlabelled(function, *more, **options):
    return lambda weights: function(FORECASTS, *more, sample_weight=weights, **options)


def of_votes(function, **options):
    return lambda weights: function(VOTES, FORECASTS, sample_weight=weights, **options)


def tally(weights):
    made = scores.search_tally(TRUTH, FORECASTS, costs=COSTS, sample_weight=weights)
    means = [made.mean, made.standard_error, made.realised.mean, made.cost.effective_count]
    return [*means, made.pair_costs]


def compared(weights, **options):
    """All that a comparison says, by groups of rows and by a column."""
    options = {"costs": COSTS, "groups": GROUPS, "by": {"half": GROUPS % 2}} | options
    return compare_with(TRUTH, {"one": FORECASTS, "two": OTHERS}, sample_weight=weights, **options).to_dict()


def compared_frames(weights):
    """The models of a comparison of frames that are joined by their ids."""
    pd = pytest.importorskip("pandas")
    truth = pd.DataFrame({"case": range(ROWS), "label": np.array(NAMES)[TRUTH]})
    forecasts = pd.DataFrame(FORECASTS, columns=NAMES).assign(case=range(ROWS))
    column = None
    if weights is not None:
        column = "times"
        truth[column] = weights
    result = compare_frames(
        truth,
        {"one": forecasts[::-1]},
        id="case",
        sample_weight=column,
        costs=COSTS,
        options=ComparisonOptions(recalibrate=None),
    )
    return result.to_dict()["models"]


def compared_lists(weights):
    """Ranked lists of two models, of which one misses every third case."""
    names = np.array(NAMES)
    truth = [[str(name)] for name in names[TRUTH]]
    models = {
        "whole": [list(names[np.argsort(-forecast)]) for forecast in FORECASTS],
        "cut": [list(names[np.argsort(-forecast)][: 1 + row % 3]) for row, forecast in enumerate(OTHERS)],
    }
    lists = {model: Candidates.from_lists(rows, truth=truth) for model, rows in models.items()}
    return compare_lists(lists, miss=20.0, sample_weight=weights, groups=GROUPS, by={"half": GROUPS % 2}).to_dict()


def histogram(weights):
    from matplotlib.figure import Figure

    from pandora_regret.plots import plot_score_histograms

    axes = plot_score_histograms(TRUTH, FORECASTS, sample_weight=weights, ax=Figure().subplots())
    return [path.vertices for collection in axes.collections for path in collection.get_paths()]


def gradients(weights):
    from pandora_regret.integrations.boosting import SearchObjective

    return SearchObjective(costs=COSTS)(TRUTH, np.log(FORECASTS), weights)


def boosting_metrics(weights):
    from pandora_regret.integrations.boosting import LightGBMMetric, XGBoostMetric

    raw = np.log(FORECASTS)
    return [metric(costs=COSTS)(TRUTH, raw, weights) for metric in (LightGBMMetric, XGBoostMetric)]


def scorer(weights):
    from sklearn.naive_bayes import GaussianNB

    from pandora_regret.integrations.sklearn import neg_pandora_regret_scorer

    features = np.log(FORECASTS)
    return neg_pandora_regret_scorer(GaussianNB().fit(features, TRUTH), features, TRUTH, sample_weight=weights)


def torch_metrics(weights):
    torch = pytest.importorskip("torch")
    pytest.importorskip("torchmetrics")
    from pandora_regret.integrations.torch import ExpectedSearchCost, PandoraRegret

    found = []
    for metric in (PandoraRegret(3), ExpectedSearchCost(3, costs=COSTS)):
        metric.update(
            torch.tensor(FORECASTS), torch.tensor(TRUTH), None if weights is None else torch.tensor(weights)
        )
        found.append(float(metric.compute()))
    return found


def linear_loss(weights):
    torch = pytest.importorskip("torch")
    from pandora_regret.integrations.torch import linear_pandora_loss

    features, layer = torch.tensor(np.log(FORECASTS)), torch.eye(3, dtype=torch.float64)
    chosen = None if weights is None else torch.tensor(weights)
    return float(linear_pandora_loss(features, layer, torch.tensor(TRUTH), sample_weight=chosen))


def shifted(weights):
    from pandora_regret.calibrate import PriorShift

    shift = PriorShift().fit(FORECASTS, TRUTH, weights).adapt(OTHERS, weights)
    return [shift.source_prior_, shift.target_prior_]


def scaled(name, **options):
    """The forecasts of a calibrator."""

    def of_weights(weights):
        from pandora_regret import calibrate

        return getattr(calibrate, name)(**options).fit(FORECASTS, TRUTH, weights).predict_proba(OTHERS)

    return of_weights


def calibrated(weights):
    from sklearn.naive_bayes import GaussianNB

    from pandora_regret.calibrate import CalibratedSearch

    model = CalibratedSearch(GaussianNB(), method="vector").fit(np.log(FORECASTS), TRUTH, weights)
    return model.predict_proba(np.log(OTHERS))


def recalibrated(method, **options):
    return lambda weights: recalibrate(
        TRUTH, FORECASTS, method=method, costs=COSTS, sample_weight=weights, **options
    )


DIRECT = {
    "core.scores.pandora_regret": labelled(scores.pandora_regret),
    "core.scores.pandora_regret of votes": of_votes(scores.pandora_regret),
    "core.scores.beta_score": labelled(scores.beta_score, alpha=0.5, max_costs=COSTS),
    "core.scores.pair_costs": labelled(scores.pair_costs, costs=COSTS),
    "core.scores.expected_search_cost": labelled(scores.expected_search_cost, costs=COSTS),
    "core.scores.excess_search_burden": labelled(scores.excess_search_burden),
    "core.scores.search_tally": tally,
    "core.search.search_cost": labelled(search.search_cost, costs=COSTS),
    "core.search.simulate_search": labelled(search.simulate_search, costs=COSTS, draws=50, seed=1),
    "core.entropy.search_entropy": unlabelled(entropy.search_entropy, costs=COSTS),
    "core.entropy.search_divergence": unlabelled(entropy.search_divergence, OTHERS, costs=COSTS),
    "core.decisions.label_metrics.single_shot_cost": labelled(label_metrics.single_shot_cost),
    "core.decisions.label_metrics.ranking_cost": labelled(label_metrics.ranking_cost, lambda place: place),
    "core.decisions.label_metrics.instance_f1": labelled(label_metrics.instance_f1),
    "core.imperfect.expenditure.expected_expenditure": labelled(
        expenditure.expected_expenditure, DRUGS, search="restarts"
    ),
    "core.imperfect.expenditure.predicted_expenditure": unlabelled(
        expenditure.predicted_expenditure, DRUGS, search="restarts"
    ),
    "core.imperfect.expenditure.simulate_expenditure": labelled(
        expenditure.simulate_expenditure, DRUGS, search="restarts", draws=50, seed=1
    ),
    "core.array_api.pandora_regret": labelled(array_api.pandora_regret),
    "core.array_api.beta_score": labelled(array_api.beta_score, alpha=0.5),
    "core.array_api.expected_search_cost": labelled(array_api.expected_search_cost),
    "workup.scores.workup_cost": lambda weights: workup_scores.workup_cost(
        TRUTH, FORECASTS, VISIT, sample_weight=weights
    ),
    "workup.scores.workup_regret": labelled(workup_scores.workup_regret, VISIT),
    "workup.scores.workup_entropy": unlabelled(workup_scores.workup_entropy, VISIT),
    "metrics": lambda weights: [
        metric(TRUTH, FORECASTS, sample_weight=weights, costs=COSTS) for metric in default_metrics(3, priced=True)
    ],
    "comparison.build.compare": lambda weights: compared(weights, recalibrate=None),
    "comparison.build.compare by bootstrap": lambda weights: compared(weights, recalibrate=None, bootstrap=100),
    "comparison.build.compare_frames": compared_frames,
    "comparison.ranked.compare_lists": compared_lists,
    "comparison.request.read_models": lambda weights: (
        read_models(TRUTH, {"one": FORECASTS}, sample_weight=weights)["one"].each_weight
    ),
    "plots.compared_models.plot_score_histograms": histogram,
    "integrations.boosting objective": gradients,
    "integrations.boosting metrics": boosting_metrics,
    "integrations.sklearn.neg_pandora_regret_scorer": scorer,
    "integrations.torch metrics": torch_metrics,
    "integrations.torch.linear.linear_pandora_loss": linear_loss,
}
ITERATED = {
    "comparison.build.compare recalibrated": lambda weights: compared(weights, decompose=True),
    "calibrate.recalibration.recalibrate": recalibrated("temperature"),
    "calibrate.recalibration.recalibrate, search": recalibrated("temperature", objective="search"),
    "calibrate.recalibration.recalibrate, vector, groups": recalibrated("vector", groups=GROUPS),
    "calibrate.recalibration.recalibrate, matrix": recalibrated("matrix"),
    "calibrate.recalibration.decompose": lambda weights: decompose(
        TRUTH, FORECASTS, costs=COSTS, groups=GROUPS, sample_weight=weights
    ),
    "TemperatureScaling": scaled("TemperatureScaling"),
    "VectorScaling": scaled("VectorScaling"),
    "MatrixScaling": scaled("MatrixScaling"),
    "PriorShift": shifted,
    "CalibratedSearch": calibrated,
}
EVERY = {name: (function, CLOSE) for name, function in DIRECT.items()}
EVERY |= {name: (function, SOLVED) for name, function in ITERATED.items()}


@pytest.mark.parametrize("name", EVERY)
def test_a_factor_on_all_weights_changes_nothing(name):
    function, tolerance = EVERY[name]
    wanted = plain(function(WEIGHTS))
    for factor in FACTORS:
        assert_same(plain(function(factor * WEIGHTS)), wanted, tolerance)


@pytest.mark.parametrize("name", EVERY)
def test_equal_weights_are_as_good_as_none(name):
    function, tolerance = EVERY[name]
    assert_same(plain(function(np.full(ROWS, 0.3))), plain(function(None)), tolerance)


def public_functions():
    """The functions with a `sample_weight` that a user may call, by the last part of their names."""
    found = set()
    for module in pkgutil.walk_packages(pandora_regret.__path__, "pandora_regret."):
        if module.name.startswith(("pandora_regret.core.inputs", "pandora_regret.integrations.torch")):
            continue  # the door itself; what needs torch is listed by hand
        try:
            loaded = importlib.import_module(module.name)
        except ImportError:
            continue
        for name, value in vars(loaded).items():
            own = inspect.isfunction(value) and value.__module__ == module.name and not name.startswith("_")
            if own and "sample_weight" in inspect.signature(value).parameters:
                found.add(f"{module.name.removeprefix('pandora_regret.')}.{name}")
    return found


def test_every_public_function_with_weights_is_in_the_table():
    assert public_functions() <= EVERY.keys()


# Files and commands


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("weights")


def written(folder, name, table, weights):
    columns = {"id": range(ROWS), "y_true": np.array(NAMES)[TRUTH].tolist()}
    columns |= dict(zip(NAMES, table.T.tolist(), strict=True))
    columns["half"] = [f"group {number}" for number in GROUPS // 2]
    if weights is not None:
        columns["weight"] = weights.tolist()
    return write_csv(folder / f"{name}.csv", [list(columns), *zip(*columns.values(), strict=True)])


def printed(command, folder, weights):
    """The JSON of a command, less what the files are called and made of."""
    one = written(folder, "one", FORECASTS, weights)
    others = [written(folder, "two", OTHERS, weights)] if command[0] == "compare" else []
    found = run_json(command[0], one, *others, *command[1:])
    return {key: part for key, part in found.items() if key not in ("files", "remarks", "sample", "written")}


COMMANDS = {
    "score": (("score", "--costs", "a=100,b=40,c=10"), CLOSE),
    "score by bootstrap": (("score", "--costs", "a=100,b=40,c=10", "--bootstrap", 50), CLOSE),
    "score, groups": (("score", "--costs", "a=100,b=40,c=10", "--group", "half"), CLOSE),
    "score, wrong tests": (("score", "--costs", "a=100,b=40,c=10", "--wrong-tests"), CLOSE),
    "compare": (("compare", "--costs", "a=100,b=40,c=10"), SOLVED),
    "recalibrate": (("recalibrate", "--costs", "a=100,b=40,c=10"), SOLVED),
    "recalibrate, vector": (("recalibrate", "--method", "vector"), SOLVED),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_factor_on_a_column_of_weights_changes_nothing(folder, name):
    command, tolerance = COMMANDS[name]
    wanted = printed(command, folder, WEIGHTS)
    for factor in (1 / 400, 1e6):
        assert_same(printed(command, folder, factor * WEIGHTS), wanted, tolerance)


@pytest.mark.parametrize("factor", [1.0, 1 / 400, 1e6])
def test_new_class_frequencies_do_not_depend_on_what_weights_add_up_to(folder, factor):
    """Weights of 1/400 once shifted every class to the same frequency, and one out of sight."""
    old = written(folder, "old", FORECASTS, factor * np.where(TRUTH == 2, 0.5, 1.0))
    new = written(folder, "new", OTHERS[TRUTH != 1][np.arange(ROWS) % np.sum(TRUTH != 1)], None)
    run_json("recalibrate", old, "--method", "prior", "--apply", new, "--out", folder / "out.csv", "--force")
    counts = np.bincount(TRUTH, np.where(TRUTH == 2, 0.5, 1.0))
    shifts = np.array(load_map(folder / "out.map.json").shifts)
    target = counts / counts.sum() * np.exp(shifts)
    assert target.sum() == pytest.approx(1.0, rel=1e-9)
    assert target.min() > 0.01
