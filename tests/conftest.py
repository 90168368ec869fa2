import os
from pathlib import Path

import pytest
from hypothesis import settings

if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.pop("COLUMNS", None)  # 80 in a worker, unset otherwise: tests say how wide a terminal is
settings.register_profile("house", deadline=None, derandomize=True, max_examples=60)
settings.register_profile("quick", deadline=None, derandomize=True, max_examples=5)
settings.load_profile("house")


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The documentation, built once, also for tests that run side by side."""
    pytest.importorskip("mkdocs")
    pytest.importorskip("mkdocstrings")
    pytest.importorskip("material")
    from docs_site import built_site

    folder = tmp_path_factory.getbasetemp()
    return built_site((folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "site")


@pytest.fixture
def load(tmp_path):
    """Loads the pathway file of two faults with one piece of it replaced by another."""
    from pandora_regret.core.costs import load_costs

    two_faults = (Path(__file__).parent / "data" / "two_faults.toml").read_text(encoding="utf-8")

    def load_changed(old="", new="", text=two_faults):
        assert old in text
        path = tmp_path / "faults.toml"
        path.write_text(text.replace(old, new, 1), encoding="utf-8")
        return load_costs(path)

    return load_changed
