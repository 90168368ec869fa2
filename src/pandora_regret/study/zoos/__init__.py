"""Where models come from: kinds of zoos, found by the name a study's TOML file gives them.

existing.py     predictions that are there already, in a store or in files
tables.py       scikit-learn classifiers, and the tables that they learn from
image_zoos.py   linear probes on what encoders see of images
"""

from collections.abc import Callable

from pandora_regret.study.zoo import Zoo


def table_zoo() -> type[Zoo]:
    """Scikit-learn classifiers on a table."""
    from pandora_regret.study.zoos.tables import TableZoo

    return TableZoo


def timm_zoo() -> type[Zoo]:
    """Pretrained encoders with linear heads, as in the paper."""
    from pandora_regret.study.zoos.image_zoos import TimmZoo

    return TimmZoo


def variants_zoo() -> type[Zoo]:
    """A few encoders at many depths, resolutions and poolings."""
    from pandora_regret.study.zoos.image_zoos import VariantsZoo

    return VariantsZoo


def store_zoo() -> type[Zoo]:
    """Predictions in a store."""
    from pandora_regret.study.zoos.existing import StoreZoo

    return StoreZoo


def files_zoo() -> type[Zoo]:
    """The class of zoos whose predictions are in files."""
    from pandora_regret.study.zoos.existing import FilesZoo

    return FilesZoo


ZOO_CLASSES: dict[str, Callable[[], type[Zoo]]] = {  # by the kind that a study file names; imported when asked for
    "sklearn": table_zoo,
    "timm": timm_zoo,
    "variants": variants_zoo,
    "store": store_zoo,
    "files": files_zoo,
}
