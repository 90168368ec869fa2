"""What pytest leaves out where a library is missing, the pages it runs, and which tests `make quick` leaves out.

(--doctest-modules imports every module that it collects.)
"""

import os
from importlib.util import find_spec
from pathlib import Path

if not Path("/dev/nvidia0").exists():  # before anything imports torch, which may import triton
    os.environ["TRITON_INTERPRET"] = "1"  # Triton's own functions read it, too

import pytest
import torchvision_operators  # noqa: F401  (before anything imports timm or torchmetrics)
from docs_site import PageFile

NEEDS = {
    "docs/how-to/integrations.md": ["mlflow", "optuna"],
    "docs/how-to/warehouse.md": ["duckdb", "polars"],
    "docs/how-to/learn-a-workup.md": ["sklearn", "pyarrow"],
    "docs/how-to/train.md": ["torch", "torchmetrics", "sklearn"],
    "src/pandora_regret/calibrate/estimators.py": ["sklearn"],
    "src/pandora_regret/cli": ["click"],
    "src/pandora_regret/files": ["pyarrow"],
    "src/pandora_regret/integrations/sklearn.py": ["sklearn"],
    "src/pandora_regret/integrations/spark.py": ["pyarrow"],
    "src/pandora_regret/integrations/torch": ["torch"],
    "src/pandora_regret/integrations/torch/metrics.py": ["torchmetrics"],
    "src/pandora_regret/core/kernels/compiled.py": ["numba"],
    "src/pandora_regret/core/kernels/gpu.py": ["torch", "triton"],
    "src/pandora_regret/core/kernels/gpu_loops.py": ["triton"],
    "src/pandora_regret/core/kernels/numba_cache.py": ["numba"],
    "src/pandora_regret/metrics/auroc_loops.py": ["numba"],
    "src/pandora_regret/plots": ["matplotlib"],
    "src/pandora_regret/study/ranking_loops.py": ["numba"],
    "src/pandora_regret/study/store.py": ["safetensors"],
    "src/pandora_regret/study/zoos/existing.py": ["safetensors", "pyarrow"],
    "src/pandora_regret/study/zoos/tables.py": ["sklearn"],
    "src/pandora_regret/workup/loops.py": ["numba"],
}
SLOW_FOLDERS = ("browser", "engines", "faults", "integrations", "plots", "study")
SLOW_FIXTURES = {"browser", "site", "cluster"}
LEFT_OUT = {
    path: missing for path, needed in NEEDS.items() if (missing := [lib for lib in needed if not find_spec(lib)])
}
collect_ignore = ["docs/hooks", *LEFT_OUT]  # what builds the site is no example


def pytest_report_header():
    """Say so, above the results."""
    return [f"left out: {path} (no {', '.join(missing)})" for path, missing in LEFT_OUT.items()]


def pytest_collect_file(file_path, parent):
    """Every page is a test of its examples."""
    return PageFile.from_parent(parent, path=file_path) if file_path.suffix == ".md" else None


def pytest_collection_modifyitems(items):
    """Slow are pages, some folders, and whatever needs a browser, the site or a cluster; other tests say it."""
    folders = {Path(__file__).parent / "tests" / name for name in SLOW_FOLDERS}
    for item in items:
        if (
            item.path.suffix == ".md"
            or folders & set(item.path.parents)
            or SLOW_FIXTURES & set(getattr(item, "fixturenames", ()))
        ):
            item.add_marker(pytest.mark.slow)
