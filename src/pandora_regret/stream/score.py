"""score_stream: a comparison of one model, made from sums over its rows in one pass over a file of any size."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from pandora_regret.comparison.charge import Pricing
from pandora_regret.comparison.request import Provenance, read_interval
from pandora_regret.comparison.result import Comparison
from pandora_regret.core.priors import Prior
from pandora_regret.stream.conclude import concluded
from pandora_regret.stream.settings import Settings, StreamPrices, read_settings
from pandora_regret.stream.sums import StreamSums

if TYPE_CHECKING:
    from pandora_regret.files import Predictions
    from pandora_regret.workup import Workup

Progress: TypeAlias = Callable[[int], object]


def score_stream(
    predictions: Predictions,
    *,
    prior: Prior | None = None,
    costs: StreamPrices | None = None,
    currency: str | None = None,
    source: str | None = None,
    bootstrap: int = 0,
    level: float = 0.95,
    seed: int = 0,
    pairs: bool = False,
    rows: int | None = None,
    jobs: int = 1,
    cluster: str | None = None,
    progress: Progress | None = None,
    workup: Workup | None = None,
    provenance: Provenance | None = None,
) -> Comparison:
    """Score one model's predictions in one pass; memory does not grow with rows.

    Parameters
    ----------
    predictions
        From `open_predictions`.
    prior, costs, currency, source
        As in `compare`; a file with cost columns brings typical costs of its own.
    bootstrap
        How many replicates to draw; 0 leaves intervals to standard errors. Rows of one group are drawn together,
        and their errors are summed first, as in `compare`.
    level
        Of the intervals.
    seed
        Of the bootstrap. What is drawn depends on it and on rows' groups, ids or numbers alone.
    pairs
        Whether to sum who pays for which wrong test, (K, K), too.
    rows
        How many rows to read at a time; some tens of megabytes of them unless given.
    jobs, cluster
        How many processes, or the address of a Dask scheduler, to tally fragments of the files.
    progress
        Called with the number of rows that were scored since the last call.
    workup
        A work-up to score by, instead of a search, as in `compare`.
    provenance
        Where predictions come from, for the record; what was changed as rows were read is added to it.

    Returns
    -------
    Comparison
        Of one model: every metric with its interval. What takes all rows at once is left out: what forecasts
        predict, recalibration, results by class and by group.

    See Also
    --------
    compare : Several models, in memory.
    search_tally : The sums of one batch, to be merged by hand.

    Examples
    --------
    >>> from pandora_regret.files import open_predictions
    >>> [predictions] = open_predictions("predictions.parquet")  # doctest: +SKIP
    >>> score_stream(predictions, bootstrap=1000).best.scores["expected_cost"]  # doctest: +SKIP
    Estimate(value=1.1667, low=1.161, high=1.1722, warning=None)
    """
    interval = read_interval(level, bootstrap, seed)
    settings = read_settings(predictions, Pricing(prior, costs, currency, source), interval, pairs, workup)
    predictions = replace(predictions, watched=predictions.columns.id)
    if predictions.truth is None and (predictions.grouped or not interval.replicates):
        predictions = replace(predictions, columns=replace(predictions.columns, id=None))  # nothing asks for ids
    if jobs == 1 and cluster is None:
        return concluded(predictions, settings, [(0, tally(predictions, settings, rows, progress))], provenance)
    from pandora_regret.work import run_all

    parts = []
    tally_piece = partial(tally, settings=settings, rows=rows)
    for piece, part in run_all(tally_piece, predictions.fragments(), jobs=jobs, cluster=cluster):
        parts.append((piece.first_row, part))
        if progress is not None:
            progress(part.cases)
    return concluded(predictions, settings, parts, provenance)


def tally(
    predictions: Predictions, settings: Settings, rows: int | None = None, progress: Progress | None = None
) -> StreamSums:
    """The sums of a file, or of one fragment of it; a batch is read while the one before is scored."""
    expected_rows = sum(source.expected_rows() for source in predictions.sources)
    compiled = settings.is_compiled(expected_rows)
    sums = StreamSums(settings, compiled)
    batches = iter(predictions.batches(rows))
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, batches, None)
        while (batch := coming.result()) is not None:
            coming = pool.submit(next, batches, None)
            sums.add(batch)
            if progress is not None:
                progress(len(batch))
    return sums
