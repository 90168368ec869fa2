"""Linear probes: the paper's training, whatever happens around it."""

import numpy as np
import pytest

from pandora_regret.study.zoos.probes import Probe

torch = pytest.importorskip("torch")


def blobs(n=200, width=5, n_classes=3):
    rng = np.random.default_rng(3)
    labels = rng.integers(0, n_classes, n)
    centres = 3 * rng.normal(size=(n_classes, width))
    values = centres[labels] + rng.normal(size=(n, width))
    return torch.tensor(values, dtype=torch.float32), torch.tensor(labels)


def plain_training(train, labels, test, n_classes, *, epochs, smoothing, decay):
    """The paper's protocol as one would write it in torch; its one source of chance is the global seed."""
    torch.manual_seed(42)
    head = torch.nn.Linear(train.shape[1], n_classes)
    optimiser = torch.optim.AdamW(head.parameters(), lr=1e-3, weight_decay=decay)
    criterion = torch.nn.CrossEntropyLoss(label_smoothing=smoothing)
    for _ in range(epochs):
        order = torch.randperm(len(train))
        for start in range(0, len(train), 64):
            rows = order[start : start + 64]
            optimiser.zero_grad()
            criterion(head(train[rows]), labels[rows]).backward()
            optimiser.step()
    return head(test).detach()


class TestProbe:
    @pytest.mark.parametrize(("epochs", "smoothing", "decay"), [(1, 0.0, 1e-4), (3, 0.2, 1e-4), (2, 0.0, 0.5)])
    def test_is_the_plain_training_loop(self, epochs, smoothing, decay):
        values, labels = blobs()
        probe = Probe(epochs=epochs, label_smoothing=smoothing, weight_decay=decay)
        found = probe.logits(values[:150], labels[:150], values[150:], 4)
        expected = plain_training(
            values[:150], labels[:150], values[150:], 4, epochs=epochs, smoothing=smoothing, decay=decay
        )
        torch.testing.assert_close(found, expected, atol=1e-6, rtol=1e-5)

    def test_depends_on_its_own_seed_alone(self):
        values, labels = blobs()
        torch.manual_seed(1)
        first = Probe().logits(values, labels, values, 3)
        torch.manual_seed(2)
        assert torch.equal(first, Probe().logits(values, labels, values, 3))
        assert not torch.equal(first, Probe(seed=43).logits(values, labels, values, 3))

    def test_a_fraction_of_the_data_is_all_that_it_sees(self):
        values, labels = blobs()
        first = Probe(fraction=0.1, epochs=2).logits(values, labels, values[:9], 3)
        same = 0
        for row in range(200):
            changed = values.clone()
            changed[row] += 1
            same += bool(torch.equal(Probe(fraction=0.1, epochs=2).logits(changed, labels, values[:9], 3), first))
        assert same == 180
