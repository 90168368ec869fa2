"""The compiled loop that scores, called without numba, which takes a second to load; and where loops are kept.

What numba makes of `lanes.score` is kept as an object file for this machine. Later processes hand that to LLVM.
"""

import ctypes
import hashlib
import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

LANES, AT_ONCE = 256, 4  # rows and classes that are looked at together
SPACING = LANES + 16  # numbers of the rows would share few places in the cache if they were a power of two apart
N_METRICS = 7
N_SLOTS = 25 + N_METRICS
OF_ROWS = (
    4 * N_METRICS
)  # sums of each metric: w x, centres, w^2 (x - centre), w^2 (x - centre)^2; then of 1, w, w^2
N_SUMS = OF_ROWS + 3
UNIFORM, RANKS, POWER = 1, 2, 3  # alpha = 1, alpha = inf, and any other
SOURCES = ("lanes.py", "jit.py", "native.py")


class Job(NamedTuple):
    """What the loop reads, and where it writes: arrays are addresses, 0 for none."""

    single: int  # whether forecasts are float32
    addresses: int  # (K,) where each class's numbers begin,
    stride: int  # and how far apart they lie
    k: int
    truth: int  # (n,)
    n_rows: int
    start: int  # the rows from here
    stop: int
    of_each: int  # whether each row has costs of its own
    buffer: int
    kind: int  # of alpha
    alpha: float
    tie: float  # how far apart, relatively, quotients may be in a tie
    tolerance: float
    logits: int = 0
    weights: int = 0  # (n,)
    costs: int = 0  # (K,) or (n, K)
    losses: int = 0  # (n,) out: ``sum_j C_j L_alpha(q_i / q_j)``, NaN where in doubt
    pairs: int = 0  # (K, K) added to: the weighted pairs of rows that are not in doubt
    sums: int = 0  # (N_SUMS,) added to: of all metrics; then also, if there are such arrays:
    counts: int = 0  # (2, K, K) added to: w and w^2 of rows of class i whose likeliest class is j
    likeliest: int = 0  # (n,) out, always beside sums; -1 where in doubt
    table: int = 0  # (7, n) out: each row's metrics
    lower: float = 1.0  # what a tie is worth at alpha = inf with a class of lower,
    higher: float = 1.0  # and of higher number
    mean: float = 1.0  # what a test costs, and the share of a loss:
    share: float = 1.0  # the cost is ``mean (C_i + share sum_j C_j L_alpha)``


@cache
def cache_folder() -> Path | None:
    """NUMBA_CACHE_DIR, the user's cache, or a folder among temporary files; None where none may be written to."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    user = getattr(os, "getuid", lambda: "user")()
    for path in (
        [chosen] if chosen else [f"{home}/pandora-regret", f"{tempfile.gettempdir()}/pandora-regret-{user}"]
    ):
        with suppress(OSError):
            os.makedirs(path, mode=0o700, exist_ok=True)
            if os.access(path, os.W_OK) and (chosen or _is_own(path)):
                return Path(path)
    return None


def _is_own(path: str) -> bool:
    """Whether nobody else can write there: what is loaded from it is run."""
    about = os.stat(path)
    return not hasattr(os, "getuid") or (about.st_uid == os.getuid() and not about.st_mode & 0o022)


def is_kept(kind: str) -> bool:
    """Whether some process has kept loops, or the object file of the one that scores."""
    folder = cache_folder()
    return folder is not None and any(folder.glob(kind))


@cache
def loop() -> Any:
    """`lanes.score`, loaded or else compiled; it writes its result to its first argument."""
    from llvmlite import __version__, binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    machine = f"{__version__} {binding.get_host_cpu_name()} {binding.get_host_cpu_features().flatten()}"
    sources = b"".join(Path(__file__).with_name(name).read_bytes() for name in SOURCES)
    folder, key = cache_folder(), hashlib.sha256(machine.encode() + sources).hexdigest()[:24]
    path = None if folder is None else folder / f"score-{key}.o"
    if (code := _read(path)) is None:
        from pandora_regret.core.kernels.jit import called_by_numba, object_code

        try:
            code = object_code()
        except AttributeError:  # of a numba whose inner parts have other names
            return called_by_numba()
        _keep(path, code)
    name, _, code = code.partition(b"\0")
    linker = binding.create_mcjit_compiler(
        binding.parse_assembly(""), binding.Target.from_default_triple().create_target_machine()
    )
    linker.add_object_file(binding.ObjectFileRef.from_data(code))
    linker.finalize_object()
    kinds = [ctypes.c_int64 if kind is int else ctypes.c_double for kind in Job.__annotations__.values()]
    kind = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.POINTER(ctypes.c_int64), ctypes.c_void_p, *kinds)
    function = kind(linker.get_function_address(name.decode()))
    function.linker = linker  # type: ignore[attr-defined]  # which owns the code
    return function


def _read(path: Path | None) -> bytes | None:
    """What was kept, whole: LLVM would end the process over a damaged file."""
    with suppress(OSError):
        kept = b"" if path is None else path.read_bytes()
        if hashlib.sha256(kept[32:]).digest() == kept[:32]:
            return kept[32:]
    return None


def _keep(path: Path | None, code: bytes) -> None:
    if path is not None:
        with suppress(OSError), tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(hashlib.sha256(code).digest() + code)
            os.replace(file.name, path)


def table_of(values: NDArray[Any]) -> tuple[Any, ...]:
    """A table, (n, K), as the loop takes it; its rows or its columns lie in one piece each."""
    addresses = values.ctypes.data + values.strides[1] * np.arange(values.shape[1])
    return values.itemsize == 4, addresses, values.strides[0] // values.itemsize


def columns_of(columns: Sequence[NDArray[Any]]) -> tuple[Any, ...]:
    """Columns, (n,) each, whose numbers are equally far apart."""
    addresses = np.array([column.__array_interface__["data"][0] for column in columns])
    return columns[0].itemsize == 4, addresses, columns[0].strides[0] // columns[0].itemsize


def score(
    forecasts: tuple[Any, ...],
    truth: NDArray[Any],
    rows: slice,
    *,
    alpha: float,
    weights: Any = None,
    costs: Any = None,
    **others: Any,
) -> int:
    """Score some rows as a `Job` says, whose arrays may be None; how many are in doubt."""
    others["single"], others["addresses"], others["stride"] = forecasts
    others["truth"], others["buffer"] = np.ascontiguousarray(truth, np.int64), np.empty(N_SLOTS * SPACING)
    for name, each in {"weights": weights, "costs": costs}.items():
        others[name] = None if each is None else np.ascontiguousarray(each, np.float64)
    given = {name: value for name, value in others.items() if value is not None}
    given |= {name: each.ctypes.data for name, each in given.items() if isinstance(each, np.ndarray)}
    job = Job(
        k=len(forecasts[1]),
        n_rows=len(truth),
        start=rows.start,
        stop=rows.stop,
        of_each=costs is not None and costs.ndim > 1,
        alpha=alpha,
        kind=UNIFORM if alpha == 1 else RANKS if alpha == np.inf else POWER,
        **given,
    )
    doubtful = ctypes.c_int64()
    loop()(doubtful, None, *job)
    return doubtful.value
