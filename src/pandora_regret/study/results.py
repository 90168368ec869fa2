"""A study's results as a file: written by a run, checked when they are read."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pandora_regret.inputs import InputError
from pandora_regret.records import from_plain
from pandora_regret.study.ranking.results import AgreementRecord, check_cells

SCHEMA = "pandora-study/1"
RESULTS = "results.json"


@dataclass(frozen=True)
class DataSetRecord:
    """What a study found on one data set."""

    name: str
    currency: str | None
    failures: dict[str, str]
    agreement: AgreementRecord


@dataclass(frozen=True)
class ResultsRecord:
    """The content of a results file."""

    schema: Literal["pandora-study/1"]
    library: str
    title: str
    data: tuple[DataSetRecord, ...]


def read_results(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """What a study found, as plain values; a file that is not of that form is an `InputError` naming the key.

    Parameters
    ----------
    folder
        The study's output folder.

    Returns
    -------
    dict
        Plain values, ready for JSON.
    """
    path = Path(folder) / RESULTS
    try:
        results = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise InputError(f"{str(folder)!r} has no results yet: pandora study resume {folder}.") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror or error}).") from None
    except (ValueError, RecursionError):
        raise InputError(f"{str(path)!r} is corrupt: pandora study resume {folder} makes it again.") from None
    if not isinstance(results, dict) or results.get("schema") != SCHEMA:
        raise InputError(f"{str(path)!r} is not of the kind {SCHEMA}, which is what this release reads.")
    _check(from_plain(ResultsRecord, results, str(path)), str(path))
    return results


def _check(results: ResultsRecord, place: str) -> None:
    """What types do not say: all data sets have the same conditions, and all conditions the same metrics."""
    conditions = [[condition.name for condition in part.agreement.conditions] for part in results.data]
    if not conditions or not conditions[0] or any(names != conditions[0] for names in conditions):
        raise InputError(f"has the conditions {conditions}: every data set must have the same", place=place)
    for number, part in enumerate(results.data):
        check_cells(part.agreement, f"{place}.data[{number}].agreement")
