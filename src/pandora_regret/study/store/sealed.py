"""One array and what is known about it, in a safetensors file that carries its own checksum."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandora_regret.optional import import_optional

SEAL = "pandora"  # the one metadata key: with several, safetensors does not promise their order, nor equal bytes


class BrokenSealError(ValueError):
    """Content that is not what was written: truncated, flipped bits, or another kind of file."""


def seal(kind: str, values: NDArray[Any], about: dict[str, Any]) -> bytes:
    """The content of a safetensors file with one array, named after its kind, and a dict that JSON can hold.

    Examples
    --------
    >>> unseal(seal("logits", np.zeros((1, 2)), {"model": "a"}))
    ('logits', array([[0., 0.]]), {'model': 'a'})
    """
    values, about = np.ascontiguousarray(values), json.loads(as_json(about))
    sealed = as_json({"about": about, "sha256": _checksum(kind, values, about)})
    content: bytes = import_optional("safetensors.numpy", extra="zoo").save(
        {kind: values}, metadata={SEAL: sealed}
    )
    return content


def unseal(content: bytes) -> tuple[str, NDArray[Any], dict[str, Any]]:
    """The kind, the array and the dict, or `BrokenSealError`."""
    library = import_optional("safetensors.numpy", extra="zoo")
    try:
        ((kind, values),) = library.load(content).items()
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        sealed = json.loads(header["__metadata__"][SEAL])
        about: dict[str, Any] = sealed["about"]
        genuine = sealed["sha256"] == _checksum(kind, values, about)
    except Exception:  # there is no saying what a parser raises on flipped bits
        genuine = False
    if not genuine:
        raise BrokenSealError
    return kind, values, about


def as_json(value: Any) -> str:
    """The same text for the same value, always; what JSON does not know becomes a number or its text."""
    return json.dumps(value, sort_keys=True, default=_plain)


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, (np.generic, np.ndarray)) else str(value)


def _checksum(kind: str, values: NDArray[Any], about: dict[str, Any]) -> str:
    described = f"{kind} {values.dtype.str} {values.shape} {as_json(about)}"
    return hashlib.sha256(described.encode() + values.tobytes()).hexdigest()
