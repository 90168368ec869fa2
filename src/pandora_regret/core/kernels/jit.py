"""numba's compiler, with a cache on disk that a damaged or outdated file cannot break; exp and log for its loops.

Inside a loop LLVM turns these two into vector code, where libm's would be called once per number: Cody-Waite
reduction and a polynomial, relative error below 1e-15. They are compiled without reassociation, which would undo
the reduction's two-part constants.
"""

import functools
import logging
from collections.abc import Callable
from contextlib import suppress
from threading import Timer
from typing import Any

import numba
from llvmlite import ir
from numba import config, types
from numba.core.caching import FunctionCache
from numba.extending import intrinsic

from pandora_regret.core.kernels.native import Job, cache_folder

EXACT: dict[str, Any] = {"nogil": True, "cache": True, "fastmath": {"contract"}, "error_model": "numpy"}
INLINE: dict[str, Any] = {**EXACT, "forceinline": True}  # a call in a loop would keep it from being vectorised
FAST: dict[str, Any] = {**EXACT, "fastmath": {"contract", "reassoc", "nsz", "arcp"}}  # NaN and inf still count

SILENT_SECONDS = 1.0  # of compiling
SMALLEST = -708.0  # exp of less is below the normal floats, and taken as 0
LOG2_E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
SQRT_2 = 1.4142135623730951
ROUNDER = 1.5 * 2.0**52  # adding it leaves no bits for a fraction


class ForgivingCache(FunctionCache):  # type: ignore[misc]
    """A cache whose files are made anew where they cannot be read; compiling that takes long is told of."""

    _waiting: Timer | None = None

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What was compiled before, or None."""
        loaded = None
        try:
            loaded = super().load_overload(sig, target_context)
        except Exception:  # numba unpickles what it stored, and that fails in any way there is
            with suppress(Exception):
                self.flush()
        if loaded is None:
            self._waiting = begin_to_wait()
        return loaded

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep it for the next process, if that is possible."""
        if self._waiting is not None:
            self._waiting.cancel()
        with suppress(Exception):
            super().save_overload(sig, data)


def begin_to_wait() -> Timer:
    """What is told where compiling takes long, unless it is cancelled."""
    timer = Timer(SILENT_SECONDS, tell_once)
    timer.daemon = True
    timer.start()
    return timer


@functools.cache
def tell_once() -> None:
    """Say what takes so long, the first time that something does."""
    kept = "which later runs load" if cache_folder() else "which no folder can keep: set NUMBA_CACHE_DIR"
    logging.getLogger("pandora_regret").warning("Compiling loops for this machine, %s.", kept)


def njit(*, cache: bool = False, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """numba.njit, whose cache forgives; where there is nowhere to keep one, every process compiles."""

    def decorate(function: Callable[..., Any]) -> Any:
        compiled, folder = numba.njit(**options)(function), cache_folder()
        if cache and folder and hasattr(compiled, "enable_caching"):  # not where numba is switched off
            usual, config.CACHE_DIR = config.CACHE_DIR, str(folder)  # which is looked at here, and only here
            compiled._cache = ForgivingCache(function)
            config.CACHE_DIR = usual
        return compiled

    return decorate


def object_code() -> bytes:
    """`lanes.score` for this machine: its name there, 0, and an object file."""
    from llvmlite import binding

    from pandora_regret.core.kernels.lanes import score

    waiting = begin_to_wait()
    alone = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}  # so that it needs nothing of numba's
    compiled = numba.njit(**{**FAST, "cache": False}, **alone)(score)
    kinds = [types.int64 if kind is int else types.float64 for kind in Job.__annotations__.values()]
    compiled.compile((types.NamedTuple(kinds, Job),))  # which is passed field by field
    [result] = compiled.overloads.values()
    module = binding.parse_bitcode(result.library._final_module.as_bitcode())
    waiting.cancel()
    return result.fndesc.llvm_func_name.encode() + b"\0" + bytes(result.library.codegen._tm.emit_object(module))


@functools.cache
def called_by_numba() -> Callable[..., None]:
    """`lanes.score`, compiled and called in numba's own way; its arguments are those of the object file's."""
    from pandora_regret.core.kernels.lanes import score

    compiled = njit(**FAST)(score)
    return lambda result, _, *arguments: setattr(result, "value", compiled(Job(*arguments)))


def _bitcast(given: Any, wanted: Any, kind: ir.Type) -> Any:
    """A number of one type as the number of another that has the same bits."""

    def typed(_context: Any, _number: Any) -> Any:
        return wanted(given), lambda _target, builder, _signature, numbers: builder.bitcast(numbers[0], kind)

    return intrinsic(typed)


_bits = _bitcast(types.float64, types.int64, ir.IntType(64))
_float = _bitcast(types.int64, types.float64, ir.DoubleType())


@njit(**INLINE)
def exp_parts(x):
    """For x <= 0, a power of two s and a small m: ``exp(x) = s + s m`` and ``expm1(x) = s m + (s - 1)``."""
    x = x if x > SMALLEST else SMALLEST
    shifted = x * LOG2_E + ROUNDER
    k = shifted - ROUNDER  # x / ln 2, rounded; its low bits are those of `shifted`
    f = (x - k * LN2_HIGH) - k * LN2_LOW
    m = 2.5100472505694996e-08  # Chebyshev's fit of (e^f - 1 - f) / f^2 for |f| <= ln(2) / 2, to 2e-17
    m = m * f + 2.7620201591031547e-07
    m = m * f + 2.7557268276905696e-06
    m = m * f + 2.4801521057868204e-05
    m = m * f + 1.9841269863171557e-04
    m = m * f + 1.3888888917367081e-03
    m = m * f + 8.3333333333300390e-03
    m = m * f + 4.1666666666623824e-02
    m = m * f + 1.6666666666666669e-01
    m = m * f + 5.0000000000000010e-01
    m = m * f * f + f
    return _float((_bits(shifted) << 52) + (1023 << 52)), m


@njit(**INLINE)
def log_normal(x):
    """``ln x`` of a positive normal float, by the series of ``2 artanh((x - 1) / (x + 1))``."""
    bits = _bits(x)
    exponent = (bits >> 52) - 1023
    m = _float((bits & 0xFFFFFFFFFFFFF) | 0x3FF0000000000000)
    high = m > SQRT_2
    m = 0.5 * m if high else m
    e = types.float64(exponent + 1 if high else exponent)
    f = (m - 1) / (m + 1)
    s = f * f
    series = 1 / 21
    series = series * s + 1 / 19
    series = series * s + 1 / 17
    series = series * s + 1 / 15
    series = series * s + 1 / 13
    series = series * s + 1 / 11
    series = series * s + 1 / 9
    series = series * s + 1 / 7
    series = series * s + 1 / 5
    series = series * s + 1 / 3
    return e * LN2_HIGH + (2 * f + (2 * f * s * series + e * LN2_LOW))
