"""A monitor's state: it survives, and damage to it is a sentence."""

import json

import numpy as np
import pytest
from monitored import as_text, cases

from pandora_regret import Beta, Empirical, Fixed, Gamma, InputError, LogNormal
from pandora_regret.monitor import Monitor

COSTS = [100.0, 200.0, 40.0]


@pytest.mark.parametrize("prior", [None, Beta(2.0), Fixed(), Gamma(1.5), LogNormal(0.5)])
def test_priors_survive_in_the_state(prior):
    y, p = cases(20)
    monitor = Monitor(prior=prior, costs=COSTS)
    monitor.update(y, p)
    assert as_text(Monitor.from_state(json.loads(as_text(monitor)))) == as_text(monitor)


def test_a_prior_without_a_name_is_given_again():
    y, p = cases(20)
    prior = Empirical([[1.0, 2.0, 3.0], [2.0, 1.0, 3.0]])
    monitor = Monitor(prior=prior)
    monitor.update(y, p)
    state = json.loads(as_text(monitor))
    with pytest.raises(InputError, match="pass the prior"):
        Monitor.from_state(state)
    assert as_text(Monitor.from_state(state, prior=prior)) == as_text(monitor)
    with pytest.raises(InputError, match="begin a new state"):
        Monitor.from_state(state, prior=Gamma(2.0))


def places(value, path=()):
    """The paths to all parts of plain data, of lists the first two."""
    items = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from places(item, (*path, key))


def test_damage_to_a_state_is_a_sentence():
    y, p = cases(60)
    monitor = Monitor(costs=COSTS)
    labels = [None if i % 7 == 0 and i > 15 else int(k) for i, k in enumerate(y)]
    monitor.update(labels, p, challenger=p[::-1], ids=range(60), time=np.repeat(np.arange(6), 10))
    text = as_text(monitor)
    for path in places(json.loads(text)):
        state = json.loads(text)
        part = state
        for key in path[:-1]:
            part = part[key]
        part[path[-1]] = "x"
        with pytest.raises(InputError, match="state"):
            Monitor.from_state(state)
    for other in ({}, {"schema": "pandora-monitor/1", "level": 0.05}, None):
        with pytest.raises(InputError, match="has the schema"):
            Monitor.from_state(other)
