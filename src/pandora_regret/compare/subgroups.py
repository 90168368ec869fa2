"""Models group by group: what each costs in a group, who is cheapest there, and what stands out beyond chance.

All questions about all groups, of all columns together, are adjusted by Holm's method as one family: whether a model
costs as much as the leader in a group, and whether it costs there what it costs elsewhere. So the chance that
anything is flagged where nothing differs is at most one less the level of the intervals.

A group may cost more because its cases are harder. So a model that costs more there than elsewhere is blamed only
if it does so compared with the other models on the same cases too; of a single model, compared with what its own
forecasts predict. And as all models are scored on the same cases, the order of two of them in every single group is
their order on all cases (there is no Simpson's paradox); but one group may settle it against most cases, and that
is flagged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandora_regret.compare.doubts import few_carriers
from pandora_regret.compare.grouping import Grouping, group
from pandora_regret.compare.group_words import all_settled_by, dearer_cases, dearer_model, nothing_shown, winner
from pandora_regret.compare.measure import Measured
from pandora_regret.compare.result import Breakdown, Estimate, GroupModel, Subgroup
from pandora_regret.compare.sample import Sample
from pandora_regret.inference.intervals import ROUNDING
from pandora_regret.inference.multiplicity import holm
from pandora_regret.inference.parts import Means, Part, part_of
from pandora_regret.inputs import FloatArray
