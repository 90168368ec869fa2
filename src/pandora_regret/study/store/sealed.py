"""Arrays and what is known about them, in a safetensors file that carries its own checksum."""

from __future__ import annotations

import hashlib
import json
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pandora_regret.optional import import_optional

SEAL = "pandora"  # the one metadata key: with several, safetensors does not promise their order, nor equal bytes


Arrays: TypeAlias = dict[str, NDArray[Any]]


class BrokenSealError(ValueError):
    """Content that is not what was written: truncated, flipped bits, or another kind of file."""


def seal(arrays: Arrays, about: dict[str, Any]) -> bytes:
    """The content of a safetensors file with these arrays, by name, and a dict that JSON can hold.

    Examples
    --------
    >>> unseal(seal({"logits": np.zeros((1, 2))}, {"model": "a"}))
    ({'logits': array([[0., 0.]])}, {'model': 'a'})
    """
    arrays, about = {n: np.ascontiguousarray(values) for n, values in arrays.items()}, json.loads(as_json(about))
    sealed = as_json({"about": about, "sha256": _checksum(arrays, about)})
    content: bytes = import_optional("safetensors.numpy", extra="zoo").save(arrays, metadata={SEAL: sealed})
    return content


def unseal(content: bytes) -> tuple[Arrays, dict[str, Any]]:
    """The arrays and the dict, or `BrokenSealError`."""
    library = import_optional("safetensors.numpy", extra="zoo")
    try:
        arrays: Arrays = library.load(content)
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        sealed = json.loads(header["__metadata__"][SEAL])
        about: dict[str, Any] = sealed["about"]
        genuine = sealed["sha256"] == _checksum(arrays, about)
    except Exception:  # there is no saying what a parser raises on flipped bits
        genuine = False
    if not genuine:
        raise BrokenSealError
    return arrays, about


def as_json(value: Any) -> str:
    """The same text for the same value, always; what JSON does not know becomes a number or its text."""
    return json.dumps(value, sort_keys=True, default=_plain)


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, (np.generic, np.ndarray)) else str(value)


def _checksum(arrays: Arrays, about: dict[str, Any]) -> str:
    digest = hashlib.sha256()
    for name, values in sorted(arrays.items()):
        digest.update(f"{name} {values.dtype.str} {values.shape} {as_json(about)}".encode())
        digest.update(values.tobytes())
    return digest.hexdigest()
