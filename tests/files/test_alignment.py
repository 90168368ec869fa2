"""Several files of the same rows: matched by id or by order, and whatever does not match is said."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from prediction_files import whole, write

from pandora_regret.core.inputs import InputError
from pandora_regret.files import align, common_rows

CLASSES = ("cat", "dog", "owl")


def rows(n, seed):
    """The same rows under every seed, forecast differently."""
    values = np.random.default_rng(seed).dirichlet(np.ones(3), n)
    columns = {"id": [f"r{at}" for at in range(n)], "y_true": [CLASSES[at % 3] for at in range(n)]}
    return columns | dict(zip(CLASSES, values.T.tolist(), strict=True))


def taken(columns, order):
    return {name: [values[at] for at in order] for name, values in columns.items()}


def aligned(tmp_path, *tables, **layout):
    paths = [write(tmp_path / f"m{at}.parquet", table) for at, table in enumerate(tables)]
    return align([whole(path, **layout) for path in paths], paths)


def check_refused(words, tmp_path, *tables, **layout):
    with pytest.raises(InputError) as error:
        aligned(tmp_path, *tables, **layout)
    for word in words:
        assert word in str(error.value)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20)
@given(st.permutations(range(9)), st.permutations(range(9)), st.permutations(CLASSES))
def test_shuffled_rows_and_columns_come_back_into_the_order_of_the_first(tmp_path, first, second, classes):
    one, two = rows(9, 1), rows(9, 2)
    shuffled = taken({name: two[name] for name in (*classes, "id", "y_true")}, second)
    for batch, columns in zip(aligned(tmp_path, taken(one, first), shuffled), (one, two), strict=True):
        expected = taken(columns, first)
        assert batch.classes == CLASSES
        assert batch.ids.tolist() == expected["id"]
        assert [CLASSES[i] for i in batch.truth] == expected["y_true"]
        np.testing.assert_array_equal(batch.values, np.array([expected[name] for name in CLASSES]).T)


def test_weights_groups_and_costs_move_with_their_rows(tmp_path):
    one, two, layout = rows(6, 1), rows(6, 2), {"group": "patient", "cost_prefix": "cost_"}
    extra = {"weight": np.arange(1.0, 7.0).tolist(), "patient": list("aabbcc")}
    extra |= {f"cost_{name}": np.arange(k + 1.0, k + 7.0).tolist() for k, name in enumerate(CLASSES)}
    first, second = aligned(tmp_path, one | extra, taken(two | extra, range(5, -1, -1)), **layout)
    for name in ("weights", "groups", "costs"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
    for other, words in (
        ({"weight": [1.0, 2.0, 3.5, 4.0, 5.0, 6.0]}, ["m1.parquet row 3 has the weight 3.5", "row 3 has 3.0"]),
        ({"cost_owl": [9.0] * 6}, ["has the cost [1.0, 2.0, 9.0]"]),
    ):
        check_refused(words, tmp_path, one | extra, two | extra | other, **layout)


def test_rows_without_ids_are_matched_by_order_and_labels(tmp_path):
    one, two = ({name: v for name, v in rows(6, seed).items() if name != "id"} for seed in (1, 2))
    assert len(aligned(tmp_path, one, two)) == 2
    words = ["m1.parquet row 3 has the label 'cat'", "m0.parquet row 3 has 'owl'", "id column"]
    check_refused(words, tmp_path, one, taken(two, [0, 1, 3, 2, 4, 5]))
    check_refused(["m1.parquet has 5 rows but"], tmp_path, one, taken(two, range(5)))


def test_rows_that_only_one_file_has_are_named(tmp_path):
    one, two = rows(6, 1), rows(6, 2)
    check_refused(["m1.parquet has no row of id 'r5'", "m0.parquet row 6"], tmp_path, one, taken(two, range(5)))
    check_refused(["m0.parquet has no row of id 'r5'", "m1.parquet row 6"], tmp_path, taken(one, range(5)), two)


def test_common_rows_are_kept_and_counted(tmp_path):
    parts = {"A": range(20), "B": [*range(15)][::-1], "C": range(2, 20)}
    tables = {name: taken(rows(20, 1), part) for name, part in parts.items()}
    batches = [whole(write(tmp_path / f"{name}.parquet", table)) for name, table in tables.items()]
    kept, [remark] = common_rows(batches, list(parts))
    assert [each.ids.tolist() for each in align(kept, list(parts))] == [[f"r{n}" for n in range(2, 15)]] * 3
    assert (remark.what, remark.count) == ("rows left out", 7)
    assert "A lost 7, B lost 2, C lost 5" in remark.sentence
    assert common_rows(batches[:1] * 2, ["A", "B"])[1] == ()


def test_rows_without_a_label_stay_so_in_another_order_of_classes(tmp_path):
    columns = rows(4, 1) | {"y_true": ["cat", "", "owl", "dog"]}
    later = {name: columns[name] for name in ("owl", "cat", "dog", "id")} | {"y_true": ["cat", "dog", "owl", ""]}
    first, second = aligned(tmp_path, columns, later, unlabelled=True)
    assert (first.truth.tolist(), second.truth.tolist()) == ([0, -1, 2, 1], [0, 1, 2, -1])
