"""Everything about uncertainty: how far a number found on a sample may be off.

resampling.py    the bootstrap's weights, which depend on a seed, a replicate and a row's key alone
intervals.py     one estimate: Student, score and corrected percentile intervals, and their p-values
joint.py         many estimates of the same instances, so that differences are paired
carriers.py      how many cases carry an estimate: where a handful does, no interval can be trusted
sequential.py    streams, judged at every moment: evidence by betting, confidence sequences, change and drift
multiplicity.py  many questions at once: Holm's adjustment, the probability of being the best
"""
