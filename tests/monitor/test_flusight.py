"""Three flu seasons: the stored figures are those of the forecasts, and models known to be wrong are caught."""

import importlib.util
import json
from pathlib import Path

import pytest

pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

ROOT = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("flusight_monitor", ROOT / "examples/studies/flusight_monitor.py")
flusight = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(flusight)


@pytest.fixture(scope="module")
def forecasts():
    folder = flusight.folder_of_data()
    if folder is None:
        pytest.skip("the FluSight forecasts are not beside this repository (../shared/data/flusight)")
    return flusight.read_forecasts(folder)


def test_the_stored_figures_are_those_of_the_forecasts(forecasts):
    stored = json.loads(flusight.STORED.read_text(encoding="utf-8"))
    names = ("UGA_flucast-Copycat", "FluSight-ensemble", "UGuelph-CompositeCurve")
    some = forecasts[forecasts["model"].isin(names)].copy()
    some["model"] = some["model"].astype(str)
    assert flusight.all_models(some) == [model for model in stored["models"] if model["model"] in names]


def test_models_known_to_be_wrong_are_caught_and_the_ensemble_is_not():
    models = {model["model"]: model for model in json.loads(flusight.STORED.read_text(encoding="utf-8"))["models"]}
    constant = ("FluSight-equal_cat", "FluSight-dist_cat")
    for name in flusight.KNOWN:
        if name not in constant:
            assert any(part["alarm"] for part in models[name]["horizons"]), name
    for name in ("FluSight-ensemble", "FluSight-equal_cat"):
        assert not any(part["alarm"] for part in models[name]["horizons"]), name
