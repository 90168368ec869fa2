"""Errors are values: attributes first, the sentence made from them when somebody reads it."""

import pickle

import numpy as np
import pytest
from refusals import refused

from pandora_regret import Exponential, InputError, expected_search_cost, pandora_regret
from pandora_regret.core.inputs import InputTypeError
from pandora_regret.core.scores import search_tally

ERROR = InputError("sums to 1.2", argument="y", row=3, value=1.2, fix="normalise", command_fix="divide")


def test_the_sentence_is_place_problem_and_fix():
    assert str(ERROR) == f"y row 3 {ERROR.problem}: {ERROR.fix}."


@pytest.mark.parametrize("kind", [InputError, InputTypeError])
def test_errors_travel_between_processes(kind):
    error = kind("is bad", argument="a", row=1, column="c", value=[1], fix="mend it", place="here").within("file")
    copied = pickle.loads(pickle.dumps(error))
    assert type(copied) is kind
    assert copied.__dict__ == error.__dict__
    assert str(copied) == str(error)
    assert str(copied).startswith("file: here is")


@pytest.mark.parametrize(
    ("row", "value", "library", "command"),
    [
        ([0.5, 0.7], 1.2, "p / p.sum(axis=1, keepdims=True)", "divide the probabilities by their sum"),
        ([-0.5, 1.5], -0.5, "pass logits=True", "add --logits"),
    ],
)
def test_each_reader_gets_a_fix_in_words_they_know(row, value, library, command):
    with refused(argument="y_proba", row=1, value=value) as caught:
        pandora_regret([0, 1], [[0.5, 0.5], row])
    error = caught.value
    assert library in str(error)
    assert library not in error.sentence({})
    assert command in error.sentence({})


class Undefined(Exponential):
    """A prior whose share is NaN at even odds."""

    def share(self, log_odds, i=0, j=1):
        return np.where(log_odds == 0, np.nan, super().share(log_odds, i, j))


@pytest.mark.parametrize("per_instance", [False, True])
def test_a_score_that_is_nan_is_an_error_that_names_the_row(per_instance):
    table = [[0.6, 0.4], [0.3, 0.7], [0.5, 0.5]]
    for score in (expected_search_cost, search_tally):
        options = {} if score is search_tally else {"per_instance": per_instance}
        with refused(argument="y_proba", row=2, says="NaN"):
            score([0, 0, 0], table, prior=Undefined(), **options)
