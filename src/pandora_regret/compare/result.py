"""Comparison: what was found, frozen, to and from JSON."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass, replace
from types import UnionType
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

from pandora_regret.inputs import InputError

SCHEMA = "pandora-comparison/1"


@dataclass(frozen=True)
class Estimate:
    """A number and its interval; None where it is undefined or infinite, and then `note` says why."""

    value: float | None
    low: float | None
    high: float | None
    note: str | None = field(default=None, metadata={"optional": True})

    def mapped(self, change: Callable[[float], float]) -> Estimate:
        """The same in another unit, or tidied up."""
        value, low, high = (None if x is None else change(x) for x in (self.value, self.low, self.high))
        return replace(self, value=value, low=low, high=high)


@dataclass(frozen=True)
class MetricInfo:
    """A column of the table of models."""

    key: str
    title: str
    better: str  # "lower" or "higher"
    unit: str  # "score", "share", "money" or "tests"


@dataclass(frozen=True)
class Data:
    """The instances."""

    rows: int  # of positive weight
    weight: float
    classes: tuple[str, ...]
    class_weights: tuple[float, ...]
    clusters: int | None


@dataclass(frozen=True)
class Costs:
    """What tests cost."""

    currency: str | None
    prior: str
    typical: tuple[float, ...] | None  # None where every instance has its own
    source: str | None


@dataclass(frozen=True)
class IntervalMethod:
    """How intervals were made."""

    level: float
    method: str  # "analytic" or "bootstrap"
    replicates: int
    seed: int


@dataclass(frozen=True)
class Bin:
    """Instances of similar predicted cost."""

    predicted: float
    observed: float
    low: float | None
    high: float | None
    weight: float


@dataclass(frozen=True)
class ClassResult:
    """Instances of one true class; None where there are none."""

    label: str = field(metadata={"json": "class"})
    weight: float
    pandora_regret: float | None
    expected_cost: float | None
    realised_cost: float | None
    tests: float | None
    accuracy: float | None


@dataclass(frozen=True)
class ModelResult:
    """One model."""

    name: str
    scores: dict[str, Estimate]  # by the metrics' keys
    unavoidable: float  # the part of the expected cost that pays for testing the truth itself
    predicted_cost: Estimate  # what the forecasts predict of themselves
    calibration: tuple[Bin, ...]
    probability_best: float | None
    rank: int
    by_class: tuple[ClassResult, ...]
    pair_costs: tuple[tuple[float, ...], ...]
    alphas: tuple[float | None, ...]
    scenarios: tuple[float, ...]
    decomposition: dict[str, Estimate] | None = None

    @property
    def cost(self) -> float:
        """Mean expected search cost, which is always finite."""
        return cast(float, self.scores["expected_cost"].value)


@dataclass(frozen=True)
class Difference:
    """Two models on the same instances: mean expected cost of `model` less that of `against`, never positive."""

    model: str
    against: str
    difference: float
    low: float | None
    high: float | None
    p_value: float | None
    p_holm: float | None
    savings_per_1000: float
    realised: Estimate  # the same of the realised cost


@dataclass(frozen=True)
class LargestPair:
    """Money that goes to one wrong test."""

    model: str
    truth: str
    tested: str
    cost: float
    share: float  # of the model's expected cost
    sentence: str


@dataclass(frozen=True)
class Scenario:
    """Other costs."""

    name: str
    typical: tuple[float, ...] | None  # None where every instance has its own


@dataclass(frozen=True)
class Comparison:
    """What `compare` found; models by rising expected cost."""

    library: str
    data: Data
    costs: Costs
    interval: IntervalMethod
    metrics: tuple[MetricInfo, ...]
    models: tuple[ModelResult, ...]
    differences: tuple[Difference, ...]
    ranks: dict[str, tuple[float, ...]]
    disagreements: tuple[str, ...]
    largest_pairs: tuple[LargestPair, ...]
    alphas: tuple[float | str, ...]  # the last is "inf"
    scenarios: tuple[Scenario, ...]
    headline: tuple[str, ...]
    notes: tuple[str, ...] = ()
    schema: str = SCHEMA

    @property
    def best(self) -> ModelResult:
        """The model of least expected cost."""
        return self.models[0]

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, dicts, numbers and text: strict JSON."""
        return cast(dict[str, Any], _to_json(self))

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> Comparison:
        """The comparison that `to_dict` wrote down."""
        if given.get("schema") != SCHEMA:
            raise InputError(f"this comparison has schema {given.get('schema')!r}: {SCHEMA!r} can be read here.")
        found = _from_json(cls, given)
        if not found.models:
            raise InputError("the comparison holds no models: write it again.")
        return found

    def table(self) -> list[dict[str, Any]]:
        """One flat row a model, for printing: every score with its interval, rank, probability of being best."""
        return [_flat(model) for model in self.models]


def _flat(model: ModelResult) -> dict[str, Any]:
    row: dict[str, Any] = {"model": model.name, "rank": model.rank, "probability_best": model.probability_best}
    for key, score in (*model.scores.items(), ("predicted_cost", model.predicted_cost)):
        row |= {key: score.value, f"{key}_low": score.low, f"{key}_high": score.high}
    return row


def _to_json(value: Any) -> Any:
    if is_dataclass(value):
        named = ((each, getattr(value, each.name)) for each in fields(value))
        return {_key(each): _to_json(item) for each, item in named if item is not None or _is_required(each)}
    if isinstance(value, tuple):
        return [_to_json(item) for item in value]
    return {key: _to_json(item) for key, item in value.items()} if isinstance(value, dict) else value


def _key(each: Any) -> str:
    """A field's name in JSON, where `class` is no reserved word."""
    return str(each.metadata.get("json", each.name))


def _is_required(each: Any) -> bool:
    return not each.metadata.get("optional", False)


T = TypeVar("T")


def _from_json(kind: type[T], value: Any) -> T:
    """A value of a kind that is built of dataclasses, tuples and dicts of one kind, and optional things."""
    origin, inner = get_origin(kind), get_args(kind)
    if is_dataclass(kind):
        return cast(T, _dataclass_from(kind, value))
    if origin is UnionType and value is not None:
        return cast(T, _from_json(inner[0], value))
    if origin is tuple and value is not None:
        return cast(T, tuple(_from_json(inner[0], item) for item in value))
    if origin is dict and value is not None:
        return cast(T, {key: _from_json(inner[1], item) for key, item in value.items()})
    return cast(T, value)


def _dataclass_from(kind: Any, value: dict[str, Any]) -> Any:
    """Keys that a later version added are passed over; those that have to be there are asked for by name."""
    hints, given = get_type_hints(kind), {}
    for each in fields(kind):
        if _key(each) in value:
            given[each.name] = _from_json(hints[each.name], value[_key(each)])
    try:
        return kind(**given)
    except TypeError:
        missing = [_key(each) for each in fields(kind) if _key(each) not in value and _is_required(each)]
        raise InputError(f"the comparison's {kind.__name__} lacks {', '.join(missing)}: write it again.") from None
