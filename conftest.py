"""What pytest leaves out where a library is missing: --doctest-modules imports every module it collects."""

from importlib.util import find_spec

NEEDS = {
    "docs/training.md": ["torch", "torchmetrics", "sklearn"],
    "src/pandora_regret/integrations/torch": ["torch"],
    "src/pandora_regret/integrations/torch/metrics.py": ["torchmetrics"],
    "src/pandora_regret/kernels/compiled.py": ["numba"],
    "src/pandora_regret/kernels/cpu.py": ["numba"],
    "src/pandora_regret/kernels/vector.py": ["numba"],
    "src/pandora_regret/kernels/gpu.py": ["torch", "triton"],
    "src/pandora_regret/kernels/gpu_loops.py": ["triton"],
}
LEFT_OUT = {
    path: missing for path, needed in NEEDS.items() if (missing := [lib for lib in needed if not find_spec(lib)])
}
collect_ignore = list(LEFT_OUT)


def pytest_report_header():
    """Say so, above the results."""
    return [f"left out: {path} (no {', '.join(missing)})" for path, missing in LEFT_OUT.items()]
