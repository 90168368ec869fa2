"""Lists of candidates: what a search along each case's own list costs, and what a miss is worth.

Most people who search one by one have no table of K classes. They have a list for each case: files that may hold
the bug, diseases of a patient, services that may be the root cause. Lists differ in length and in names; several
candidates may be true, or none.

    lists.py        Candidates: names, prices, values and hits of all cases, one after the other, with offsets
    reading.py      Candidates from frames and from lists, checked
    reference.py    one case in plain Python that reads like the definitions: the specification of search.py
    search.py       the order of a search, and how likely it is that each candidate is looked at
    places.py       found, top-1, top-3, MRR, EXAM: the numbers that people know
    proper.py       the paper's scores, for lists of probabilities with one truth
    searched.py     SearchedOrders: what is left of lists too long to keep, once each is searched
    order_loops.py  the same in two passes, compiled
    constant.py     a yardstick: one list for every case, made of the truths of other cases
    miss.py         the price of a miss: who is cheapest up to which price

**A miss is one more alternative.** Whoever finds nothing on the list pays M, the price of a miss: a full
search, an expert, a restart. With probabilities, what they leave, ``r = 1 - sum p``, belongs to "elsewhere",
whose test costs M, and which comes at ``r / M`` among the candidates' ``p / c``. An order without probabilities
has it last.

**The search goes on behind elsewhere**, as behind any other test that finds nothing, where the truth is a
candidate that comes later. It must: a score that ended there with M paid would not be proper. Of one candidate
of price 1 that is true in half of all cases, with M = 1.2, an honest forecast would pay 1.6, one that says 0.1
only 1.2.
"""

from pandora_regret.lazy import lazy_exports

__all__, __getattr__, __dir__ = lazy_exports(__name__)
