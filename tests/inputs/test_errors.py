"""Errors are values: attributes first, the sentence made from them when somebody reads it."""

import pickle

import numpy as np
import pytest

from pandora_regret import (
    Exponential,
    InputError,
    InputTypeError,
    Tests,
    expected_search_cost,
    pandora_regret,
    search_tally,
)
from pandora_regret.inputs.tests import check_repeatable

ERROR = InputError("sums to 1.2", argument="y_proba", row=3, value=1.2, fix="normalise", command_fix="divide")


def test_the_sentence_is_place_problem_and_fix():
    assert str(ERROR) == "y_proba row 3 sums to 1.2: normalise."


def test_a_problem_left_out_is_the_value():
    assert (
        str(InputError(argument="alpha", value=np.float64(-1), fix="it must not")) == "alpha is -1: it must not."
    )
    assert str(InputError(argument="search", value="x", fix="pass y")) == "search is 'x': pass y."


def test_a_class_is_named_with_and_without_a_row():
    assert str(InputError(argument="costs", column="a", value=0.0)) == "costs of class 'a' is 0."
    assert str(InputError(argument="costs", row=2, column="a", value=0.0)) == "costs row 2, class 'a', is 0."


def test_a_plain_message_stays_as_it_is():
    assert str(InputError("there is nothing to score.")) == "there is nothing to score."


def test_another_place_or_context_is_said_without_reading_the_text():
    assert str(ERROR.replace(place="a.csv line 5")) == "a.csv line 5 sums to 1.2: normalise."
    assert str(ERROR.within("b").within("a")) == "a: b: y_proba row 3 sums to 1.2: normalise."
    assert ERROR.replace(row=4).row == 4
    assert ERROR.row == 3


def test_a_command_names_options_and_has_its_own_fix():
    assert ERROR.sentence({"y_proba": "--input"}) == "--input row 3 sums to 1.2: divide."
    assert InputError(argument="a", value=1, fix="b").sentence({}) == "a is 1: b."


@pytest.mark.parametrize("kind", [InputError, InputTypeError])
def test_errors_travel_between_processes(kind):
    error = kind("is bad", argument="a", row=1, column="c", value=[1], fix="mend it", place="here").within("file")
    copied = pickle.loads(pickle.dumps(error))
    assert type(copied) is kind
    assert copied.__dict__ == error.__dict__
    assert str(copied) == "file: here is bad: mend it."


@pytest.mark.parametrize(
    ("row", "value", "library", "command"),
    [
        ([0.5, 0.7], 1.2, "p / p.sum(axis=1, keepdims=True)", "divide each row by its sum"),
        ([-0.5, 1.5], -0.5, "pass logits=True", "add --logits"),
    ],
)
def test_each_reader_gets_a_fix_in_words_they_know(row, value, library, command):
    with pytest.raises(InputError) as caught:
        pandora_regret([0, 1], [[0.5, 0.5], row])
    error = caught.value
    assert (error.argument, error.row, error.value) == ("y_proba", 1, pytest.approx(value))
    assert library in str(error)
    assert library not in error.sentence({})
    assert command in error.sentence({})


def test_adaptive_repeats_are_told_of_an_option_or_an_argument():
    with pytest.raises(InputError) as caught:
        check_repeatable(Tests(cost=[1.0, 2.0], sensitivity=[1e-6, 0.5], labels=["a", "b"]))
    assert (caught.value.argument, caught.value.column, caught.value.value) == ("sensitivity", "a", 1e-6)
    assert "search='restarts'" in str(caught.value)
    assert "--search restarts" in caught.value.sentence({})


class Undefined(Exponential):
    """A prior whose share is NaN at even odds."""

    def share(self, log_odds, i=0, j=1):
        return np.where(log_odds == 0, np.nan, super().share(log_odds, i, j))


@pytest.mark.parametrize("per_instance", [False, True])
def test_a_score_that_is_nan_is_an_error_that_names_the_row(per_instance):
    table = [[0.6, 0.4], [0.3, 0.7], [0.5, 0.5]]
    for score in (expected_search_cost, search_tally):
        options = {} if score is search_tally else {"per_instance": per_instance}
        with pytest.raises(InputError, match="y_proba row 2 has a score that is NaN") as caught:
            score([0, 0, 0], table, prior=Undefined(), **options)
        assert (caught.value.argument, caught.value.row) == ("y_proba", 2)


def test_a_score_may_be_infinite():
    assert pandora_regret([0, 1], [[0.0, 1.0], [0.5, 0.5]], alpha=0) == np.inf
