"""Linear probes: a softmax regression on frozen features, trained as in the paper."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

from pandora_regret.inputs import InputError
from pandora_regret.study.zoos.encoders import library

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Probe:
    """How a linear head is trained: by default one epoch of AdamW, as in the paper.

    Parameters
    ----------
    epochs, batch, learning_rate, weight_decay : numbers
    label_smoothing : float
        From 0 to 1.
    fraction : float
        How much of the training data is used, above 0 and at most 1.
    standardise : bool
        Whether features are brought to mean 0 and standard deviation 1 of the training data first.
    seed : int
        Of the first weights, the order of the data and the fraction.
    """

    epochs: int = 1
    batch: int = 64
    learning_rate: float = 1e-3
    weight_decay: float = 1e-4
    label_smoothing: float = 0.0
    fraction: float = 1.0
    standardise: bool = False
    seed: int = 42

    def __post_init__(self) -> None:
        if self.epochs < 1 or self.batch < 1 or not 0 < self.fraction <= 1 or not 0 <= self.label_smoothing <= 1:
            raise InputError(
                f"{self}: epochs and batch are at least 1, fraction is above 0 and at most 1, "
                "label_smoothing lies in [0, 1]."
            )

    def logits(self, train: Tensor, labels: Tensor, test: Tensor, n_classes: int) -> Tensor:
        """Train on some features, predict others.

        Parameters
        ----------
        train : (n, D) tensor
        labels : (n,) tensor of whole numbers, on the same device
        test : (m, D) tensor, on the same device
        n_classes : int

        Returns
        -------
        (m, n_classes) float32 tensor
        """
        torch = library("torch")
        train, test, (n, width) = train.float(), test.float(), train.shape
        if self.standardise:
            mean, spread = train.mean(0), train.std(0).clamp_min(1e-6)
            train, test = (train - mean) / spread, (test - mean) / spread
        chance = torch.Generator().manual_seed(self.seed)  # of the CPU: the same draws on every device
        head = torch.nn.utils.skip_init(torch.nn.Linear, width, n_classes)
        for parameter in (head.weight, head.bias):  # torch's usual first weights
            torch.nn.init.uniform_(parameter, -1 / sqrt(width), 1 / sqrt(width), generator=chance)
        head = head.to(train.device)
        optimiser = torch.optim.AdamW(
            head.parameters(), self.learning_rate, weight_decay=self.weight_decay, fused=True
        )
        used = torch.arange(n)
        if self.fraction < 1:
            used = torch.randperm(n, generator=chance)[: max(1, round(self.fraction * n))]
        for _ in range(self.epochs):
            order = used[torch.randperm(len(used), generator=chance)].to(train.device)
            for rows in order.split(self.batch):
                loss = torch.nn.functional.cross_entropy(
                    head(train[rows]), labels[rows], label_smoothing=self.label_smoothing
                )
                loss.backward()
                optimiser.step()
                optimiser.zero_grad()
        with torch.no_grad():
            predicted: Tensor = head(test)
        return predicted
