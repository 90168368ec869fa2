from pandora_regret.comparison.build import compare as compare
from pandora_regret.comparison.build import compare_frames as compare_frames
from pandora_regret.comparison.planning import cases_needed as cases_needed
from pandora_regret.comparison.ranked import compare_lists as compare_lists
from pandora_regret.comparison.request import ComparisonOptions as ComparisonOptions
from pandora_regret.comparison.result import Comparison as Comparison
from pandora_regret.comparison.words import price_sentences as price_sentences
