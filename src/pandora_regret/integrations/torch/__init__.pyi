from pandora_regret.integrations.torch.loss import PandoraLoss as PandoraLoss
from pandora_regret.integrations.torch.loss import pandora_loss as pandora_loss
from pandora_regret.integrations.torch.metrics import ExpectedSearchCost as ExpectedSearchCost
from pandora_regret.integrations.torch.metrics import PandoraRegret as PandoraRegret
