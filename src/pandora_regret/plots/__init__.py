"""Figures, one file a figure; matplotlib is imported when one is drawn."""
