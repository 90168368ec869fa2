"""Where models come from: kinds of zoos, found by the name a study's TOML file gives them.

existing.py     predictions that are there already, in a store or in files
tables.py       scikit-learn classifiers; table_files.py reads what they learn from
image_zoos.py   linear probes (probes.py) on what encoders (encoders.py, features.py) see of images (images.py)
"""

from __future__ import annotations

from importlib import import_module

ZOO_CLASSES = {
    "sklearn": ("tables", "TableZoo"),  # scikit-learn classifiers on a table
    "timm": ("image_zoos", "TimmZoo"),  # pretrained encoders with linear heads, as in the paper
    "variants": ("image_zoos", "VariantsZoo"),  # a few encoders at many depths, resolutions and poolings
    "store": ("existing", "StoreZoo"),  # predictions in a store
    "files": ("existing", "FilesZoo"),  # predictions in files
}


def zoo_class(kind: str) -> type:
    """The class of a kind of zoo, imported when it is asked for."""
    module, name = ZOO_CLASSES[kind]
    kind_class: type = getattr(import_module(f"{__name__}.{module}"), name)
    return kind_class
