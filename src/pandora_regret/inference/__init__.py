"""Everything about uncertainty: how far a number found on a sample may be off.

estimate.py      Estimate: a value, an interval, a warning
keyed.py         keys of rows, and random numbers that depend on them alone
resampling.py    the bootstrap's weights, which depend on a seed, a replicate and a row's key alone
intervals.py     one number: Student, score and corrected percentile intervals, and their p-values
joint.py         many numbers of the same instances, so that differences are paired; parts; who carries them
sequential.py    streams, judged at every moment: evidence by betting, confidence sequences, change and drift
"""
