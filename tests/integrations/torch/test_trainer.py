import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine, make_classification
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from pandora_regret import expected_search_cost, pandora_regret  # noqa: E402
from pandora_regret.inputs import InputError  # noqa: E402
from pandora_regret.integrations.sklearn import neg_pandora_regret_scorer  # noqa: E402
from pandora_regret.integrations.torch import AlphaSchedule, PandoraLoss  # noqa: E402
from pandora_regret.integrations.torch import trainer as trainer_module  # noqa: E402
from pandora_regret.integrations.torch.trainer import SearchProbe  # noqa: E402


def blurred(n_rows=300, seed=0):
    """Three classes that overlap."""
    X, y = make_classification(
        n_rows, 6, n_informative=4, n_redundant=0, n_classes=3, class_sep=0.7, random_state=seed
    )
    return X.astype(np.float32), y


def parameters_of_plain_loop(X, y, *, alpha, anneal_steps, epochs, batch_size, seed):
    """The training loop as anybody would write it."""
    order = torch.Generator().manual_seed(int(np.random.RandomState(seed).randint(2**31)))
    head = torch.nn.Linear(X.shape[1], 3)
    counts = torch.tensor([(y == k).sum() for k in range(3)])
    head.weight.data.zero_()
    head.bias.data.copy_(torch.log((counts + 1) / (len(y) + 3)))
    groups = [{"params": [head.weight], "weight_decay": 0.1}, {"params": [head.bias], "weight_decay": 0.0}]
    schedule = AlphaSchedule(0.0, alpha, anneal_steps)
    loss, optimiser = PandoraLoss(schedule), torch.optim.AdamW(groups, 1e-2)
    features, truth = torch.from_numpy(X), torch.from_numpy(y)
    for _ in range(epochs):
        for rows in torch.randperm(len(y), generator=order).split(batch_size):
            optimiser.zero_grad()
            loss(head(features[rows]), truth[rows]).backward()
            optimiser.step()
            schedule.step()
    return head.weight.detach().numpy(), head.bias.detach().numpy()


@pytest.mark.filterwarnings("ignore:Skipping check")
def test_scikit_learn_finds_nothing_wrong():
    check_estimator(
        SearchProbe(random_state=0, epochs=30),
        expected_failed_checks={
            "check_sample_weight_equivalence_on_dense_data": "batches are drawn from rows, not from weights",
        },
    )


def test_it_is_the_plain_training_loop():
    X, y = blurred()
    options = {"epochs": 4, "batch_size": 100, "weight_decay": 0.1, "random_state": 3}
    probe = SearchProbe(alpha=2.0, anneal=0.5, **options).fit(X, y)
    weight, bias = parameters_of_plain_loop(X, y, alpha=2.0, anneal_steps=6, epochs=4, batch_size=100, seed=3)
    np.testing.assert_allclose(probe.coef_, weight, atol=1e-6)
    np.testing.assert_allclose(probe.intercept_, bias, atol=1e-6)


@pytest.mark.parametrize("options", [{"objective": "log_loss"}, {"alpha": 0.0}, {"costs": [1.0, 30.0, 5.0]}])
def test_without_information_it_forecasts_the_shares_of_the_classes(options):
    y = np.repeat([0, 1, 2], [170, 24, 6])  # a few epochs from equal shares would not get there
    nothing = np.zeros((len(y), 2))
    probe = SearchProbe(**options, epochs=10, batch_size=200, weight_decay=1.0, random_state=0).fit(nothing, y)
    np.testing.assert_allclose(probe.predict_proba(nothing[:1]), [[0.85, 0.12, 0.03]], atol=0.01)


def test_the_shares_are_of_weights_and_a_class_without_weight_stays_possible():
    y, weights = np.repeat([0, 1, 2], 100), np.repeat([3.0, 1.0, 0.0], 100)
    options = {"epochs": 1, "learning_rate": 1e-6, "random_state": 0}
    forecast = SearchProbe(**options).fit(np.zeros((300, 1)), y, weights).predict_proba([[0.0]])[0]
    np.testing.assert_allclose(forecast, [0.75, 0.25, 0.0], atol=0.01)
    assert forecast[2] > 0


