"""Several models on the same instances: scores with intervals, paired differences, ranks, and who pays for what.

    build.py        compare: models and instances -> forecasts in one order, and prices; then all the rest
    charge.py       what models are charged for: the tests of a search, or a work-up; scenarios of other costs
    estimates.py    a number per row and metric of each model; every estimate with its interval, differences, ranks
    doubts.py       why not to trust an estimate of a model
    request.py      what was asked: how intervals are made, what difference is worth acting on
    judge.py        the verdict without words: kind, leader, level, open, how many more cases
    words.py        the verdict, and all else that a comparison says, in sentences
    conclude.py     numbers, of rows or of sums, into a Comparison: judged, then put into words
    grouping.py     models by columns such as site, age:10, site*sex, and what stands out beyond chance
    break_even.py   what one test must cost before another model is the cheapest
    embedded.py     a few cases that travel with a comparison, for a page's live prices
    result.py       Comparison: frozen, and its JSON (schema "pandora-comparison/3")

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
    verdict {kind, leader, undecided, level, cases_needed, stake, margin, share, recalibrated, sentences},
    headline, notes, files, done,
    break_even [{test, stated, below {price, low, high, leader}, above}]
"""

from pandora_regret.lazy import lazy_exports

__all__, __getattr__, __dir__ = lazy_exports(__name__)
