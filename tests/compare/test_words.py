"""The comparison in sentences: amounts a person would write, and claims that the numbers support."""

import numpy as np
import pytest

from pandora_regret.compare import compare

LABELS = ["melanoma", "nevus", "keratosis"]
PRICES = {"melanoma": 380.0, "nevus": 120.0, "keratosis": 90.0}


def forecasts(truth, sureness):
    """Forecasts that give the truth so much, and the others equal shares of the rest."""
    sureness = np.broadcast_to(sureness, len(truth))[:, None]
    return np.where(np.eye(3)[truth] > 0, sureness, (1 - sureness) / 2)


@pytest.fixture(scope="module")
def truth():
    return np.random.default_rng(0).integers(0, 3, 400)


def compared(truth, models, **options):
    options = {"labels": LABELS, "costs": PRICES, "currency": "USD"} | options
    return compare(np.take(LABELS, truth), models, **options)


def test_the_model_that_log_loss_or_accuracy_would_choose_is_named_with_its_price(truth):
    careful = forecasts(truth, 0.42)
    wrong = np.arange(len(truth)) % 10 == 0  # bold is right nine times in ten, and then certain
    bold = np.where(wrong[:, None], np.roll(forecasts(truth, 0.9998), 1, axis=1), forecasts(truth, 0.9998))
    found = compared(truth, {"careful": careful, "bold": bold}, recalibrate=None)
    assert [model.name for model in found.models] == ["bold", "careful"]
    [sentence] = found.disagreements
    assert sentence.startswith("Against careful, which log loss, accuracy and macro-F1 would choose, bold saves $")
    assert sentence in found.headline


def test_the_largest_entries_of_the_pair_cost_matrix_are_put_into_words(truth):
    found = compared(truth, {"a": forecasts(truth, 0.5), "b": forecasts(truth, 0.7)})
    for model in found.models:
        named = [pair for pair in found.largest_pairs if pair.model == model.name]
        matrix = np.array(model.pair_costs)
        assert [pair.cost for pair in named] == sorted(matrix.ravel(), reverse=True)[:3]
        for pair in named:
            assert pair.cost == matrix[LABELS.index(pair.truth), LABELS.index(pair.tested)]
            assert pair.share == pytest.approx(pair.cost / model.cost)
            assert pair.sentence.startswith(f"ruling out {pair.tested} when it is {pair.truth}: $")
