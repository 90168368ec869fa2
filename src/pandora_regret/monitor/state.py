"""A monitor's state as plain data: its schema, and the hash by which damage shows."""

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from hashlib import blake2b

import numpy as np

from pandora_regret.core.inputs import Fields, InputError
from pandora_regret.core.priors import Prior

SCHEMA = "pandora-monitor/5"
SEEN = np.dtype([("key", "<u8"), ("label", "u1")])


def seal_state(state: Mapping[str, object]) -> Fields:
    """A monitor's state, with whatever the caller added to it, under a hash by which damage shows.

    Whoever writes more into a state than `Monitor.state` returned, as the command does with the names of columns,
    seals it again: `Monitor.from_state` refuses a state of which any part is not what was sealed.
    """
    return {**state, "check": _hash_of(state)}


def open_state(state: object) -> Fields:
    """The parts of a state that was sealed; an error if it is of another version, or is not what was written."""
    parts = dict(state) if isinstance(state, Mapping) else {}
    if parts.get("schema") != SCHEMA:
        problem = f"has the schema {parts.get('schema')!r}, not {SCHEMA!r}"
        raise InputError(problem, argument="state", fix="pass what Monitor.state() of this version returned")
    if parts.get("check") != _hash_of(parts):
        problem = "is damaged: it is not what was written"
        raise InputError(problem, argument="state", fix="take a copy of it, or begin a new one")
    return parts


def _hash_of(state: Mapping[str, object]) -> str:
    """The hash of all of a state but the hash itself."""
    checked = {name: part for name, part in state.items() if name != "check"}
    return blake2b(json.dumps(checked, sort_keys=True).encode(), digest_size=8).hexdigest()


def write_seen(seen: Mapping[int, int]) -> str:
    """Labels by key as text, twelve bytes for each."""
    return b64encode(np.array(sorted(seen.items()), dtype=SEEN).tobytes()).decode()


def read_seen(text: str) -> dict[int, int]:
    """Labels by key, from what `write_seen` wrote."""
    return dict(np.frombuffer(b64decode(text), SEEN).tolist())


def read_prior_name(name: str) -> Prior:
    """The prior that a state names; an error where a name is not enough to make it."""
    from pandora_regret.files.prices import read_prior_argument

    try:
        return read_prior_argument(name)
    except InputError:
        fix = "pass the prior that the monitor was begun with"
        raise InputError(f"{name} cannot be made from its name", argument="prior", place="", fix=fix) from None
