"""Several models on the same instances: scores with intervals, paired differences, ranks, and who pays for what.

    parts.py        what a comparison is made of, frozen: models, differences, groups, prices, the verdict
    embedded.py     a few cases that travel with it, for a page's live prices
    sample.py       which cases there are, and which of them belong together
    charge.py       what models are charged for: the tests of a search, or a work-up; scenarios of other costs
    breakdowns.py   columns such as site, age:10, site*sex, as they are written
    request.py      what was asked, checked once: all of the above, how intervals are made, what is worth acting on
    measure.py      a model and the request -> its cost and metrics case by case, by a search or a work-up
    figures.py      -> numbers, with what each case adds to them, and their bootstrap replicates
    doubts.py       why not to trust an estimate, as data
    bins.py         predicted costs against what was paid
    estimate.py     -> every estimate with interval and doubts, differences, ranks, what the verdict is about
    groups.py       which group a case is in
    grouping.py     -> models by group, and what stands out beyond chance
    break_even.py   -> what one test must cost before another model is the cheapest
    typical_case.py    what a work-up does with a typical case
    embed.py        -> the cases that travel
    judge.py        -> the verdict without words: kind, leader, level, open, how many more cases
    words.py        -> the verdict, and all else that a comparison says, in sentences
    result.py       the comparison that holds all this; its table, and its JSON (schema "pandora-comparison/4")
    conclude.py     numbers, of rows or of sums, into a Comparison: judged, put into words, built once
    build.py        compare, which calls these in this order
    planning.py     cases_needed: how many more cases to gather, asked of a comparison
    ranked.py       compare_lists: ranked lists through the same steps, and the price of a miss

Every step is a function from a frozen value to the next.

The JSON, in short (null stands for what is undefined or infinite; classes in the order of ``data.classes``, models
by rising expected cost)::

    schema, library, data {rows, weighted, classes, class_weights, clusters},
    costs {currency, prior, typical, source}, interval {level, method, replicates, seed},
    metrics [{key, title, better, unit}],
    models [{name, scores {key: {value, low, high, warning?}}, unavoidable, predicted_cost, calibration [...],
             probability_best, rank, by_class [...], pair_costs (K x K), scenarios, decomposition,
             recalibrated {method, cost, saved, against_best}, at_stated_prices}],
    differences [{model, against, difference, low, high, p_value, p_holm, savings_per_1000, realised}],
    ranks {key: [...]}, disagreements, largest_pairs, scenarios,
    verdict {kind, leader, undecided, level, cases_needed, cases_for_gap, stake, margin, share, recalibrated,
             sentences},
    headline, notes, files, remarks,
    break_even [{test, stated, below {price, low, high, leader}, above}],
    by [{column, groups [{name, rows, weight, models [{name, cost, against_leader, p_holm, predicted, against_rest,
                          p_rest}], leader, flags, flagged}], pooled, flags, flagged}],
    lists {until, miss, at, candidates, several_truths, ranges [{low, high, leader, undecided, saves, saves_at}],
           crossings [{model, against, price, low, high}], prices, curves {model: [...]},
           unavoidable {model: [...]},
           shown_at, shown {model: [...]}, constant {length, found, cost, unnamed}}

Of ranked lists there are no classes, and `lists` says what depends on the price of a miss: all other costs
are those at which a miss costs ``at``.
"""

from pandora_regret.lazy import lazy_exports

__all__, __getattr__, __dir__ = lazy_exports(__name__)
