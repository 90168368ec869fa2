from pandora_regret.compare.build import compare as compare
from pandora_regret.compare.build import compare_frames as compare_frames
from pandora_regret.compare.judge import cases_needed as cases_needed
from pandora_regret.compare.result import Comparison as Comparison
from pandora_regret.compare.words import price_sentences as price_sentences
