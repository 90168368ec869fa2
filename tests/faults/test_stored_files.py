"""What a later run reads back of another class order, unit or version is put right or refused, never mixed up."""

import json

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("safetensors")

from cli_files import refused, run_json
from prediction_files import write

from pandora_regret import InputError
from pandora_regret.calibrate import load_map, recalibrate
from pandora_regret.monitor import Monitor
from pandora_regret.study import Store
from pandora_regret.study.store import file_name, read_arrays, write_arrays

NAMES, ANOTHER = ["flu", "cold", "covid"], [2, 0, 1]  # classes, and another order of them
PRICES = ("--costs", "flu=20,cold=5,covid=35", "--currency", "EUR")


@pytest.fixture(scope="module")
def forecasts():
    rng = np.random.default_rng(2)
    p = rng.dirichlet(np.full(3, 0.7), 60)
    return np.array(NAMES)[[rng.choice(3, p=row) for row in p]], p


def frame(p, order=(0, 1, 2)):
    return pd.DataFrame({NAMES[k]: p[:, k] for k in order})


def week(folder, number, forecasts):
    truth, p = forecasts
    columns = {"id": 100 * number + np.arange(len(p)), "label": truth}
    return write(folder / f"{number}.csv", columns | dict(zip(NAMES, p.T, strict=True)))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((*PRICES[:3], "USD"), "other prices"),
        (("--costs", "flu=20,cold=5,covid=36", *PRICES[2:]), "other prices"),
        (("--prior", "gamma:2"), "with uniform"),
    ],
)
def test_a_monitor_refuses_another_unit_price_or_prior_and_leaves_its_state(forecasts, tmp_path, options, words):
    state = tmp_path / "state.json"
    run_json("monitor", week(tmp_path, 1, forecasts), "--state", state, *PRICES)
    before = state.read_bytes()
    assert words in refused("monitor", week(tmp_path, 2, forecasts), "--state", state, *options)
    state.write_bytes(before.replace(b"pandora-monitor/5", b"pandora-monitor/9"))
    assert "pandora-monitor/9" in refused("monitor", week(tmp_path, 2, forecasts), "--state", state)


def test_a_monitor_of_columns_without_names_refuses_columns_with_names(forecasts):
    truth, p = forecasts
    monitor = Monitor(costs=[20.0, 5.0, 35.0])
    monitor.update([NAMES.index(name) for name in truth], p)
    monitor = Monitor.from_state(json.loads(json.dumps(monitor.state())))
    with pytest.raises(InputError, match="had 0, 1, 2"):
        monitor.update(truth, frame(p, ANOTHER))


def test_a_map_is_of_classes_not_of_columns(forecasts, tmp_path):
    truth, p = forecasts
    path = recalibrate(truth, p, labels=NAMES, method="vector").map.save(tmp_path / "map.json")
    map_, expected = load_map(path), load_map(path).predict_proba(p)
    assert np.array_equal(map_.predict_proba(frame(p, ANOTHER)), expected)
    assert np.array_equal(map_.predict_proba(p[:, ANOTHER], labels=[NAMES[k] for k in ANOTHER]), expected)
    with pytest.raises(InputError, match="other classes"):
        map_.predict_proba(p, labels=["flu", "cold", "mumps"])
    path.write_text(path.read_text().replace("pandora-map/1", "pandora-map/9"))
    with pytest.raises(InputError, match="not 'pandora-map/1'"):
        load_map(path)


class TestPredictionStore:
    """Files of one model may be copied from a store to another."""

    @pytest.fixture
    def stores(self, forecasts, tmp_path):
        truth, p = forecasts
        stores = []
        for order in ((0, 1, 2), ANOTHER):
            names = [NAMES[k] for k in order]
            stores.append(Store.create(tmp_path / names[0], [names.index(name) for name in truth], names))
        stores[1].save("one", p[:, ANOTHER])
        return stores

    def moved(self, stores, change=lambda arrays, about: (arrays, about)):
        """The first store, with the second one's file."""
        path = file_name("one")
        write_arrays(stores[0].folder / path, *change(*read_arrays(stores[1].folder / path)))
        return stores[0]

    def test_classes_in_another_order_are_put_right(self, stores, forecasts):
        store = self.moved(stores)
        assert np.allclose(store.probabilities(["one"])[0], forecasts[1], atol=1e-6)

    @pytest.mark.parametrize(
        "change",
        [
            lambda arrays, about: (arrays, about | {"classes": ["flu", "cold", "mumps"]}),
            lambda arrays, about: ({"probabilities": arrays["probabilities"][:-1]}, about),
        ],
    )
    def test_other_classes_and_other_cases_are_refused(self, stores, change):
        with pytest.raises(InputError, match="not those of"):
            self.moved(stores, change).load("one")

    def test_another_version_is_refused(self, stores, monkeypatch):
        from pandora_regret.study import store

        with monkeypatch.context() as other:
            other.setattr(store, "SCHEMA", "pandora-predictions/9")
            stores[0].save("one", np.full((60, 3), 1 / 3))
        with pytest.raises(InputError, match="pandora-predictions/9"):
            stores[0].load("one")
