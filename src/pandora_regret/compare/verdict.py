"""What to do, as far as the data settle it: deploy, recalibrate first, or gather so many more cases."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pandora_regret.compare.cases import POWER, more_cases
from pandora_regret.compare.doubts import DO_NOT_TRUST
from pandora_regret.compare.result import Decision, Difference, ModelResult, Recalibrated
from pandora_regret.compare.words import per_case
from pandora_regret.inference.estimate import Estimate
from pandora_regret.text import listed, money, percent

MOST_NAMES = 4  # in one sentence
NOTHING = 1e-3  # of the cost: a saving that no reader would notice


@dataclass(frozen=True)
class Evidence:
    """What a verdict rests on; the cheapest model comes first."""

    models: Sequence[ModelResult]
    differences: Sequence[Difference]
    both_recalibrated: Mapping[str, Estimate]  # each model's recalibrated cost less the leader's recalibrated cost
    rows: int
    clusters: int | None  # None where every row is one of its own
    level: float
    unit: str | None  # of the costs; None where nobody said what tests cost
    what: str = "search"

    @property
    def leader(self) -> ModelResult:
        """The model of least cost."""
        return self.models[0]

    @property
    def gaps(self) -> dict[str, Difference]:
        """The leader against each other model."""
        return {gap.against: gap for gap in self.differences if gap.model == self.leader.name}

    @property
    def undecided(self) -> tuple[str, ...]:
        """The models that the data do not tell apart from the leader.

        Zero inside its own paired interval is what counts, however many models there are: that the one which came
        out first is told apart from all others by chance is likeliest if there are two (Gutmann and Maymin, Is the
        selected population the best?, 1987).
        """
        return tuple(name for name, gap in self.gaps.items() if not gap.is_settled)

    @property
    def lifted(self) -> tuple[ModelResult, ...]:
        """The models that recalibrating lifts to the leader, or past it, the cheapest then first.

        Recalibrating must save them something beyond doubt. Where they were told apart from the leader, they then
        cost no more than it does, as it is and recalibrated too; where they were not, they come out ahead.
        """
        return tuple(model for model in self._recalibrated_rivals if self._is_lifted(model))

    @property
    def caught_up(self) -> tuple[ModelResult, ...]:
        """The models that are dearer than the leader, and recalibrated still dearer, but no longer beyond doubt.

        That may be for want of cases, so it is no reason to recalibrate them first.
        """
        rivals = [model for model in self._recalibrated_rivals if model.name not in self.undecided]
        return tuple(model for model in rivals if not self._is_lifted(model) and not self._stays_dearer(model))

    @property
    def worth_recalibrating(self) -> list[ModelResult]:
        """The models that recalibrating makes cheaper beyond doubt, the cheapest then first."""
        able = [model for model in self.models if model.recalibrated is not None]
        able = [model for model in able if _is_above_zero(_self(model).saved)]
        return sorted(able, key=lambda model: _self(model).cost.value or 0.0)

    @property
    def _recalibrated_rivals(self) -> list[ModelResult]:
        return [model for model in self.worth_recalibrating if model is not self.leader]

    def _gaps_recalibrated(self, model: ModelResult) -> tuple[Estimate, Estimate]:
        return _self(model).against_leader, self.both_recalibrated[model.name]

    def _is_lifted(self, model: ModelResult) -> bool:
        gaps = self._gaps_recalibrated(model)
        if model.name in self.undecided:
            return all(_is_below_zero(gap) for gap in gaps)
        return all(self._is_nothing(gap) or (_is_trusted(gap) and _value(gap) <= 0) for gap in gaps)

    def _is_nothing(self, gap: Estimate) -> bool:
        """Whether no reader would notice it, wherever in its interval it lies."""
        ends = [abs(end) for end in (gap.low, gap.high) if end is not None]
        return len(ends) == 2 and max(ends) <= NOTHING * self.leader.cost

    def _stays_dearer(self, model: ModelResult) -> bool:
        return any(_is_above_zero(gap) for gap in self._gaps_recalibrated(model))

    def cases_needed(self) -> int | None:
        """So many more would settle every difference that is not; None where that cannot be said."""
        needed = [
            more_cases(self.gaps[name], self.rows, self.clusters, self.level, POWER) for name in self.undecided
        ]
        known = [cases for cases in needed if cases is not None]
        return max(known) if known and len(known) == len(needed) else None


def verdict(evidence: Evidence) -> Decision:
    """Deploy the cheapest model if the data tell it apart from every other and recalibrating changes nothing."""
    kind: Literal["deploy", "undecided", "recalibrate", "single"] = "deploy"
    if len(evidence.models) == 1:
        kind = "single"
    elif evidence.lifted:
        kind = "recalibrate"
    elif evidence.undecided:
        kind = "undecided"
    first = {"deploy": _deploy, "undecided": _undecided, "recalibrate": _recalibrate, "single": _single}[kind]
    sentences = (*first(evidence), *_at_stated_prices(evidence))
    lifted = tuple(model.name for model in evidence.lifted)
    return Decision(kind, evidence.leader.name, evidence.undecided, evidence.cases_needed(), lifted, sentences)


def _single(evidence: Evidence) -> list[str]:
    leader = evidence.leader
    return [f"A {evidence.what} by {leader.name} costs {_cost(leader, evidence)}.", *_own_saving(evidence)]


def _deploy(evidence: Evidence) -> list[str]:
    leader, models = evidence.leader, len(evidence.models)
    best = f"its {evidence.what} costs {_cost(leader, evidence)}, the least of {models} models"
    return [f"Deploy {leader.name}: {best}.", _runner_up(evidence), *_own_saving(evidence), *_caught_up(evidence)]


def _undecided(evidence: Evidence) -> list[str]:
    """Who is not told apart, how many cases would do so, and who is dearer all the same."""
    said = _not_told_apart(evidence, evidence.undecided)
    dearer = [model.name for model in evidence.models[1:] if model.name not in evidence.undecided]
    if dearer:
        said.append(f"{_named(dearer)} {'are' if len(dearer) > 1 else 'is'} dearer than {evidence.leader.name}.")
    return [*said, _runner_up(evidence), *_might_be_lifted(evidence), *_caught_up(evidence)]


def _not_told_apart(evidence: Evidence, names: Sequence[str]) -> list[str]:
    if not names:
        return []
    return [f"{_named((evidence.leader.name, *names))} cannot be told apart yet: {_why_undecided(evidence)}."]


def _why_undecided(evidence: Evidence) -> str:
    gaps = [evidence.gaps[name] for name in evidence.undecided]
    if all(gap.difference == 0 for gap in gaps):
        return "they cost the same"
    doubt = next((gap.warning for gap in gaps if gap.warning is not None), None)
    if doubt is not None:
        return doubt.removesuffix(f": {DO_NOT_TRUST}")
    if any(gap.low is None for gap in gaps):
        return "it takes more than one independent case"
    if (cases := evidence.cases_needed()) is None:
        return "their costs are too close"
    settle = f"would settle a difference of this size ({100 * POWER:.0f} % power)"
    return f"about {_round_count(cases)} more cases {settle}"


def _recalibrate(evidence: Evidence) -> list[str]:
    leader, model = evidence.leader.name, evidence.lifted[0]
    later = _self(model)
    gap = later.against_leader
    then, now = (money(amount, evidence.unit) for amount in (later.cost.value or 0.0, evidence.leader.cost))
    if _is_below_zero(gap):
        said = f"it then costs {per_case(gap.turned, evidence.unit, f' less than {leader}')}"
    else:
        level = "no more than" if _value(gap) <= 0 else "about as much as"
        said = f"it then costs {level} {leader} ({then} against {now} per case)"
    others = [other.name for other in evidence.lifted[1:]]
    more = [f"The same goes for {_named(others)}."] if others else []
    first = f"Recalibrate {model.name} first: {said}."
    undecided = [name for name in evidence.undecided if name != model.name]
    return [first, *_not_told_apart(evidence, undecided), *more, _as_it_is(evidence, model.name)]


def _as_it_is(evidence: Evidence, name: str) -> str:
    leader = evidence.leader.name
    if name in evidence.undecided:
        return f"As they are, {leader} and {name} cannot be told apart."
    more = per_case(evidence.gaps[name].more, evidence.unit, f" more than {leader}")
    return f"As it is, {name} costs {more}."


def _might_be_lifted(evidence: Evidence) -> list[str]:
    """The cheapest recalibrated self among models that the data do not tell apart anyway, if it saves for sure."""
    names = (evidence.leader.name, *evidence.undecided)
    best = next((model for model in evidence.worth_recalibrating if model.name in names), None)
    if best is None:
        return []
    saved = per_case(_self(best).saved, evidence.unit)
    then = money(_self(best).cost.value or 0.0, evidence.unit)
    return [f"Recalibrate {best.name} in any case: that saves {saved}, and it then costs {then}."]


def _caught_up(evidence: Evidence) -> list[str]:
    """What recalibrating makes of dearer models that these data then no longer tell apart from the leader."""
    if not (models := evidence.caught_up):
        return []
    then, others = money(_self(models[0]).cost.value or 0.0, evidence.unit), [model.name for model in models[1:]]
    also = f"; nor could {_named(others)}" if others else ""
    apart = f"could not be told apart from {evidence.leader.name}{also}"
    return [f"Recalibrated, {models[0].name} costs {then} per case and {apart}."]


def _own_saving(evidence: Evidence) -> list[str]:
    """What recalibrating the leader itself would save, where that is beyond doubt."""
    later = evidence.leader.recalibrated
    if (
        later is None
        or not _is_above_zero(later.saved)
        or (later.saved.value or 0.0) < NOTHING * evidence.leader.cost
    ):
        return []
    return [f"Recalibrate it, too: that saves {per_case(later.saved, evidence.unit)}."]


def _runner_up(evidence: Evidence) -> str:
    second, leader = evidence.models[1], evidence.leader
    gap = evidence.gaps[second.name]
    if gap.low is None or gap.high is None or leader.probability_best is None:
        return "How sure that is cannot be said: it takes more than one independent case."
    sure = f"{leader.name} is the cheapest with probability {percent(leader.probability_best)}"
    if gap.difference == 0:
        return f"The runner-up, {second.name}, costs the same; {sure}."
    return f"The runner-up, {second.name}, costs {per_case(gap.more, evidence.unit, ' more')}; {sure}."


def _at_stated_prices(evidence: Evidence) -> list[str]:
    """One sentence, if another model is the cheapest where prices are exactly as stated."""
    known = [model for model in evidence.models if model.at_stated_prices is not None]
    if evidence.unit is None or len(known) < 2:
        return []
    first = min(known, key=lambda model: _value(model.at_stated_prices))
    if first is evidence.leader or (gap := evidence.gaps[first.name].realised).value in (None, 0.0):
        return []
    doubt = "" if _is_above_zero(gap) else ", which these data do not settle"
    less = per_case(gap, evidence.unit, f" less than {evidence.leader.name}")
    return [f"If prices are exactly as stated, {first.name} is the cheapest: {less}{doubt}."]


def _cost(model: ModelResult, evidence: Evidence) -> str:
    return per_case(model.scores["expected_cost"], evidence.unit)


def _value(estimate: Estimate | None) -> float:
    return math.inf if estimate is None or estimate.value is None else estimate.value


def _is_above_zero(estimate: Estimate) -> bool:
    """Whether the data settle that."""
    return estimate.low is not None and estimate.low > 0 and _is_trusted(estimate)


def _is_below_zero(estimate: Estimate) -> bool:
    return estimate.high is not None and estimate.high < 0 and _is_trusted(estimate)


def _is_trusted(estimate: Estimate) -> bool:
    """Whether it has an interval that no warning speaks against."""
    return estimate.low is not None and estimate.warning is None


def _self(model: ModelResult) -> Recalibrated:
    assert model.recalibrated is not None
    return model.recalibrated


def _named(names: Sequence[str]) -> str:
    """All of a few names, or the first and how many more there are."""
    if len(names) <= MOST_NAMES:
        return listed(names)
    return listed([*names[: MOST_NAMES - 1], f"{len(names) - MOST_NAMES + 1} others"])


def _round_count(cases: int) -> str:
    """To two digits, upwards."""
    size = 10 ** max(0, len(str(cases)) - 2)
    return f"{-(-cases // size) * size:,}"
