"""Several models on the same instances: scores with intervals, paired differences, ranks, and who pays for what.

    sample.py       the door: models and instances -> forecasts in one order, clusters, keys
    prices.py       costs, and the scenarios beside them
    measure.py      what is known of one model: a number per instance and metric, and the pair-cost matrix
    estimates.py    influences and bootstrap replicates of every estimate, for `pandora_regret.inference`
    calibration.py  what forecasts predict the search will cost, against what it costs
    grouping.py     which group each case is in, by columns such as site, age:10, site*sex
    subgroups.py    models group by group, and what stands out beyond chance; group_words.py: in sentences
    result.py       Comparison: frozen, and its JSON (schema "pandora-comparison/2")
    agreement.py    whether the parts of a comparison that was read fit each other
    recalibration.py  each model as its recalibrated self
    break_even.py   how dear or cheap one test must become before another model is the cheapest
    verdict.py      what to do, as far as the data settle it
    cases.py        how many more cases would settle it
    words.py        the same in sentences
    assemble.py     numbers into a Comparison
    build.py        compare: all of it in order; compare_forecasts: the same past the door

The JSON, in short (null stands for what is undefined or infinite; classes in the order of ``data.classes``, models
by rising expected cost)::

    schema, library, data {rows, weight, classes, class_weights, clusters},
    costs {currency, prior, typical, source}, interval {level, method, replicates, seed},
    metrics [{key, title, better, unit}],
    models [{name, scores {key: {value, low, high, warning?}}, unavoidable, predicted_cost, calibration [...],
             probability_best, rank, by_class [...], pair_costs (K x K), alphas, scenarios, decomposition,
             recalibrated {method, cost, saved, against_leader}, at_stated_prices}],
    differences [{model, against, difference, low, high, p_value, p_holm, savings_per_1000, realised}],
    ranks {key: [...]}, disagreements, largest_pairs, alphas, scenarios,
    verdict {kind, leader, undecided, cases_needed, recalibrate, sentences}, headline, notes,
    break_even [{test, stated, below {price, low, high, leader}, above}]
"""

from pandora_regret.lazy import lazy_exports

__all__, __getattr__, __dir__ = lazy_exports(__name__)
