"""What a store holds: each model's checksum, or the reason why there is no prediction."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from pandora_regret.inputs import InputError
from pandora_regret.study.store.sealed import BrokenSealError, as_json

FORMAT = "pandora-store/1"


@dataclass(frozen=True)
class Manifest:
    """Never changed in place: what could not be written to disk is not believed in memory either."""

    labels: str  # the identity of the labels that everything here is about
    models: dict[str, str] = field(default_factory=dict)  # the sha256 of each model's file
    failures: dict[str, str] = field(default_factory=dict)  # the reasons of those that have none

    def with_model(self, name: str, checksum: str) -> Manifest:
        """With predictions of one more model, which no longer counts as failed."""
        rest = self.without([name])
        return replace(rest, models={**rest.models, name: checksum})

    def with_failure(self, name: str, reason: str) -> Manifest:
        """With the reason why there are no predictions of a model."""
        rest = self.without([name])
        return replace(rest, failures={**rest.failures, name: reason})

    def without(self, names: Iterable[str]) -> Manifest:
        """As if nothing were known about these models."""
        dropped = set(names)
        models, failures = (
            {n: v for n, v in known.items() if n not in dropped} for known in (self.models, self.failures)
        )
        return replace(self, models=models, failures=failures)

    def to_bytes(self) -> bytes:
        """JSON for people and programs, with a checksum of its own."""
        listed = {name: {"file": file_name(name), "sha256": sha} for name, sha in self.models.items()}
        body = {"format": FORMAT, "labels": self.labels, "models": listed, "failures": self.failures}
        return json.dumps({**body, "sha256": _checksum(body)}, indent=1, sort_keys=True).encode() + b"\n"

    @classmethod
    def from_bytes(cls, content: bytes) -> Manifest:
        """The manifest, or `BrokenSealError`."""
        try:
            body = json.loads(content)
            genuine = body.pop("sha256") == _checksum(body)
        except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
            genuine = False
        if not genuine:
            raise BrokenSealError
        if body.get("format") != FORMAT:
            raise InputError(
                f"the store has format {body.get('format')!r}, this version of pandora-regret reads {FORMAT!r}: "
                "install the version that wrote it, or a newer one."
            )
        models = {name: entry["sha256"] for name, entry in body["models"].items()}
        return cls(body["labels"], models, body["failures"])


def file_name(model: str) -> str:
    """A file name for any text: readable, safe on every system, and of this model alone.

    The readable beginning may be the same for several models (``a/b`` and ``a:b``, ``A`` and ``a``); 128 bits of
    the name's SHA-256 tell them apart.

    Examples
    --------
    >>> file_name("ResNet/50.a1")
    'resnet-50.a1-2458897d82d89c0959e1e085bbd54cba.safetensors'
    """
    readable = re.sub(r"[^a-z0-9._]+", "-", model.lower()).strip("-._")[:60]
    unique = hashlib.sha256(model.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return f"{readable}-{unique}.safetensors" if readable else f"{unique}.safetensors"


def _checksum(body: dict[str, Any]) -> str:
    return hashlib.sha256(as_json(body).encode()).hexdigest()
