"""A recalibration that can be kept in a file: what it was fitted for, and the numbers that apply it."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pandora_regret._version import __version__
from pandora_regret.atomic import write_atomically
from pandora_regret.calibrate.rows import probabilities_of, turned
from pandora_regret.calibrate.scaling import Map
from pandora_regret.inputs import FloatArray, Forecast, InputError, Table, read_probabilities
from pandora_regret.records import from_plain, to_plain

SCHEMA = "pandora-map/1"


@dataclass(frozen=True)
class RecalibrationMap:
    """Forecasts that say better what they know, ``softmax(factors ln p + shifts)``; made by `recalibrate`.

    Examples
    --------
    >>> import numpy as np
    >>> calmer = RecalibrationMap(("a", "b"), "temperature", "log_loss", (0.5, 0.5), (0.0, 0.0), -20.0, rows=100)
    >>> calmer.predict_proba([[0.9, 0.1]])
    array([[0.75, 0.25]])
    """

    classes: tuple[str, ...]
    method: str  # "temperature", "vector", "matrix" or "prior"
    objective: str | None  # "search" or "log_loss"; None of class frequencies
    factors: tuple[float, ...] | tuple[tuple[float, ...], ...]  # (K,), or (K, K) of a matrix
    shifts: tuple[float, ...]  # (K,)
    zero: float  # the log-probability at which a probability of 0 counts
    rows: int  # it was fitted on

    @property
    def temperature(self) -> float | None:
        """What logits are divided by, where that is all it does: above 1 the forecasts were too bold."""
        return 1 / float(np.asarray(self.factors)[0]) if self.method == "temperature" else None

    def predict_proba(self, y_proba: Table, *, labels: Any = None, logits: bool = False) -> FloatArray:
        """Recalibrated forecasts, (N, K), columns in the order of `classes`.

        A frame's columns are matched by name; an array's are in the order of `classes`, or of `labels`.
        """
        names = list(self.classes) if labels is None else labels
        return self.apply(read_probabilities(y_proba, labels=names, logits=logits).check())

    def apply(self, forecast: Forecast) -> FloatArray:
        """The same past the door; the forecast's columns may be in any order."""
        scores, _ = turned(forecast, self.zero)
        scores = scores[self._positions(forecast.labels)]
        return probabilities_of(Map(np.asarray(self.factors), np.asarray(self.shifts))(scores))

    def _positions(self, labels: Sequence[Any]) -> list[int]:
        """The column of each class."""
        named = {str(label): column for column, label in enumerate(labels)}
        if set(named) != set(self.classes):
            differ = sorted(set(named) ^ set(self.classes))
            problem = f"has other classes than the map was fitted for: {differ[:8]}"
            raise InputError(
                problem, argument="y_proba", value=differ, fix="recalibrate forecasts of the same model"
            )
        return [named[name] for name in self.classes]

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write it as JSON, for `load_map`."""
        about = {"schema": SCHEMA, "library": f"pandora-regret {__version__}"}
        text = json.dumps(about | to_plain(self), indent=1, allow_nan=False) + "\n"
        return write_atomically(path, lambda file: file.write(text.encode()))


def load_map(path: str | os.PathLike[str]) -> RecalibrationMap:
    """A map that `RecalibrationMap.save` or ``pandora recalibrate`` has written.

    Parameters
    ----------
    path
        The JSON file.

    Returns
    -------
    RecalibrationMap
        Ready to transform forecasts of the same classes.

    Examples
    --------
    >>> load_map("triage.map.json").predict_proba(forecasts)  # doctest: +SKIP
    """
    place = os.fspath(path)
    try:
        plain = json.loads(Path(path).read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InputError(f"is no JSON: {error}", place=place, fix="write the map again") from None
    if not isinstance(plain, dict) or plain.get("schema") != SCHEMA:
        raise InputError(
            f"is no map: its schema is not {SCHEMA!r}", place=place, fix="pandora recalibrate writes them"
        )
    loaded = from_plain(RecalibrationMap, {key: plain[key] for key in plain if key != "schema"}, place)
    k, shape = len(loaded.classes), np.shape(np.asarray(loaded.factors, dtype=object))
    if len(set(loaded.classes)) != k or k < 2 or shape not in ((k,), (k, k)) or len(loaded.shifts) != k:
        raise InputError(
            f"has {k} classes, factors {shape} and {len(loaded.shifts)} shifts: they differ", place=place
        )
    return loaded
