"""Dataclasses from plain data: what the types promise, or an error that says where and why."""

import json
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta
from refusals import refused

from pandora_regret import InputError
from pandora_regret.core.records import check_keys, from_plain, parse_toml, to_plain, to_toml


@dataclass(frozen=True)
class Part:
    label: str
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


GOOD = {"kind": "one", "parts": [{"label": "a", "share": 0.5}], "counts": {"x": 1}}


@pytest.mark.parametrize(
    ("change", "place", "value", "says"),
    [
        ({"kind": "three"}, "whole.kind", "three", "'one', 'two'"),
        ({"parts": [{"label": "a"}]}, "whole.parts[0]", None, "lacks 'share'"),
        ({"parts": [{"label": 3, "share": 1}]}, "whole.parts[0].label", 3, "be text."),
        ({"parts": [{"label": "a", "share": True}]}, "whole.parts[0].share", True, "a number"),
        ({"parts": [{"label": "a", "share": float("nan")}]}, "whole.parts[0].share", float("nan"), "a number"),
        ({"parts": [{"label": "a", "share": 10**400}]}, "whole.parts[0].share", 10**400, "too large"),
        ({"counts": {"my x": "1"}}, 'whole.counts."my x"', "1", "whole number."),
        ({"parts": [[]]}, "whole.parts[0]", [], "a table"),
        ({"alphas": [None]}, "whole.alphas[0]", None, "a number"),
        ({"sure": 1}, "whole.sure", 1, "true or false"),
    ],
)
def test_what_does_not_fit_is_named_by_its_path(change, place, value, says):
    with refused(place=place, value=value, says=says):
        from_plain(Whole, GOOD | change, "whole")


def test_keys_of_later_versions_are_passed_over():
    assert from_plain(Whole, GOOD | {"later": 1}, "whole") == from_plain(Whole, GOOD, "whole")


def test_keys_of_no_field_are_refused_at_any_depth():
    check_keys(Whole, GOOD, "whole")
    with refused(place="whole.parts[0].shar", value=0.5, says="mean 'share'?"):
        check_keys(Whole, GOOD | {"parts": [{"label": "a", "shar": 0.5}]}, "whole")


@dataclass(frozen=True)
class Range:
    low: Annotated[float, Meta(ge=0)]
    high: float

    def __post_init__(self):
        if not self.low < self.high:
            raise InputError(argument="low", value=self.low, fix="it must be below high")


@pytest.mark.parametrize(
    ("low", "message"),
    [
        (-1, r"ranges\[1\].low is -1: .*>= 0"),
        (9, r"ranges\[1\].low is 9: .*high"),
    ],
)
def test_limits_and_a_dataclasses_own_checks_are_named_by_their_path(low, message):
    with pytest.raises(InputError, match=message):
        from_plain(tuple[Range, ...], [{"low": 1, "high": 2}, {"low": low, "high": 2}], "ranges")


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
leaves = st.one_of(
    texts, st.booleans(), st.integers(-(10**9), 10**9), st.floats(allow_nan=False, allow_infinity=False)
)
tables = st.recursive(
    st.one_of(leaves, st.lists(leaves, max_size=3)), lambda part: st.dictionaries(texts, part, max_size=3)
)


@given(st.dictionaries(texts, tables, max_size=4))
def test_toml_is_read_back_as_it_was_with_tables_in_their_order(document):
    back = parse_toml(to_toml(document).encode(), "file")
    assert back == document

    def tables_of(value):
        inner = [(key, part) for key, part in value.items() if isinstance(part, dict)]
        return [(key, tables_of(part)) for key, part in inner]

    assert tables_of(back) == tables_of(document)
