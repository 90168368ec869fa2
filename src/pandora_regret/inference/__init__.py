"""Everything about uncertainty: how far a number found on a sample may be off.

estimate.py      Estimate: a value, an interval, a warning
keyed.py         keys of rows, and random numbers that depend on them alone
resampling.py    the bootstrap's weights, which depend on a seed, a replicate and a row's key alone
student.py       Student's t without scipy
intervals.py     one number: Student, score and corrected percentile intervals, and their p-values
joint.py         many numbers of the same instances, so that differences are paired; parts; who carries them
sequential.py    streams, judged at every moment: evidence by betting, confidence sequences, change and drift;
                 sequential_loops.py is what of it is compiled
dependence.py    whether rows and columns of tables of counts depend on each other
"""
