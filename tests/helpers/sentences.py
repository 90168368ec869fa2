"""What people are told when something is refused: where whole sentences of single calls are pinned.

`sessions` pins what commands print one after the other, `situations` what `pandora compare` says. All other tests
assert the fields of an error (see `refusals.refused`). ``python tests/helpers/sentences.py`` (src on the path)
writes tests/sentences/*.txt again: read every changed sentence as a stranger would before you commit it.
"""

from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from cli_files import run

from pandora_regret import (
    Beta,
    Empirical,
    InputError,
    LogNormal,
    beta_score,
    compare,
    expected_search_cost,
    pandora_regret,
    search_cost,
)
from pandora_regret.core.inputs import InputTypeError
from pandora_regret.metrics import METRICS
from pandora_regret.study import agreement

OUTPUTS = Path(__file__).parents[1] / "sentences"
P = np.array([[0.5, 0.25, 0.25], [0.2, 0.3, 0.5], [0.1, 0.6, 0.3]])
Y = [0, 2, 1]
ABC = ["a", "b", "c"]
FRAME = pd.DataFrame(P, columns=ABC)


def with_row(row):
    """The forecasts with another second row."""
    changed = P.copy()
    changed[1] = row
    return changed


LIBRARY = {
    "one_column_of_probabilities": lambda: pandora_regret(Y, P[:, 1]),
    "whole_numbers_as_forecasts": lambda: pandora_regret(Y, np.eye(3, dtype=int)),
    "a_row_with_nan": lambda: pandora_regret(Y, with_row([0.2, np.nan, 0.8])),
    "a_row_with_a_negative_value": lambda: pandora_regret(Y, with_row([-0.2, 0.7, 0.5])),
    "a_row_with_more_than_one": lambda: pandora_regret(Y, with_row([1.2, 0.0, 0.0])),
    "a_row_that_sums_to_little": lambda: pandora_regret(Y, with_row([0.2, 0.3, 0.4])),
    "a_row_that_rounding_explains": lambda: pandora_regret(Y, with_row([0.2, 0.3, 0.51])),
    "percentages": lambda: pandora_regret(Y, with_row([20.0, 30.0, 50.0])),
    "logits_that_are_infinite": lambda: pandora_regret(Y, with_row([0.0, np.inf, 1.0]), logits=True),
    "logits_neither_true_nor_false": lambda: pandora_regret(Y, P, logits="yes"),
    "masked_forecasts": lambda: pandora_regret(Y, np.ma.array(P, mask=P > 0.5)),
    "too_few_labels": lambda: pandora_regret([0, 1], P),
    "a_label_beyond_the_columns": lambda: pandora_regret([0, 3, 1], P),
    "names_as_labels_without_names_of_columns": lambda: pandora_regret(ABC, P),
    "a_missing_label": lambda: pandora_regret([0, None, 1], P),
    "labels_in_a_column": lambda: pandora_regret(np.array(Y)[:, None], P),
    "a_label_that_no_column_has": lambda: pandora_regret(["a", "d", "b"], P, labels=ABC),
    "too_few_names_of_columns": lambda: pandora_regret(Y, P, labels=["a", "b"]),
    "a_name_twice": lambda: pandora_regret(Y, P, labels=["a", "b", "a"]),
    "a_frame_with_another_column": lambda: pandora_regret(ABC, FRAME.rename(columns={"c": "id"}), labels=ABC),
    "a_column_of_flags": lambda: pandora_regret(ABC, FRAME.assign(b=[True, False, False])),
    "rows_in_another_order": lambda: pandora_regret(pd.Series(list("bca"), index=[1, 2, 0]), FRAME),
    "no_votes": lambda: pandora_regret([[1, 0, 0], [0, 0, 0], [0, 1, 0]], P),
    "negative_votes": lambda: pandora_regret([[1, 0, 0], [0, -1, 3], [0, 1, 0]], P, labels=ABC),
    "votes_and_a_metric_of_pairs_of_rows": lambda: METRICS["auroc"]([[1, 1], [2, 1]], [[0.5, 0.5], [0.5, 0.5]]),
    "a_negative_weight": lambda: pandora_regret(Y, P, sample_weight=[1, -0.5, 1]),
    "no_weight_at_all": lambda: pandora_regret(Y, P, sample_weight=[0, 0, 0]),
    "a_cost_of_nothing": lambda: search_cost(Y, P, [1, 0, 1]),
    "too_few_costs": lambda: search_cost(Y, P, [1, 2]),
    "costs_of_other_names": lambda: search_cost(ABC, P, {"a": 1, "b": 2, "d": 3}, labels=ABC),
    "typical_and_largest_costs": lambda: expected_search_cost(Y, P, costs=[1, 2, 3], max_costs=[2, 4, 6]),
    "a_negative_alpha": lambda: beta_score(Y, P, alpha=-0.5),
    "alpha_as_text": lambda: beta_score(Y, P, alpha="one"),
    "a_prior_without_a_mean": lambda: expected_search_cost(Y, P, prior=Beta(0.0)),
    "a_number_instead_of_a_prior": lambda: expected_search_cost(Y, P, prior=1.0),
    "a_spread_of_nothing": lambda: LogNormal(0),
    "samples_that_are_a_list": lambda: Empirical([1.0, 2.0]),
    "a_comparison_of_nothing": lambda: compare(Y, {}),
    "an_agreement_of_one_model": lambda: agreement(Y, P[None]),
}

