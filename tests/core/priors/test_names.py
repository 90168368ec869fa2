"""The table of prior names feeds the parser, its error message and the command's help."""

from dataclasses import dataclass

import numpy as np
import pytest
from click.testing import CliRunner
from refusals import refused

from pandora_regret import InputError, expected_search_cost
from pandora_regret.cli.commands import pandora
from pandora_regret.core import priors
from pandora_regret.core.priors.names import PRIORS, spelled_prior
from pandora_regret.files import read_prior_argument


@dataclass(frozen=True)
class Toy(priors.Prior):
    """Both orders of two tests are equally likely, whatever the forecast says."""

    size: float
    strictly_proper = False

    @property
    def mean(self):
        return self.size

    def share(self, log_odds, i=0, j=1):
        return np.full_like(log_odds, 0.5)

    def draw(self, n_draws, n_classes, rng):
        return np.full((n_draws, n_classes), self.size)


def test_a_prior_added_to_the_table_is_parsed_scored_and_explained(monkeypatch):
    monkeypatch.setitem(PRIORS, "toy", (Toy, "SIZE"))
    prior = read_prior_argument("toy:4")
    assert prior == Toy(4.0)
    assert expected_search_cost([0], [[0.9, 0.1]], prior=prior) == 6.0
    assert "toy:SIZE" in CliRunner().invoke(pandora, ["help", "prices"]).output
    with pytest.raises(InputError, match="toy:SIZE") as caught:
        read_prior_argument("toy")
    assert (caught.value.argument, caught.value.value) == ("prior", "toy")


@pytest.mark.parametrize("text", ["", "normal", "uniform:", "uniform:1", "gamma", "gamma:", "empirical", ":2"])
def test_what_names_no_prior_is_refused_with_all_names(text):
    with refused(argument="prior", value=text, says="gamma:SHAPE"):
        read_prior_argument(text)


@pytest.mark.parametrize("text", ["uniform", "exponential", "fixed", "beta:0.5", "gamma:2", "lognormal:0.5"])
def test_a_prior_is_said_as_it_was_written(text):
    assert spelled_prior(read_prior_argument(text)) == text
