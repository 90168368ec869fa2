"""Random numbers that depend on what they are for alone: keys of rows, and the generators that they are mixed by.

SplitMix64 counts: the number of a row's key, or of a place in a stream, needs none before it.
"""

import hashlib
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from pandora_regret.core.inputs import FloatArray, InputError, InputTypeError, check_shape, is_missing, read_array

Keys: TypeAlias = NDArray[np.uint64]
Bits = TypeVar("Bits", Keys, np.uint64)

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FACTORS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)


def mixed(state: Bits) -> Bits:
    """SplitMix64's finaliser: neighbours in, strangers out. The same text serves NumPy and numba."""
    state = (state ^ (state >> SHIFTS[0])) * FACTORS[0]
    state = (state ^ (state >> SHIFTS[1])) * FACTORS[1]
    return state ^ (state >> SHIFTS[2])


def uniforms(start: int, n: int) -> FloatArray:
    """Numbers in (0, 1) that look random, (n,), always the same for the same place in a stream."""
    numbers = mixed((np.arange(start, start + n, dtype=np.uint64) + np.uint64(1)) * GOLDEN)
    return np.asarray((numbers >> np.uint64(11)).astype(np.float64) + 0.5) / 2.0**53


def keyed_generator(seed: int, *words: object) -> "np.random.Generator":
    """NumPy's generator, whose numbers depend on the seed and on what they are for."""
    digest = hashlib.sha256("\0".join(map(str, words)).encode()).digest()
    return np.random.default_rng([seed, *np.frombuffer(digest, dtype="<u4").tolist()])


def keys_of(values: object, name: str = "ids", n_rows: int | None = None) -> Keys:
    """A 64-bit key for each row number, id or group name, (n,): the same today, tomorrow and on every machine.

    Whole numbers are kept as they are; all else is hashed as text. So 1 and "1" are told apart, 1 and 1.0 not.

    Parameters
    ----------
    values
        Row numbers, ids or names, shape (n,).
    name
        What to call them in an error.
    n_rows
        How many there must be.

    Returns
    -------
    array
        64-bit whole numbers, shape (n,).

    Examples
    --------
    >>> keys_of([3, 4])
    array([3, 4], dtype=uint64)
    >>> keys_of(["ann", "bob", "ann"])
    array([11957940740637538957, 10566683571197309812, 11957940740637538957],
          dtype=uint64)
    """
    names = read_array(values, name)
    n = names.size if n_rows is None else n_rows
    check_shape(names, name, f"pass one entry per instance, shape ({n},)", (n,))
    if names.dtype.kind in "biu":
        return names.astype(np.uint64 if names.dtype.kind == "u" else np.int64).view(np.uint64)
    listed = names.tolist()
    try:
        keys = {value: _key_of(value) for value in dict.fromkeys(listed)}
    except TypeError:
        fix = "pass text or whole numbers"
        raise InputTypeError("hold lists or the like", argument=name, fix=fix) from None
    if None in keys.values():
        row = next(row for row, value in enumerate(listed) if keys[value] is None)
        fix = "every row needs a name, or give none to any"
        raise InputError(f"is {listed[row]!r}", argument=name, row=row, value=listed[row], fix=fix)
    return np.array([keys[value] for value in listed], dtype=np.uint64)


def _key_of(value: object) -> int | None:
    """The key of one value; None where it is missing."""
    if is_missing(value):
        return None
    if isinstance(value, (int, np.integer)) or (isinstance(value, float) and value.is_integer()):
        return int(value) % 2**64
    text = value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")
