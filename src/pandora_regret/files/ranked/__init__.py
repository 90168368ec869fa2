"""Ranked lists: files whose cases have candidates of their own, as `Candidates` of several models.

One direction, and a later step imports earlier ones only:

1. **formats**: lists in JSON lines, TREC runs and qrels, line by line; comments before a table.
2. **layout**: `ListLayout` says which column is what, as callers do.
3. **columns**: `find_columns` says which column of a long table is what.
4. **values**: these columns as checked arrays. What is wrong with rows is told to `Problems`, which raises the
   first problem or collects all.
5. **rows**: `RankedRows` are the rows of one model; **truth** is what a file of its own says of cases.
6. **lists**: rows with truths and prices become `Candidates`, or, where they are too many to keep,
   `SearchedOrders`.
7. **reading**: `read_rows` reads one file, whatever its format; **parts** joins files of one model; **alignment**
   finds the cases of all models.
8. **models**: `read_ranked` is what callers use: the same cases of all models, in the same order.
"""
