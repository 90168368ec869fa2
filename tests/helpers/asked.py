"""`compare` with the fields of its options among the keywords, as tests mix them."""

from dataclasses import fields

from pandora_regret import ComparisonOptions, compare

OPTIONS = {field.name for field in fields(ComparisonOptions)}


def compare_with(y_true=None, models=None, **asked):
    options = {name: asked.pop(name) for name in OPTIONS & asked.keys()}
    return compare(y_true, models, options=ComparisonOptions(**options), **asked)
