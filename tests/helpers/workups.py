"""Random work-ups of every kind, and all policies of a small one written out one by one."""

from itertools import product

import numpy as np

from pandora_regret.workup import Workup


def names(n, prefix="class"):
    return [f"{prefix} {k}" for k in range(n)]


def random_workup(rng, n_classes=None, n_steps=None):
    """A work-up with noisy tests, panels, prerequisites and ways to stop, some of each."""
    n_classes = n_classes or int(rng.integers(2, 5))
    classes, steps = names(n_classes), {}
    for number in range(n_steps or int(rng.integers(1, 4))):
        step = {"cost": round(float(rng.uniform(0.5, 5)), 2), **_shape(rng, classes)}
        if steps and rng.random() < 0.4:
            step["requires"] = _requirement(rng, steps)
        steps[f"step {number}"] = step
    stops = {"stop": {"loss": {name: float(rng.integers(0, 20)) for name in classes}}}
    if rng.random() < 0.5:
        stops["name"] = {"wrong": float(rng.integers(1, 20))}
    return Workup(classes, steps, stops=stops, **_limits(rng, steps))


def _shape(rng, classes):
    some = [name for name in classes if rng.random() < 0.6] or classes[:1]
    kind = rng.integers(5)
    if kind == 0:
        return {}
    if kind == 1:
        return {"confirms": str(rng.choice(classes)), "sensitivity": float(rng.choice([1.0, 0.7]))}
    if kind == 2:
        return {"tells_apart": some}
    if kind == 3:
        return {"positive_for": some, "sensitivity": 0.9, "specificity": float(rng.choice([1.0, 0.75]))}
    chances = rng.dirichlet(np.ones(3), len(classes)).round(3)
    low, high = (dict(zip(classes, chances[:, k].tolist(), strict=True)) for k in range(2))
    return {"outcomes": {"low": low, "high": high, "middle": "otherwise"}}


def _requirement(rng, steps):
    name = str(rng.choice(list(steps)))
    if "positive_for" in steps[name] and rng.random() < 0.5:
        return f"{name}=negative"
    return name


def _limits(rng, steps):
    limits = {}
    if rng.random() < 0.3:
        limits["rounds"] = {"fee": 1.0, "together": list(steps)}
    if rng.random() < 0.3:
        limits["budget"] = sum(step["cost"] for step in steps.values()) + len(steps)
    if rng.random() < 0.2:
        limits["confirm"] = False
    return limits


def search_workup(costs, **more):
    """One definitive test per class."""
    classes = names(len(costs))
    steps = {f"test {k}": {"cost": float(cost), "confirms": classes[k]} for k, cost in enumerate(costs)}
    return Workup(classes, steps, **more)


def every_policy(workup):
    """What each policy costs if each class is the truth, (policies, K), by writing all of them out."""
    return np.array(list(_policies(workup, {}, np.ones(len(workup.classes)), 0.0)))


def _policies(workup, made, likelihood, spent):
    for stop in workup.stops:
        losses = np.array(stop.losses)
        for named in range(len(losses)) if stop.names_class else [None]:
            right = np.arange(len(losses)) == named
            yield likelihood * np.where(right, 0.0, losses)
    for together in _orders(workup, made):
        cost = sum(step.cost for step in together) + workup.fee
        if workup.budget is not None and spent + cost > workup.budget + 1e-9:
            continue
        branches = [
            _branch(workup, made, likelihood, together, results, spent + cost)
            for results in product(*(range(len(step.outcomes)) for step in together))
        ]
        for choice in product(*branches):
            yield likelihood * cost + sum(choice)


def _orders(workup, made):
    met = ({workup.steps[s].name: o for s, o in some} for some in workup.requires)
    ready = [
        step
        for step, needed in zip(workup.steps, met, strict=True)
        if step.name not in made and all(s in made and o in (None, made[s]) for s, o in needed.items())
    ]
    for step in ready:
        yield [step]
    if workup.together:
        for flags in product([False, True], repeat=len(ready)):
            chosen = [step for step, flag in zip(ready, flags, strict=True) if flag]
            if len(chosen) > 1 and all(step.name in workup.together for step in chosen):
                yield chosen


def _branch(workup, made, likelihood, together, results, spent):
    after, confirmed, found = likelihood.copy(), False, dict(made)
    for step, result in zip(together, results, strict=True):
        after *= step.chances[result]
        confirmed |= step.confirmed[result] is not None
        found[step.name] = result
    if not workup.confirm:
        confirmed = np.count_nonzero(after) == 1
    if confirmed or not after.any():
        return [np.zeros(len(likelihood))]
    return list(_policies(workup, found, after, spent))
