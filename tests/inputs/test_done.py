"""What was changed or left out is counted, and kept in the JSON of a comparison."""

from dataclasses import replace

from pandora_regret.compare import Comparison, compare
from pandora_regret.inputs.tables import Done, Rescaled

ROWS = {"one": [[0.8, 0.2], [0.3, 0.7]], "two": [[0.6, 0.4], [0.4, 0.6]]}


def test_rescaled_rows_add_up():
    total = Rescaled(2, 0.998, 0.999) + Rescaled() + Rescaled(1, 1.002, 1.002)
    assert total == Rescaled(3, 0.998, 1.002)
    [done] = total.done("forest")
    assert done == Done("rows rescaled", 3, "3 rows of forest rescaled (sums 0.998 to 1.002)", "forest")
    assert Rescaled().done("forest") == ()


def test_a_comparison_keeps_what_was_done_in_its_json():
    done = (
        Done("separator", 1, "a.csv has tabs", "a.csv"),
        Done("rows left out", 3, "3 rows left out"),
    )
    result = replace(compare([0, 1], ROWS), done=done)
    written = result.to_dict()
    assert [each["what"] for each in written["done"]] == ["separator", "rows left out"]
    assert "model" not in written["done"][1]
    assert Comparison.from_dict(written).done == done
