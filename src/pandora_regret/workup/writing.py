"""A work-up as a TOML file."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from pandora_regret.workup.format import ABOUT_KEYS, FORMAT_VERSION, NONE

if TYPE_CHECKING:
    from pandora_regret.workup.description import Workup, WorkupStep


def as_document(workup: Workup) -> dict[str, Any]:
    """Plain values under the keys of the file; what is not said there is left out."""
    classes = workup.classes
    document: dict[str, Any] = {"format_version": FORMAT_VERSION}
    document |= {key: getattr(workup, key) for key in (*ABOUT_KEYS, "year")}
    document |= {"classes": list(classes), "confirm": workup.confirm, "budget": workup.budget}
    document["unresolved"] = _by_class(workup.unresolved, classes) if any(workup.unresolved) else None
    document["rounds"] = {"fee": workup.fee, "together": list(workup.together)} if workup.fee else None
    document["steps"] = {step.name: _step(step, classes) for step in workup.steps}
    losses = {stop.name: _by_class(stop.losses, classes) for stop in workup.stops}
    document["stops"] = {
        stop.name: {"wrong" if stop.names_class else "loss": losses[stop.name]} for stop in workup.stops
    }
    return {key: value for key, value in document.items() if value not in (None, "", {})}


def _step(step: WorkupStep, classes: tuple[str, ...]) -> dict[str, Any]:
    table: dict[str, Any] = {"cost": step.cost}
    if step.requires:
        table["requires"] = [str(one) for one in step.requires]
    if step.outcomes == ("done",):
        return table
    told = [classes[k] for k in step.confirmed if k is not None]
    if step.is_certain and step.outcomes in ((*told,), (*told, NONE)):
        return table | {"tells_apart": told}
    if step.outcomes == ("yes", "no") and len(told) == 1 and np.count_nonzero(step.chances[0]) == 1:
        sensitivity = max(step.chances[0])
        return table | {"confirms": told[0]} | ({} if sensitivity == 1 else {"sensitivity": sensitivity})
    rows = zip(step.outcomes, step.chances, strict=True)
    table["outcomes"] = {name: _by_class(row, classes) for name, row in rows}
    table["confirming"] = [name for name, k in zip(step.outcomes, step.confirmed, strict=True) if k is not None]
    return table


def _by_class(values: tuple[float, ...], classes: tuple[str, ...]) -> Any:
    """One number if all classes have it, else a table."""
    return values[0] if len(set(values)) == 1 else dict(zip(classes, values, strict=True))


def as_toml(document: dict[str, Any]) -> str:
    """The text of a file: first what is no table, then steps and stops one table each."""
    tables = {key: value for key, value in document.items() if isinstance(value, dict)}
    lines = [f"{key} = {_value(value)}" for key, value in document.items() if key not in tables]
    for key, table in tables.items():
        for name, inner in table.items():
            if isinstance(inner, dict):
                lines += ["", f"[{key}.{_key(name)}]", *_entries(inner)]
            elif name == next(iter(table)):
                lines += ["", f"[{key}]", *_entries(table)]
    return "\n".join(lines) + "\n"


def _entries(table: dict[str, Any]) -> list[str]:
    lines = []
    for key, value in table.items():
        nested = isinstance(value, dict) and any(isinstance(inner, dict) for inner in value.values())
        pairs = (
            [(f"{_key(key)}.{_key(name)}", inner) for name, inner in value.items()]
            if nested
            else [(_key(key), value)]
        )
        lines += [f"{name} = {_value(inner)}" for name, inner in pairs]
    return lines


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(key)} = {_value(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(_value(inner) for inner in value) + "]"
    return repr(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))


def _text(text: str) -> str:
    """JSON's strings are TOML's, but for the characters that JSON leaves as they are and TOML forbids."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
