"""Money, counts, names and sentences for people, made from plain numbers and words; and the one table.

amounts.py   numbers, money and estimates as people read them
bars.py      costs as bars, for notebooks
names.py     names in sentences and drawings
outline.py   boxes of text below each other, as a picture
table.py     Table, its cells, and Displayable: results that print, show and become a frame
terminal.py  how wide text is on a terminal, and its lines
"""

from pandora_regret.lazy import lazy_exports

__all__, __getattr__, __dir__ = lazy_exports(__name__)
