"""Prediction files of every format as streams of batches, aligned where there are several; prices and priors.

What reads files needs pyarrow, and is loaded when it is first asked for.
"""

from typing import TYPE_CHECKING

from pandora_regret.lazy import lazy_exports

if TYPE_CHECKING:
    from pandora_regret.files.alignment import align
    from pandora_regret.files.batch import Batch
    from pandora_regret.files.errors import FileError
    from pandora_regret.files.inspection import Inspected, Problem, inspect_file
    from pandora_regret.files.layout import Layout
    from pandora_regret.files.one_row import OneRow, read_row
    from pandora_regret.files.predictions import Predictions, open_predictions, read_all, read_models
    from pandora_regret.files.price_tables import read_observed_costs, read_price_table
    from pandora_regret.files.prices import Prices, read_costs_argument, read_prior_argument

__all__ = [
    "Batch",
    "FileError",
    "Inspected",
    "Layout",
    "OneRow",
    "Predictions",
    "Prices",
    "Problem",
    "align",
    "inspect_file",
    "open_predictions",
    "read_all",
    "read_costs_argument",
    "read_models",
    "read_observed_costs",
    "read_price_table",
    "read_prior_argument",
    "read_row",
]

_MODULE_OF = {
    "Batch": "batch",
    "FileError": "errors",
    "Inspected": "inspection",
    "Layout": "layout",
    "OneRow": "one_row",
    "Predictions": "predictions",
    "Prices": "prices",
    "Problem": "inspection",
    "align": "alignment",
    "inspect_file": "inspection",
    "open_predictions": "predictions",
    "read_all": "predictions",
    "read_costs_argument": "prices",
    "read_models": "predictions",
    "read_observed_costs": "price_tables",
    "read_price_table": "price_tables",
    "read_prior_argument": "prices",
    "read_row": "one_row",
}
_NEEDS_ARROW = dict.fromkeys(("inspection", "one_row", "predictions", "price_tables"), ("pyarrow", "cli"))

__getattr__, __dir__ = lazy_exports(__name__, _MODULE_OF, _NEEDS_ARROW)
