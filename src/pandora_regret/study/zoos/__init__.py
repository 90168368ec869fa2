"""Where models come from: kinds of zoos, found by the name a study's TOML file gives them.

existing.py     predictions that are there already, in a store or in files
tables.py       scikit-learn classifiers, and the tables that they learn from
image_zoos.py   linear probes on what encoders see of images
"""

from typing import Any

from pandora_regret import study

ZOO_CLASSES = {  # as pandora_regret.study calls them
    "sklearn": "TableZoo",  # scikit-learn classifiers on a table
    "timm": "TimmZoo",  # pretrained encoders with linear heads, as in the paper
    "variants": "VariantsZoo",  # a few encoders at many depths, resolutions and poolings
    "store": "StoreZoo",  # predictions in a store
    "files": "FilesZoo",  # predictions in files
}


def zoo_class(kind: str) -> Any:
    """The class of a kind of zoo, imported when it is asked for."""
    return getattr(study, ZOO_CLASSES[kind])
