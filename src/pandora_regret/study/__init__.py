"""The paper's experiment as a tool: zoos of models, their predictions, and which metric picks the cheapest one.

Every public name is found here, `pandora_regret.study.Store` for one, and loads when it is first asked for; the
modules in which they live may change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pandora_regret.lazy import lazy_exports

if TYPE_CHECKING:
    from pandora_regret.study.conditions import CONDITIONS as CONDITIONS
    from pandora_regret.study.conditions import PAPER_CONDITIONS as PAPER_CONDITIONS
    from pandora_regret.study.conditions import Condition as Condition
    from pandora_regret.study.conditions import read_condition as read_condition
    from pandora_regret.study.conditions import read_conditions as read_conditions
    from pandora_regret.study.predicting import Outcome as Outcome
    from pandora_regret.study.predicting import Zoo as Zoo
    from pandora_regret.study.predicting import predict_all as predict_all
    from pandora_regret.study.ranking_agreement import agreement as agreement
    from pandora_regret.study.results import Agreement as Agreement
    from pandora_regret.study.results import read_results as read_results
    from pandora_regret.study.run import agreement_of as agreement_of
    from pandora_regret.study.run import begin as begin
    from pandora_regret.study.run import forget_failures as forget_failures
    from pandora_regret.study.run import reopen as reopen
    from pandora_regret.study.run import run_study as run_study
    from pandora_regret.study.run import standing as standing
    from pandora_regret.study.spec import DataSet as DataSet
    from pandora_regret.study.spec import Study as Study
    from pandora_regret.study.spec import read_study as read_study
    from pandora_regret.study.store import Prediction as Prediction
    from pandora_regret.study.store import Store as Store
    from pandora_regret.study.store import Target as Target
    from pandora_regret.study.table import PAPER_METRICS as PAPER_METRICS
    from pandora_regret.study.table import Cell as Cell
    from pandora_regret.study.table import Grid as Grid
    from pandora_regret.study.table import study_grid as study_grid
    from pandora_regret.study.zoos.existing import FilesZoo as FilesZoo
    from pandora_regret.study.zoos.existing import StoreZoo as StoreZoo
    from pandora_regret.study.zoos.existing import import_predictions as import_predictions
    from pandora_regret.study.zoos.image_zoos import TimmZoo as TimmZoo
    from pandora_regret.study.zoos.image_zoos import VariantsZoo as VariantsZoo
    from pandora_regret.study.zoos.table_files import LabelledTable as LabelledTable
    from pandora_regret.study.zoos.table_files import read_labelled as read_labelled
    from pandora_regret.study.zoos.tables import TableZoo as TableZoo

__all__, __getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "conditions": ("CONDITIONS", "Condition", "PAPER_CONDITIONS", "read_condition", "read_conditions"),
        "predicting": ("Outcome", "Zoo", "predict_all"),
        "ranking_agreement": ("agreement",),
        "results": ("Agreement", "read_results"),
        "run": ("agreement_of", "begin", "forget_failures", "reopen", "run_study", "standing"),
        "spec": ("DataSet", "Study", "read_study"),
        "store": ("Prediction", "Store", "Target"),
        "table": ("Cell", "Grid", "PAPER_METRICS", "study_grid"),
        "zoos.existing": ("FilesZoo", "StoreZoo", "import_predictions"),
        "zoos.table_files": ("LabelledTable", "read_labelled"),
        "zoos.tables": ("TableZoo",),
        "zoos.image_zoos": ("TimmZoo", "VariantsZoo"),
    },
)
