"""Several files of the same rows: matched by id or by order, and whatever does not match is said."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pandora_regret.files import Layout, align, common_rows, open_predictions, read_all
from pandora_regret.inputs import InputError

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

CLASSES = ("cat", "dog", "owl")


def rows(n, seed):
    """The same rows under every seed, forecast differently."""
    values = np.random.default_rng(seed).dirichlet(np.ones(3), n)
    columns = {"id": [f"r{at}" for at in range(n)], "y_true": [CLASSES[at % 3] for at in range(n)]}
    return columns | {name: values[:, k].tolist() for k, name in enumerate(CLASSES)}


def taken(columns, order):
    return {name: [values[at] for at in order] for name, values in columns.items()}


def batch(tmp_path, name, columns, **layout):
    pq.write_table(pa.table(columns), tmp_path / f"{name}.parquet")
    [predictions] = open_predictions(tmp_path / f"{name}.parquet", Layout(**layout))
    return read_all(predictions)


def aligned(tmp_path, *tables, **layout):
    names = [f"m{at}" for at in range(len(tables))]
    return align(
        [batch(tmp_path, name, table, **layout) for name, table in zip(names, tables, strict=True)], names
    )


def refused(tmp_path, *tables, **layout):
    with pytest.raises(InputError) as error:
        aligned(tmp_path, *tables, **layout)
    return str(error.value)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20)
@given(st.permutations(range(9)), st.permutations(range(9)), st.permutations(CLASSES))
def test_shuffled_rows_and_columns_come_back_into_the_order_of_the_first(tmp_path, first, second, classes):
    one, two = rows(9, 1), rows(9, 2)
    shuffled = taken({name: two[name] for name in (*classes, "id", "y_true")}, second)
    found = aligned(tmp_path, taken(one, first), shuffled)
    for at, columns in enumerate((one, two)):
        expected = taken(columns, first)
        assert found[at].classes == CLASSES
        assert found[at].ids.tolist() == expected["id"]
        assert [CLASSES[i] for i in found[at].truth] == expected["y_true"]
        np.testing.assert_array_equal(found[at].values, np.array([expected[name] for name in CLASSES]).T)


def test_weights_groups_and_costs_move_with_their_rows(tmp_path):
    one, two = rows(6, 1), rows(6, 2)
    extra = {"weight": np.arange(1.0, 7.0).tolist(), "patient": list("aabbcc")}
    extra |= {f"cost_{name}": np.arange(k + 1.0, k + 7.0).tolist() for k, name in enumerate(CLASSES)}
    found = aligned(
        tmp_path, one | extra, taken(two | extra, range(5, -1, -1)), group="patient", cost_prefix="cost_"
    )
    for name in ("weights", "groups", "costs"):
        np.testing.assert_array_equal(getattr(found[0], name), getattr(found[1], name))
    other = extra | {"weight": [1.0, 2.0, 3.5, 4.0, 5.0, 6.0]}
    message = refused(tmp_path, one | extra, two | other, group="patient", cost_prefix="cost_")
    assert "m1.parquet row 3 has the weight 3.5" in message
    assert "m0.parquet row 3 has 3.0" in message
    other = extra | {"cost_owl": [9.0] * 6}
    assert "has the cost [1.0, 2.0, 9.0]" in refused(
        tmp_path, one | extra, two | other, cost_prefix="cost_", group="patient"
    )


def test_rows_without_ids_are_matched_by_order_and_labels(tmp_path):
    one, two = ({name: v for name, v in rows(6, seed).items() if name != "id"} for seed in (1, 2))
    assert len(aligned(tmp_path, one, two)) == 2
    message = refused(tmp_path, one, taken(two, [0, 1, 3, 2, 4, 5]))
    assert "m1.parquet row 3 has the label 'cat'" in message
    assert "m0.parquet row 3 has 'owl'" in message
    assert "id column" in message
    assert "m1.parquet has 5 rows but" in refused(tmp_path, one, taken(two, range(5)))


def test_rows_that_only_one_file_has_are_named(tmp_path):
    one, two = rows(6, 1), rows(6, 2)
    for tables, (lacking, having) in (((one, taken(two, range(5))), "10"), ((taken(one, range(5)), two), "01")):
        message = refused(tmp_path, *tables)
        assert f"m{lacking}.parquet has no row of id 'r5'" in message
        assert f"m{having}.parquet row 6" in message


def test_labels_that_differ_are_named(tmp_path):
    two = rows(6, 2)
    two["y_true"][4] = "owl"
    message = refused(tmp_path, rows(6, 1), taken(two, range(5, -1, -1)))
    assert "m1.parquet row 2 has the label 'owl' but" in message
    assert "m0.parquet row 5 has 'dog'" in message


def test_common_rows_are_kept_and_counted(tmp_path):
    parts = {"A": range(20), "B": [*range(15)][::-1], "C": range(2, 20)}
    batches = [batch(tmp_path, name, taken(rows(20, 1), part)) for name, part in parts.items()]
    kept, [done] = common_rows(batches, list(parts))
    assert [each.ids.tolist() for each in align(kept, list(parts))] == [[f"r{n}" for n in range(2, 15)]] * 3
    assert (done.what, done.count) == ("rows left out", 7)
    assert done.sentence == "7 rows that not all files have left out (A lost 7, B lost 2, C lost 5)"
    assert common_rows(batches[:1] * 2, ["A", "B"])[1] == ()


def test_rows_without_a_label_stay_so_in_another_order_of_classes(tmp_path):
    columns = rows(4, 1) | {"y_true": ["cat", None, "owl", "dog"]}
    shuffled = {name: columns[name] for name in ("owl", "cat", "dog", "id", "y_true")}
    for found in aligned(tmp_path, columns, shuffled, unlabelled=True):
        assert found.truth.tolist() == [0, -1, 2, 1]
    later = shuffled | {"y_true": ["cat", "dog", "owl", None]}
    assert aligned(tmp_path, columns, later, unlabelled=True)[1].truth.tolist() == [0, 1, 2, -1]
