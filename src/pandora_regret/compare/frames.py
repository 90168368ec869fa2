"""Frames that are joined by id, the truth in one and each model's forecasts in another; and breakdowns by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pandora_regret.compare.grouping import read_cuts
from pandora_regret.inputs import InputError, InputTypeError
from pandora_regret.inputs.names import matched
from pandora_regret.inputs.tables import is_frame
from pandora_regret.optional import import_optional

if TYPE_CHECKING:
    from pandora_regret.compare.result import Comparison
    from pandora_regret.files.together import Together


def compare_frames(
    compare: Callable[..., Comparison],
    y_true: Any,
    models: Any,
    *,
    id: str,
    label: str | None,
    labels: Any,
    sample_weight: Any,
    groups: Any,
    by: Any,
    logits: bool,
    normalise: bool,
    **others: Any,
) -> Comparison:
    """What `compare` says of frames, once they are joined."""
    columns = {"label": label, "weight": sample_weight, "group": groups, "logits": logits, "normalise": normalise}
    joined = _joined(y_true, models, id, by, labels, columns)
    others |= {name: joined.of_rows(name) for name in ("ids", "groups")}
    values = None if by is None else values_of(columns_of(by), joined.by)
    result = compare(None, joined.forecasts(), by=values, **others)
    return replace(result, done=joined.done)


def _joined(y_true: Any, models: Any, id: str, by: Any, labels: Any, columns: Mapping[str, Any]) -> Together:
    """The models of frames on the rows of a frame that tells the truth; `columns` as in `Layout`."""
    import_optional("pyarrow", extra="cli")
    from pandora_regret.files import Layout, ModelFiles, open_models, read_together
    from pandora_regret.files.formats import source_of

    if not is_frame(y_true) or not isinstance(models, Mapping) or not all(map(is_frame, models.values())):
        fix = "pass a frame as y_true, and a mapping of names to frames as models, each with this column"
        raise InputTypeError(f"is {id!r}, by which frames are joined", argument="id", fix=fix)
    names = [name for cut in columns_of(by or ()).values() for name in cut]
    classes = None if labels is None else tuple(map(str, labels))
    layout = Layout(id=id, truth=source_of(y_true, "y_true"), by=tuple(names), classes=classes, **columns)
    files = [ModelFiles((source_of(frame, str(name)),), layout, str(name)) for name, frame in models.items()]
    return read_together(open_models(files))


def columns_of(breakdowns: str | Iterable[str]) -> dict[str, Sequence[str]]:
    """The columns of breakdowns as they are written, such as ``site*age:10``."""
    texts = [breakdowns] if isinstance(breakdowns, str) else breakdowns
    return {text: [cut.column for cut in read_cuts(text)] for text in texts}


def values_of(breakdowns: Mapping[str, Sequence[str]], values: Mapping[str, Any]) -> dict[str, Any]:
    """What `compare` takes as `by`, from the columns that files or frames have."""
    asked = [name for names in breakdowns.values() for name in names]
    columns = {name: values[column] for name, column in matched(asked, values).items()}
    for missing in (name for name in asked if name not in columns):
        fix, (name, colon, _) = "name a column that one of the files has", missing.rpartition(":")
        if colon:
            fix = f"write bins such as {name}:10 (ten bins), {name}:18|65 (edges) or {name}:each"
        raise InputError(f"names {missing!r}, which no file has", argument="by", value=missing, fix=fix)
    return {
        text: columns[names[0]] if len(names) == 1 else tuple(columns[name] for name in names)
        for text, names in breakdowns.items()
    }
