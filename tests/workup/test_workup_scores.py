"""The scores with the package's keywords: labels, frames, weights, logits, votes, blocks."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from refusals import refused
from workups import random_workup, search_workup

from pandora_regret import Beta, Gamma, InputError, LogNormal
from pandora_regret.core.inputs import InputTypeError
from pandora_regret.workup import workup_cost, workup_regret


@pytest.fixture
def case():
    rng = np.random.default_rng(5)
    workup = random_workup(rng, n_classes=4, n_steps=4)
    return workup, rng.integers(4, size=50), rng.dirichlet(np.ones(4), 50)


def test_labels_frames_and_numbers_say_the_same(case):
    workup, y, p = case
    plain = workup_cost(y, p, workup, per_instance=True)
    names, shuffled = np.array(workup.classes), [2, 0, 3, 1]
    assert workup_cost(names[y], p, workup, per_instance=True) == pytest.approx(plain)
    frame = pd.DataFrame(p[:, shuffled], columns=names[shuffled])
    assert workup_cost(names[y], frame, workup, per_instance=True) == pytest.approx(plain)
    assert workup_cost(
        names[y], p[:, shuffled], workup, labels=names[shuffled], per_instance=True
    ) == pytest.approx(plain)


def test_logits_weights_and_blocks_change_nothing(case, monkeypatch):
    workup, y, p = case
    weights = np.random.default_rng(1).uniform(0, 2, 50)
    for score, prior in product((workup_cost, workup_regret), (None, Gamma(2.0))):  # all rows see the same draws
        how = {"prior": prior, "draws": 32}
        plain = score(y, p, workup, per_instance=True, **how)
        assert score(y, np.log(p) + 3, workup, logits=True, per_instance=True, **how) == pytest.approx(plain)
        monkeypatch.setattr("pandora_regret.core.inputs.tables.BLOCK_ELEMENTS", 30)
        assert score(y, p, workup, sample_weight=weights, **how) == pytest.approx(weights @ plain / weights.sum())
        monkeypatch.undo()


MISTAKES = [  # what is passed instead, the kind of error, its fields, and a word on why
    ({"workup": None}, InputTypeError, {}, "workup"),
    ({"y_proba": [[0.5, 0.3, 0.2]]}, InputError, {"argument": "y_proba"}, "'class 0' and 'class 1'"),
    ({"y_true": [[0.5, 0.5]] * 2}, InputError, {"argument": "y_true", "value": (2, 2)}, "shape (1, 2)"),
    ({"y_proba": [[0.5, 0.6]]}, InputError, {"argument": "y_proba", "row": 0, "value": 1.1}, "sums"),
    ({"prior": LogNormal([0.1, 0.2, 0.3])}, InputError, {"argument": "prior"}, "3 classes"),
    ({"prior": Beta(0)}, InputError, {}, "mean cost 0"),
    ({"prior": "uniform"}, InputTypeError, {"argument": "prior", "value": "uniform"}, "prior"),
]


@pytest.mark.parametrize(("changed", "kind", "fields", "words"), MISTAKES)
def test_bad_input_is_one_sentence(changed, kind, fields, words):
    with refused(kind, **fields, says=words):
        workup_cost(**{"y_true": [0], "y_proba": [[0.5, 0.5]], "workup": search_workup([1, 2])} | changed)
