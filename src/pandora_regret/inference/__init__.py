"""Everything about uncertainty: intervals, groups, weights, multiplicity."""
