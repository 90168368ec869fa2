"""Dataclasses from plain data: what the types promise, or an error that says where and why."""

import json
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pandora_regret import InputError
from pandora_regret.records import from_plain, to_plain


@dataclass(frozen=True)
class Part:
    label: str = field(metadata={"json": "class"})
    share: float | None
    note: str | None = field(default=None, metadata={"optional": True})


@dataclass(frozen=True)
class Whole:
    kind: Literal["one", "two"]
    parts: tuple[Part, ...]
    counts: dict[str, int]
    alphas: tuple[float | str, ...] = ()
    sure: bool = True
    anything: Any = None


NUMBERS = st.floats(-1e100, 1e100)
PARTS = st.builds(Part, st.text(), st.none() | NUMBERS, st.none() | st.text())
WHOLES = st.builds(
    Whole,
    st.sampled_from(["one", "two"]),
    st.lists(PARTS).map(tuple),
    st.dictionaries(st.text(), st.integers(-(10**9), 10**9)),
    st.lists(NUMBERS | st.text()).map(tuple),
    st.booleans(),
    st.none() | st.integers(),
)


@given(WHOLES)
def test_what_was_written_is_read_again(whole):
    assert from_plain(Whole, json.loads(json.dumps(to_plain(whole), allow_nan=False)), "whole") == whole


GOOD = {"kind": "one", "parts": [{"class": "a", "share": 0.5}], "counts": {"x": 1}}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "three"}, r"whole.kind is 'three': it must be one of 'one', 'two'."),
        ({"parts": [{"class": "a"}]}, r"whole.parts\[0\] lacks 'share': write it again."),
        ({"parts": [{"class": 3, "share": 1}]}, r"whole.parts\[0\].class is 3: it must be text."),
        ({"parts": [{"class": "a", "share": True}]}, r"whole.parts\[0\].share is True: it must be a number"),
        ({"parts": [{"class": "a", "share": float("nan")}]}, r"share is nan: it must be a number"),
        ({"parts": [{"class": "a", "share": 10**400}]}, r"share is 1000.*: it must be a number"),
        ({"parts": {}}, r"whole.parts is \{\}: it must be a list."),
        ({"parts": [[]]}, r"whole.parts\[0\] is \[\]: it must be a table of named values."),
        ({"counts": [1]}, r"whole.counts is \[1\]: it must be a table of named values."),
        ({"counts": {"x": 1.5}}, r"whole.counts.x is 1.5: it must be a whole number."),
        ({"alphas": [None]}, r"whole.alphas\[0\] is None: it must be a number"),
        ({"sure": 1}, r"whole.sure is 1: it must be true or false."),
    ],
)
def test_what_does_not_fit_is_named_by_its_path(change, message):
    with pytest.raises(InputError, match=message):
        from_plain(Whole, GOOD | change, "whole")


def test_keys_of_later_versions_are_passed_over():
    assert from_plain(Whole, GOOD | {"later": 1}, "whole") == from_plain(Whole, GOOD, "whole")
