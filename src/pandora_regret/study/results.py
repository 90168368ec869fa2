"""A study's results as a file: written by a run, checked when they are read."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Literal, TypedDict

from pandora_regret.inputs import InputError
from pandora_regret.inputs.records import check_record
from pandora_regret.study.ranking.results import AgreementRecord, check_agreement

SCHEMA = "pandora-study/1"
RESULTS = "results.json"


class DataSetRecord(TypedDict):
    """What a study found on one data set."""

    name: str
    currency: str | None
    failures: dict[str, str]
    agreement: AgreementRecord


class ResultsRecord(TypedDict):
    """The content of a results file."""

    schema: Literal["pandora-study/1"]
    library: str
    title: str
    data: list[DataSetRecord]


def read_results(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """What a study found, as plain values; a file that is not of that form is an `InputError` naming the key."""
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
    try:
        check_results(results)
    except InputError as error:
        raise error.within(str(path)) from None
    return results


def check_results(results: Any) -> None:
    """The form of a results file: every entry, and that all data sets have the same conditions."""
    check_record(results, ResultsRecord)
    conditions = None
    for number, part in enumerate(results["data"]):
        check_agreement(part["agreement"], f"data[{number}].agreement")
        names = [condition["name"] for condition in part["agreement"]["conditions"]]
        conditions = conditions or names
        if names != conditions:
            raise InputError(f"data[{number}] has the conditions {names}, data[0] has {conditions}.")
    if not conditions:
        raise InputError("data is empty: a study has a data set and a condition at least.")
