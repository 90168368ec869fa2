"""What a refusal is about, told by the fields of its error: its sentence may change, its fields may not."""

from contextlib import contextmanager

import numpy as np
import pytest

from pandora_regret import InputError

NOT_CHECKED = object()
FIELDS = ("argument", "row", "column", "value", "place", "contexts")


@contextmanager
def refused(
    kind=InputError,
    *,
    argument=NOT_CHECKED,
    row=NOT_CHECKED,
    column=NOT_CHECKED,
    value=NOT_CHECKED,
    place=NOT_CHECKED,
    contexts=NOT_CHECKED,
    says=NOT_CHECKED,
):
    """Expect an error of exactly this kind whose fields are those given; hands out what ``pytest.raises`` does.

    A field given as None must be None; a number may be off by rounding. ``says`` is for reasons that no field
    tells apart: a word or two that the sentence must hold. ::

        with refused(argument="y_proba", row=1, value=1.2, says="sums to"):
            pandora_regret([0, 1], [[0.5, 0.5], [0.6, 0.6]])
    """
    with pytest.raises(kind) as caught:
        yield caught
    assert type(caught.value) is kind
    where = {"argument": argument, "row": row, "column": column, "place": place, "contexts": contexts}
    assert_fields(caught.value, value=value, **where)
    if says is not NOT_CHECKED:
        assert says in str(caught.value)


def assert_fields(error, **expected):
    """Check that an error has the fields given, except those that are NOT_CHECKED."""
    assert set(expected) <= set(FIELDS)
    found = {name: getattr(error, name, None) for name in FIELDS}
    for name, wanted in expected.items():
        if wanted is not NOT_CHECKED:
            assert _is_same(found[name], wanted), f"{name}: {wanted!r} expected, in {found}: {error}"


def _is_same(found, wanted):
    """Whether two values are the same, numbers to rounding and NaN like NaN."""
    if found is wanted:
        return True
    if found is None or wanted is None:
        return False
    if isinstance(wanted, (bool, str)) or isinstance(found, (bool, str)):
        return type(found) is type(wanted) and found == wanted
    if isinstance(wanted, (int, float, np.number)):
        return np.ndim(found) == 0 and found == pytest.approx(wanted, rel=1e-9, nan_ok=True)
    if isinstance(wanted, np.ndarray):
        return np.array_equal(found, wanted)
    return type(found) is type(wanted) and found == wanted