def test_a_seed_fixes_everything_and_another_changes_something():
    X, y = blurred()
    probe = SearchProbe(random_state=1, epochs=3, validation_fraction=0.2)
    first, second = (clone(probe).fit(X, y).coef_ for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(clone(probe).set_params(random_state=2).fit(X, y).coef_, first)


def test_alpha_rises_from_zero_and_arrives(monkeypatch):
    seen = []

    class Watched(AlphaSchedule):
        def step(self):
            seen.append(self.alpha)
            super().step()

    monkeypatch.setattr(trainer_module, "AlphaSchedule", Watched)
    X, y = blurred(128)
    SearchProbe(alpha=2.0, anneal=0.5, epochs=10, batch_size=64).fit(X, y)
    assert (seen[0], seen[10]) == (0.0, 2.0)
    assert (np.diff(seen[:11]) > 0).all()
    assert set(seen[10:]) == {2.0}
    seen.clear()
    SearchProbe(alpha=2.0, anneal=0.0, epochs=2, batch_size=64).fit(X, y)
    assert set(seen) == {2.0}


def test_annealing_changes_what_is_learned():
    X, y = blurred()
    straight, annealed = (SearchProbe(epochs=5, anneal=a, random_state=0).fit(X, y).coef_ for a in (0.0, 1.0))
    assert not np.allclose(straight, annealed, atol=1e-3)


@pytest.mark.parametrize("objective", ["search", "log_loss"])
def test_the_loss_falls_to_that_of_a_converged_probe(objective):
    X, y = blurred()
    probe = SearchProbe(objective=objective, anneal=0.0, epochs=100, weight_decay=0.0, random_state=0).fit(X, y)
    assert probe.losses_[-1] < 0.75 * probe.losses_[0]
    assert probe.n_iter_ == len(probe.losses_) == 100
    if objective == "search":
        assert probe.losses_[-1] == pytest.approx(pandora_regret(y, probe.predict_proba(X)), rel=0.05)


def test_log_loss_is_scikit_learns_logistic_regression():
    from sklearn.linear_model import LogisticRegression

    X, y = blurred()
    probe = SearchProbe(objective="log_loss", epochs=150, batch_size=300, learning_rate=0.05, weight_decay=0.0)
    other = LogisticRegression(C=np.inf, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(probe.fit(X, y).predict_proba(X), other.predict_proba(X), atol=5e-3)


def test_each_objective_does_best_by_its_own_measure():
    X, y = blurred()
    options = {"epochs": 100, "batch_size": 300, "learning_rate": 0.05, "weight_decay": 0.0, "random_state": 0}
    search, log_loss = (SearchProbe(objective=o, **options).fit(X, y) for o in ("search", "log_loss"))
    assert pandora_regret(y, search.predict_proba(X)) < pandora_regret(y, log_loss.predict_proba(X))
    truth = (np.arange(len(y)), y)
    assert (np.log(log_loss.predict_proba(X)[truth])).sum() > np.log(search.predict_proba(X)[truth]).sum()


def test_named_costs_are_paid_for_less_than_without():
    X, y = blurred()
    names = np.array(["cheap", "fair", "dear"])[y]
    costs = {"dear": 100.0, "fair": 10.0, "cheap": 1.0}
    options = {"epochs": 100, "batch_size": 300, "learning_rate": 0.05, "weight_decay": 0.0, "random_state": 0}
    with_costs, without = (SearchProbe(typical_costs=c, **options).fit(X, names) for c in (costs, None))
    assert list(with_costs.classes_) == ["cheap", "dear", "fair"]

    def price(probe):
        return expected_search_cost(names, probe.predict_proba(X), typical_costs=costs, labels=probe.classes_)

    assert price(with_costs) < price(without)
    in_order = SearchProbe(costs=[0.2, 20.0, 2.0], **options).fit(X, names)
    np.testing.assert_allclose(in_order.coef_, with_costs.coef_, atol=1e-5)


def test_in_one_batch_a_weight_of_three_is_three_rows_and_of_zero_none():
    X, y = blurred(200)
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    probe = SearchProbe(epochs=20, batch_size=1000)
    weighted = clone(probe).fit(X, y, weight).coef_
    np.testing.assert_allclose(weighted, clone(probe).fit(X[rows], y[rows]).coef_, atol=2e-3)
    assert not np.allclose(weighted, clone(probe).fit(X, y).coef_, atol=2e-2)


def test_early_stopping_keeps_the_best_head_after_alpha_has_arrived():
    X, y = blurred(80)
    noise = np.random.default_rng(0).normal(size=(80, 30)).astype(np.float32)  # something to overfit
    probe = SearchProbe(epochs=400, anneal=0.02, validation_fraction=0.3, patience=4, random_state=0)
    losses = np.array(probe.fit(np.hstack([X, noise]), y).validation_losses_)
    arrived, best = 7, len(losses) - 1 - 4
    assert probe.n_iter_ == len(losses) < 400
    assert best > arrived
    assert losses[arrived:].argmin() + arrived == best
    until_then = clone(probe).set_params(epochs=best + 1, anneal=8 / (best + 1)).fit(np.hstack([X, noise]), y)
    np.testing.assert_array_equal(probe.coef_, until_then.coef_)


def test_the_only_row_of_a_class_is_not_held_out():
    X, y = blurred(40)
    y[y == 2] = 1
    X[0], y[0] = 20.0, 2
    probe = SearchProbe(epochs=20, validation_fraction=0.9, random_state=0).fit(X, y)
    assert probe.predict(X[:1]) == [2]


def test_only_the_proportions_of_weights_count():
    X, y = blurred(100)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 100)
    small, large = (SearchProbe(epochs=3, random_state=0).fit(X, y, w * weight).losses_ for w in (1.0, 1e4))
    np.testing.assert_allclose(small, large, rtol=1e-5)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"objective": "brier"}, "objective"),
        ({"alpha": np.inf}, "choose a finite alpha"),
        ({"anneal": 1.5}, "anneal is 1.5"),
        ({"validation_fraction": 1.0}, "validation_fraction"),
        ({"validation_fraction": 0.01}, "holds out no row of 30"),
        ({"epochs": 0}, "epochs"),
        ({"costs": [1.0, 2.0]}, "one cost per class"),
        ({"costs": {"a": 1.0, "b": 2.0}}, "names of costs"),
    ],
)
def test_what_cannot_be_trained_is_said(options, words):
    X, y = blurred(30)
    with pytest.raises(InputError, match=words):
        SearchProbe(**options).fit(X, y)


def test_it_works_inside_scikit_learns_tools():
    X, y = load_wine(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    model = make_pipeline(StandardScaler(), SearchProbe(random_state=0, epochs=20))
    assert cross_val_score(model, X, names, scoring=neg_pandora_regret_scorer, cv=3).mean() > -0.05
    grid = {"searchprobe__alpha": [0.0, 1.0], "searchprobe__objective": ["search"]}
    search = GridSearchCV(model, grid, scoring=neg_pandora_regret_scorer, cv=2).fit(X, names)
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(again.predict_proba(X), search.predict_proba(X))
    assert (again.predict(X) == names).mean() > 0.97


def test_two_classes_have_one_decision_value():
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    probe = SearchProbe(random_state=0, epochs=20).fit(X, y == 1)
    decision, forecast = probe.decision_function(X), probe.predict_proba(X)
    np.testing.assert_allclose(1 / (1 + np.exp(-decision)), forecast[:, 1])
    np.testing.assert_array_equal(probe.predict(X), decision > 0)
