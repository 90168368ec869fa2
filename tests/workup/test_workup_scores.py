"""The scores with the package's keywords: labels, frames, weights, logits, votes, blocks."""

import numpy as np
import pandas as pd
import pytest
from workups import random_workup, search_workup

from pandora_regret import InputError, InputTypeError
from pandora_regret.workup import workup_cost, workup_regret


@pytest.fixture
def case():
    rng = np.random.default_rng(5)
    workup = random_workup(rng, n_classes=4, n_steps=4)
    return workup, rng.integers(4, size=50), rng.dirichlet(np.ones(4), 50)


def test_labels_frames_and_numbers_say_the_same(case):
    workup, y, p = case
    plain = workup_cost(y, p, workup, per_instance=True)
    names = np.array(workup.classes)
    shuffled = [2, 0, 3, 1]
    assert workup_cost(names[y], p, workup, per_instance=True) == pytest.approx(plain)
    frame = pd.DataFrame(p[:, shuffled], columns=names[shuffled])
    assert workup_cost(names[y], frame, workup, per_instance=True) == pytest.approx(plain)
    by_label = workup_cost(names[y], p[:, shuffled], workup, labels=names[shuffled], per_instance=True)
    assert by_label == pytest.approx(plain)


def test_logits_weights_and_blocks_change_nothing(case, monkeypatch):
    workup, y, p = case
    weights = np.random.default_rng(1).uniform(0, 2, 50)
    for score in (workup_cost, workup_regret):
        plain = score(y, p, workup, per_instance=True)
        assert score(y, np.log(p) + 3, workup, logits=True, per_instance=True) == pytest.approx(plain)
        monkeypatch.setattr("pandora_regret.inputs.tables.BLOCK_ELEMENTS", 30)
        assert score(y, p, workup, sample_weight=weights) == pytest.approx(np.average(plain, weights=weights))
        monkeypatch.undo()


def test_many_rows_are_compiled_and_score_the_same(case):
    workup, y, p = case
    many = 4000
    assert workup_cost(np.tile(y, many), np.tile(p, (many, 1)), workup) == pytest.approx(workup_cost(y, p, workup))


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        (([0], [[0.5, 0.5]], None), InputTypeError, "workup must be a Workup, such as"),
        (([0], [[0.5, 0.3, 0.2]], search_workup([1, 2])), InputError, "but the work-up is about"),
        ((["x"], [[0.5, 0.5]], search_workup([1, 2])), InputError, "'x'"),
        (
            ([[0.5, 0.5]] * 2, [[0.5, 0.5]], search_workup([1, 2])),
            InputError,
            "y_true has shape (2, 2): y_proba has shape (1, 2)",
        ),
        (([0], [[0.5, 0.6]], search_workup([1, 2])), InputError, "sums to 1.1"),
    ],
)
def test_bad_input_is_one_sentence(arguments, error, said):
    with pytest.raises(error) as raised:
        workup_cost(*arguments)
    assert said in str(raised.value)


def test_a_prior_must_fit_the_steps():
    from pandora_regret import Beta, LogNormal

    with pytest.raises(InputError, match="prior is about 3 classes but there are 2 of the work-up's steps"):
        workup_cost([0], [[0.5, 0.5]], search_workup([1, 2]), prior=LogNormal([0.1, 0.2, 0.3]))
    with pytest.raises(InputError, match="mean cost 0"):
        workup_cost([0], [[0.5, 0.5]], search_workup([1, 2]), prior=Beta(0))
    with pytest.raises(InputTypeError, match="must be a prior"):
        workup_cost([0], [[0.5, 0.5]], search_workup([1, 2]), prior="uniform")
