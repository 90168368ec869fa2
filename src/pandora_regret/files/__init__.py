"""Prediction files of every format as checked arrays, aligned where there are several; prices and priors.

Data flows one way, and a later step imports earlier ones only:

1. **source**: `formats.open_source` looks at the first bytes and hands out a `Source`: a file whose columns
   have names and kinds. There is one module for each kind of file: `text` (with `recognise`: encoding,
   separator, decimal sign), `json_lines` (with `lists` and `samples`), `columnar`, `sheets`, `archives`. What
   was decided is in `Source.remarks`.
2. **table**: `table.blocks_of` reads sources as a stream of `Block`: Arrow records with the numbers of their
   rows.
3. **columns**: `columns.find_columns` says which column plays which part (`roles`): one function for each kind
   of part.
4. **rows**: `rows.read_facts` and `read_forecasts` make arrays of a block: one function for each part. What is
   wrong is told to `Problems`, which raises the first problem or collects all. A `Batch` is some rows as such
   arrays.
5. **models**: `Predictions` is one model's table, read batch by batch; `models` gives several the same classes
   in one spelling, `alignment` the same cases. `opening`, `aligned_models`, `one_row` and `inspecting` are what
   callers use.

Beside these: what callers say (`layout`, `dialect`, `models_file`, `written`), `prices`, and `writing`. Where
cases have candidates of their own, `ranked/` leads from sources to `Candidates`, in the same direction. What reads
files needs pyarrow, and is loaded when it is first asked for.
"""

from pandora_regret.lazy import lazy_exports

READERS = ("aligned_models", "formats", "inspecting", "one_row", "opening", "predictions")
__all__, __getattr__, __dir__ = lazy_exports(__name__, dict.fromkeys(READERS, ("pyarrow", "cli")))