GOOD = "id,label,flu,cold\n1,flu,0.7,0.3\n2,cold,0.4,0.6\n3,flu,0.9,0.1\n"
FILES = {
    "good.csv": GOOD,
    "sum.csv": GOOD.replace("0.4,0.6", "0.4,0.5"),
    "negative.csv": GOOD.replace("0.4,0.6", "-0.4,1.4"),
    "text.csv": GOOD.replace("0.4,0.6", "much,0.6"),
    "label.csv": GOOD.replace("2,cold", "2,gout"),
    "other_cases.csv": GOOD.replace("\n1,", "\n7,").replace("\n2,", "\n8,").replace("\n3,", "\n9,"),
    "headings.csv": "id,label,flu,cold\n",
    "empty.csv": "",
    "prices.csv": 'class,cost\nflu,"$1,250"\ncold,$300\n',
    "two_ways.csv": "id;label;flu;cold;weight\n1;flu;1;0;1,250\n2;cold;0;1;2,500\n",
    "two_separators.csv": "label;flu,cold\nflu;0.5,0.5\ncold;0.5,0.5\n",
    "twice.csv": GOOD.replace("\n2,", "\n1,"),
}
COMMAND = {
    "a_file_that_is_missing": ("compare", "nothing.csv"),
    "an_empty_file": ("compare", "empty.csv"),
    "a_file_of_headings": ("compare", "headings.csv"),
    "a_sum_that_is_not_1": ("compare", "sum.csv"),
    "a_negative_probability": ("compare", "negative.csv"),
    "text_instead_of_a_probability": ("compare", "text.csv"),
    "a_class_without_a_column": ("compare", "label.csv"),
    "files_of_other_cases": ("compare", "good.csv", "other_cases.csv"),
    "a_price_for_no_class": ("compare", "good.csv", "--costs", "flu=20,gout=5"),
    "a_price_of_nothing": ("compare", "good.csv", "--costs", "flu=0,cold=5"),
    "a_price_that_can_be_read_in_two_ways": ("compare", "good.csv", "--costs", "prices.csv"),
    "weights_that_can_be_read_in_two_ways": ("score", "two_ways.csv"),
    "two_separators": ("score", "two_separators.csv"),
    "an_id_twice": ("compare", "twice.csv"),
    "a_column_that_is_not_there": ("compare", "good.csv", "--label", "labels"),
    "a_group_that_is_no_column": ("compare", "good.csv", "--by", "hospital"),
    "bins_that_are_no_number": ("compare", "good.csv", "--by", "age:x"),
    "a_scenario_without_a_name": ("compare", "good.csv", "--scenario", "flu=3"),
    "a_file_twice": ("compare", "good.csv", "good.csv"),
    "a_page_that_exists": ("compare", "good.csv", "--html", "sum.csv"),
    "a_map_for_no_file": ("recalibrate", "good.csv", "--apply", "good.csv"),
    "a_map_into_the_file_that_is_read": ("recalibrate", "good.csv", "--apply", "sum.csv", "--out", "sum.csv"),
    "a_map_into_an_unknown_format": ("recalibrate", "good.csv", "--apply", "sum.csv", "--out", "new.xlsx"),
    "frequencies_of_no_new_cases": ("recalibrate", "good.csv", "--method", "prior"),
    "a_row_that_is_not_there": ("next", "good.csv", "--row", "4"),
    "a_file_without_a_row": ("next", "good.csv"),
    "a_state_that_is_not_there": ("monitor", "--state", "state.json"),
    "a_false_alarm_nearly_always": ("monitor", "good.csv", "--state", "state.json", "--level", "0.95"),
}


def sentence_of(call):
    """The kind of error that a call is refused with, and its sentence."""
    try:
        call()
    except (InputError, InputTypeError) as error:
        return f"{type(error).__name__}: {error}"
    raise AssertionError("was not refused")


def output_of(arguments, folder):
    """What the command writes to standard error when it refuses."""
    for name, text in FILES.items():
        (Path(folder) / name).write_text(text, encoding="utf-8")
    with chdir(folder):
        result = run(*arguments)
    assert result.exit_code != 0, result.stdout
    return f"$ pandora {' '.join(arguments)}\n{result.stderr.strip()}"


def write_pinned(name, sentences):
    """A file of situations, each with its name above."""
    text = "".join(f"# {situation}\n{sentence}\n\n" for situation, sentence in sentences.items())
    (OUTPUTS / name).write_text(text, encoding="utf-8")


def read_pinned(name):
    """The sentence of each situation in a file."""
    pinned = {}
    for section in (OUTPUTS / name).read_text(encoding="utf-8").split("\n\n"):
        if section.strip():
            heading, sentence = section.split("\n", 1)
            pinned[heading.removeprefix("# ")] = sentence
    return pinned


if __name__ == "__main__":
    OUTPUTS.mkdir(exist_ok=True)
    write_pinned("library.txt", {name: sentence_of(call) for name, call in LIBRARY.items()})
    with TemporaryDirectory() as folder:
        write_pinned("command.txt", {name: output_of(arguments, folder) for name, arguments in COMMAND.items()})
