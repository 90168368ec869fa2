from pandora_regret.candidates.constant import constant_list as constant_list
from pandora_regret.candidates.lists import Candidates as Candidates
from pandora_regret.candidates.miss import MissPrices as MissPrices
from pandora_regret.candidates.miss import MissRange as MissRange
from pandora_regret.candidates.miss import miss_ranges as miss_ranges
from pandora_regret.candidates.places import Places as Places
from pandora_regret.candidates.searched import CaseLists as CaseLists
from pandora_regret.candidates.searched import SearchedOrders as SearchedOrders
