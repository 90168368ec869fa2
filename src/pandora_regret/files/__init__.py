"""Prediction files of every format as streams of batches, aligned where there are several; prices and priors.

What reads files needs pyarrow, and is loaded when it is first asked for.
"""

from typing import TYPE_CHECKING

from pandora_regret.lazy import lazy_exports

if TYPE_CHECKING:
    from pandora_regret.files.alignment import align as align
    from pandora_regret.files.alignment import common_rows as common_rows
    from pandora_regret.files.batch import Batch as Batch
    from pandora_regret.files.cases import OneRow as OneRow
    from pandora_regret.files.cases import find_row as find_row
    from pandora_regret.files.cases import read_row as read_row
    from pandora_regret.files.dialect import Dialect as Dialect
    from pandora_regret.files.formats import read_table as read_table
    from pandora_regret.files.inspection import Inspected as Inspected
    from pandora_regret.files.inspection import inspect_file as inspect_file
    from pandora_regret.files.inspection import inspect_models as inspect_models
    from pandora_regret.files.layout import Layout as Layout
    from pandora_regret.files.models_file import ModelFiles as ModelFiles
    from pandora_regret.files.models_file import read_models_argument as read_models_argument
    from pandora_regret.files.predictions import Predictions as Predictions
    from pandora_regret.files.predictions import open_models as open_models
    from pandora_regret.files.predictions import open_predictions as open_predictions
    from pandora_regret.files.predictions import read_all as read_all
    from pandora_regret.files.predictions import read_models as read_models
    from pandora_regret.files.prices import PriceList as PriceList
    from pandora_regret.files.prices import Prices as Prices
    from pandora_regret.files.prices import read_costs_argument as read_costs_argument
    from pandora_regret.files.prices import read_price_list as read_price_list
    from pandora_regret.files.prices import read_prior_argument as read_prior_argument
    from pandora_regret.files.problems import FileError as FileError
    from pandora_regret.files.problems import Problem as Problem

__all__, __getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "alignment": ("align", "common_rows"),
        "batch": ("Batch",),
        "dialect": ("Dialect",),
        "problems": ("FileError", "Problem"),
        "formats": ("read_table",),
        "inspection": ("Inspected", "inspect_file", "inspect_models"),
        "layout": ("Layout",),
        "models_file": ("ModelFiles", "read_models_argument"),
        "cases": ("OneRow", "find_row", "read_row"),
        "predictions": ("Predictions", "open_models", "open_predictions", "read_all", "read_models"),
        "prices": ("PriceList", "Prices", "read_costs_argument", "read_price_list", "read_prior_argument"),
    },
    dict.fromkeys(("inspection", "cases", "formats", "predictions"), ("pyarrow", "cli")),
)
