"""A linear probe trained for search, as a scikit-learn classifier around a plain PyTorch loop."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from pandora_regret.inputs import FloatArray, InputError, read_alpha, read_choice, read_count
from pandora_regret.inputs.numbers import read_number
from pandora_regret.integrations.torch.loss import PandoraLoss
from pandora_regret.integrations.torch.schedule import AlphaSchedule
from pandora_regret.priors import Uniform
from pandora_regret.priors.reading import read_base_costs

OBJECTIVES = {"search": "Pandora's Regret at alpha and costs", "log_loss": "cross-entropy"}


@dataclass(frozen=True)
class Examples:
    """Features, classes and weights on the device; weights have mean 1 over all rows passed to `fit`."""

    features: torch.Tensor  # (n, D) float32
    truth: torch.Tensor  # (n,) int64
    weights: torch.Tensor  # (n,) float32

    def __len__(self) -> int:
        return len(self.truth)

    def rows(self, index: torch.Tensor) -> Examples:
        """The rows of these numbers, (m,)."""
        index = index.to(self.truth.device)
        return Examples(self.features[index], self.truth[index], self.weights[index])

    def head_of_shares(self, n_classes: int) -> torch.nn.Linear:
        """A head that forecasts the shares of the classes, whatever the features; nothing is impossible to it."""
        head = torch.nn.Linear(self.features.shape[1], n_classes, device=self.features.device)
        counts = torch.bincount(self.truth.cpu(), self.weights.cpu(), n_classes)
        with torch.no_grad():
            head.weight.zero_()
            head.bias.copy_(torch.log1p(counts).log_softmax(0))
        return head

    def loss(self, head: torch.nn.Linear, losses: torch.nn.Module) -> torch.Tensor:
        """The mean of weighted losses."""
        loss: torch.Tensor = (self.weights * losses(head(self.features), self.truth)).mean()
        return loss


@dataclass(eq=False, repr=False, kw_only=True)
class SearchProbe(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A linear classifier trained by AdamW on Pandora's Regret, or on log loss.

    Features should be of order one: put a `StandardScaler` in front. The head starts at the shares of the classes,
    whatever the features, so that chance plays a part only in the order of rows and in which of them are held out.
    Weights scale the losses of rows; as batches are drawn from rows, a weight of 2 is not quite the same as a row
    given twice.

    Parameters
    ----------
    objective
        "search" for Pandora's Regret at `alpha` and the costs, "log_loss" for cross-entropy.
    alpha
        Of the score that is minimised in the end, finite.
    anneal
        The share of the training in which alpha rises from 0, where the loss is convex, to `alpha`; 0 for none.
    costs, typical_costs
        What a test of each class costs, in the order of ``classes_``, or named by class; only proportions count.
    epochs, batch_size, learning_rate, weight_decay
        Of the training; the last batch of an epoch may be smaller, and intercepts do not decay.
    validation_fraction
        The share of rows that is held out, as many of each class as its share, to stop early by; 0 for none.
    patience
        Training ends after this many epochs without a lower loss of the rows held out, though not before alpha has
        arrived; the best weights since then are kept.
    device
        Where to train: "cpu", "cuda", ...
    random_state
        A seed, a NumPy `RandomState`, or None.

    Attributes
    ----------
    classes_
        The classes, in column order.
    coef_, intercept_
        The head, (K, D) and (K,).
    losses_, validation_losses_
        The mean loss of each epoch, at the alpha of its time, and that of the rows held out, at the last alpha.
    n_iter_
        How many epochs were run.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_wine(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), SearchProbe(random_state=0)).fit(X, y)
    >>> model.score(X, y) > 0.97
    True
    """

    objective: str = "search"
    alpha: float = 1.0
    anneal: float = 0.5
    costs: Any = None
    typical_costs: Any = None
    epochs: int = 50
    batch_size: int = 64
    learning_rate: float = 1e-2
    weight_decay: float = 1e-4
    validation_fraction: float = 0.0
    patience: int = 5
    device: str = "cpu"
    random_state: Any = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SearchProbe:
        """Train the head on features (N, D) and classes (N,)."""
        self._check_parameters()
        examples = self._examples(X, y, sample_weight)
        chance = torch.Generator().manual_seed(int(check_random_state(self.random_state).randint(2**31)))
        train, held_out = self._split(examples, chance)
        head = train.head_of_shares(len(self.classes_))
        self._train(head, train, held_out, chance)
        self.coef_, self.intercept_ = (p.detach().cpu().double().numpy() for p in (head.weight, head.bias))
        return self

    def _train(
        self, head: torch.nn.Linear, train: Examples, held_out: Examples | None, chance: torch.Generator
    ) -> None:
        kept = {"params": [head.bias], "weight_decay": 0.0}  # decay would draw forecasts to equal shares
        decaying = {"params": [head.weight], "weight_decay": self.weight_decay}
        optimiser = torch.optim.AdamW([decaying, kept], self.learning_rate)
        schedule, losses, last_losses = self._objectives(ceil(len(train) / self.batch_size))
        best = Best(self.patience)
        self.losses_: list[float] = []
        for _ in range(self.epochs):
            total = torch.zeros((), device=self.device)
            for rows in torch.randperm(len(train), generator=chance).split(self.batch_size):  # type: ignore[no-untyped-call]
                batch = train.rows(rows)
                loss = batch.loss(head, losses)
                optimiser.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimiser.step()
                schedule.step()
                total += loss.detach() * len(batch)
            self.losses_.append(total.item() / len(train))
            settled = schedule.alpha == schedule.end
            if held_out is not None and best.enough(head, held_out, last_losses, settled=settled):
                break
        best.restore(head)
        self.n_iter_, self.validation_losses_ = len(self.losses_), best.losses

    def decision_function(self, X: Any) -> FloatArray:
        """Logits (N, K); of two classes the second's over the first's, (N,), as scikit-learn has it."""
        logits = self._logits(X)
        return logits[:, 1] - logits[:, 0] if len(self.classes_) == 2 else logits

    def predict_proba(self, X: Any) -> FloatArray:
        """Forecasts, (N, K)."""
        return np.asarray(softmax(self._logits(X), axis=1))

    def predict(self, X: Any) -> NDArray[Any]:
        """The most likely class of each row."""
        logits = self._logits(X)
        return np.asarray(self.classes_[logits.argmax(axis=1)])

    def _logits(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        X = validate_data(self, X, dtype=(np.float64, np.float32), reset=False)
        return np.asarray(X @ self.coef_.T + self.intercept_)

    def _check_parameters(self) -> None:
        read_choice(self.objective, "objective", OBJECTIVES)
        if read_alpha(self.alpha) == np.inf:
            raise InputError("alpha is inf: that score has no gradient to train by, choose a finite alpha.")
        for name in ("epochs", "batch_size", "patience"):
            read_count(getattr(self, name), name)
        for name, largest in (("anneal", 1.0), ("validation_fraction", 0.9)):
            if not 0 <= read_number(getattr(self, name), name) <= largest:
                raise InputError(f"{name} is {getattr(self, name)}: it must lie between 0 and {largest}.")

    def _examples(self, X: Any, y: Any, sample_weight: Any) -> Examples:
        X, y = validate_data(self, X, y, dtype=np.float32)
        check_classification_targets(y)
        self.classes_, truth = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise InputError(f"y has one class only, {self.classes_[0]!r}: a classifier needs two or more.")
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        arrays = X, truth, (weights / weights.mean()).astype(np.float32)
        return Examples(*(torch.from_numpy(np.ascontiguousarray(array)).to(self.device) for array in arrays))

    def _split(self, examples: Examples, chance: torch.Generator) -> tuple[Examples, Examples | None]:
        """Rows to train on, and those held out: as many of each class as its share, rounded, and never all."""
        if self.validation_fraction == 0:
            return examples, None
        order, truth = torch.randperm(len(examples), generator=chance), examples.truth.cpu()
        held = torch.zeros(len(examples), dtype=torch.bool)
        for k in range(len(self.classes_)):
            of_class = order[truth[order] == k]
            held[of_class[: min(round(self.validation_fraction * len(of_class)), len(of_class) - 1)]] = True
        if not held.any():
            raise InputError(
                f"validation_fraction is {self.validation_fraction}, which holds out no row of {len(examples)}: "
                "pass a larger one, or 0."
            )
        return examples.rows(torch.nonzero(~held)[:, 0]), examples.rows(torch.nonzero(held)[:, 0])

    def _objectives(self, batches: int) -> tuple[AlphaSchedule, torch.nn.Module, torch.nn.Module]:
        """The schedule of alpha, the loss that follows it, and the loss at its end."""
        steps = round(self.anneal * self.epochs * batches) if self.objective == "search" else 0
        schedule = AlphaSchedule(0.0 if steps else self.alpha, self.alpha, max(steps, 1))
        if self.objective == "log_loss":
            cross_entropy = torch.nn.CrossEntropyLoss(reduction="none")
            return schedule, cross_entropy, cross_entropy
        costs = self._relative_costs()
        losses, last = (PandoraLoss(alpha, costs, reduction="none") for alpha in (schedule, self.alpha))
        return schedule, losses, last

    def _relative_costs(self) -> FloatArray | None:
        """Costs in class order, counted in their mean."""
        costs = read_base_costs(self.costs, self.typical_costs, Uniform(), list(self.classes_))
        return None if costs is None else costs / costs.mean()


class Best:
    """The head with the lowest loss of rows held out, and how long ago that was."""

    def __init__(self, patience: int) -> None:
        self.patience = patience
        self.lowest, self.since = np.inf, 0
        self.weights: dict[str, torch.Tensor] | None = None
        self.losses: list[float] = []

    def enough(self, head: torch.nn.Linear, held_out: Examples, losses: torch.nn.Module, *, settled: bool) -> bool:
        """Look at the head after an epoch; whether the last improvement is too long ago."""
        with torch.no_grad():
            self.losses.append(held_out.loss(head, losses).item())
        self.since += 1
        if settled and self.losses[-1] < self.lowest:
            self.lowest, self.since = self.losses[-1], 0
            self.weights = {name: value.clone() for name, value in head.state_dict().items()}
        return settled and self.since >= self.patience

    def restore(self, head: torch.nn.Linear) -> None:
        """Give the head its best weights back, if any were seen."""
        if self.weights is not None:
            head.load_state_dict(self.weights)
