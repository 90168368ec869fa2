from pandora_regret.integrations.torch.linear import LinearPandoraLoss as LinearPandoraLoss
from pandora_regret.integrations.torch.linear import linear_pandora_loss as linear_pandora_loss
from pandora_regret.integrations.torch.loss import PandoraLoss as PandoraLoss
from pandora_regret.integrations.torch.loss import pandora_loss as pandora_loss
from pandora_regret.integrations.torch.metrics import ExpectedSearchCost as ExpectedSearchCost
from pandora_regret.integrations.torch.metrics import PandoraRegret as PandoraRegret
