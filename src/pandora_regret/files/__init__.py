"""Prediction files of every format as streams of batches, aligned where there are several; prices and priors."""

from pandora_regret.files.alignment import align
from pandora_regret.files.batch import Batch
from pandora_regret.files.layout import Layout
from pandora_regret.files.predictions import Predictions, open_predictions, read_all, read_models
from pandora_regret.files.prices import Prices, read_costs_argument, read_prior_argument

__all__ = [
    "Batch",
    "Layout",
    "Predictions",
    "Prices",
    "align",
    "open_predictions",
    "read_all",
    "read_costs_argument",
    "read_models",
    "read_prior_argument",
]
