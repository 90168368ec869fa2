"""Random work-ups of every kind, and all policies of a small one written out one by one."""

from itertools import product

import numpy as np

from pandora_regret.core.inputs import InputError
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


def random_endless(rng):
    """No way to stop: tests that may rule classes out, some of them by chance; None where that is refused."""
    classes, steps = names(int(rng.integers(2, 5))), {}
    for number in range(int(rng.integers(1, 5))):
        n_outcomes = int(rng.integers(2, 4))
        possible = rng.random((n_outcomes, len(classes))) < 0.6
        possible[0] |= ~possible.any(axis=0)
        chances = rng.dirichlet(np.ones(n_outcomes), len(classes)).T * possible
        chances = (chances / chances.sum(axis=0)).round(3)
        chances[possible.argmax(axis=0), range(len(classes))] += 1 - chances.sum(axis=0)
        outcomes = {
            f"o{o}": dict(zip(classes, row.clip(0).tolist(), strict=True)) for o, row in enumerate(chances)
        }
        step = {"cost": round(float(rng.uniform(0.5, 5)), 2), "outcomes": outcomes}
        if steps and rng.random() < 0.3:
            before = str(rng.choice(list(steps)))
            step["requires"] = f"{before}=o{rng.integers(2)}" if rng.random() < 0.5 else before
        steps[f"step {number}"] = step
    limits = {"unresolved": float(rng.choice([0, 1, 7])), "confirm": bool(rng.random() < 0.3)}
    if rng.random() < 0.3:
        limits["budget"] = 0.6 * sum(step["cost"] for step in steps.values())
    if rng.random() < 0.3:
        limits["rounds"] = {"fee": 1.0, "together": list(steps)}
    try:
        return Workup(classes, steps, **limits)
    except InputError:
        return None


def can_end(workup, made, likelihood, spent=0.0):
    """Whether a work-up can still end with a class, after these steps: everything that may follow is tried."""
    for together in _orders(workup, made):
        cost = sum(step.cost for step in together) + workup.fee
        if workup.budget is not None and spent + cost > workup.budget + 1e-9:
            continue
        for after, found, ended in _results(workup, made, likelihood, together):
            if ended or can_end(workup, found, after, spent + cost):
                return True
    return False


def cost_without_stops(workup, weights, made=None, likelihood=None):
    """What must be paid at least where a work-up goes on until a class is found, or none can be found any more."""
    made = made or {}
    likelihood = np.ones(len(weights)) if likelihood is None else likelihood
    if not can_end(workup, made, likelihood):
        return float(weights @ (likelihood * workup.unresolved))
    costs = []
    for together in _orders(workup, made):
        cost = (sum(step.cost for step in together) + workup.fee) * float(weights @ likelihood)
        for after, found, ended in _results(workup, made, likelihood, together):
            cost += 0.0 if ended else cost_without_stops(workup, weights, found, after)
        costs.append(cost)
    return min(costs)


def _results(workup, made, likelihood, together):
    """What steps may show: likelihoods, the outcomes so far, and whether the work-up ends there."""
    for results in product(*(range(len(step.outcomes)) for step in together)):
        after, found, confirmed = likelihood.copy(), dict(made), False
        for step, result in zip(together, results, strict=True):
            after *= step.chances[result]
            confirmed |= step.confirmed[result] is not None
            found[step.name] = result
        if after.any():
            yield after, found, confirmed if workup.confirm else np.count_nonzero(after) == 1


def noisy_test(classes, rates, cost=1):
    """A test that says yes as often as its rates, one per class."""
    yes = dict(zip(classes, np.asarray(rates).tolist(), strict=True))
    return {"cost": float(cost), "outcomes": {"yes": yes, "no": "otherwise"}}


def forecasts(rng, n, n_classes):
    """Some of them with classes held to be impossible, some all but certain."""
    p = rng.dirichlet(np.ones(n_classes), n)
    logits = rng.normal(0, rng.uniform(1, 30, (n, 1)), (n, n_classes))
    sharp = np.exp(logits - logits.max(axis=1, keepdims=True))
    p = np.where(rng.random((n, 1)) < 0.4, sharp, p) * (rng.random((n, n_classes)) < 0.8)
    p[~p.any(axis=1)] = 1.0
    return p / p.sum(axis=1, keepdims=True)


def random_hierarchy(rng):
    """Two or three groups of one to three classes, some of them split again."""
    tree, classes = {}, []
    for g in range(int(rng.integers(2, 4))):
        members = [f"{g}{k}" for k in range(int(rng.integers(1, 4)))]
        classes += members
        leaves = {name: float(rng.uniform(1, 5)) for name in members}
        tree |= {f"group {g}": {"cost": float(rng.uniform(1, 5)), **leaves}} if len(members) > 1 else leaves
    return Workup(classes, hierarchy=tree)


def random_forest(rng):
    """Definitive tests and visits that need up to two others before them; perhaps a way to give up."""
    steps, classes = {}, []
    for s in range(int(rng.integers(2, 7))):
        steps[f"step {s}"] = {"cost": float(rng.choice([1.0, 2.0, 2.5, 7.0, rng.uniform(0.5, 5)]))}
        before = rng.choice(s, min(s, int(rng.choice(3, p=[0.4, 0.4, 0.2]))), replace=False)
        steps[f"step {s}"] |= {"requires": [f"step {one}" for one in before]} if len(before) else {}
        told = names(int(rng.choice(3, p=[0.35, 0.5, 0.15])), f"class of step {s}")
        classes, steps[f"step {s}"] = classes + told, steps[f"step {s}"] | ({"tells_apart": told} if told else {})
    missing = names(max(2 - len(classes), 0), "class of its own")
    steps |= {f"test of {name}": {"cost": 3.0, "confirms": name} for name in missing}
    hidden = ["never found"] * int(rng.integers(2))
    if hidden or rng.random() < 0.6:
        return Workup(classes + missing + hidden, steps, stops={"give up": {"loss": float(rng.uniform(0.5, 15))}})
    return Workup(classes + missing, steps)


def random_naming(rng):
    """Noisy tests, perhaps a definitive panel, and naming a class."""
    classes = names(int(rng.integers(2, 8)))
    steps = {
        f"test {i}": noisy_test(
            classes, rng.random(len(classes)).round(2), rng.choice([1, 2, rng.uniform(0.5, 5)])
        )
        for i in range(int(rng.integers(1, 4)))
    }
    panel = {"panel": {"cost": 30, "tells_apart": "all"}} if rng.random() < 0.5 else {}
    return Workup(classes, steps | panel, stops={"name": {"wrong": float(rng.choice([5.0, 50.0]))}})


def random_mixed(rng):
    """Noisy diagnostics before definitive tests, some of these behind a window or two, and ways to end."""
    classes, steps = names(int(rng.integers(2, 6))), {}
    for i in range(int(rng.integers(1, 4))):
        rates = np.where(rng.random(len(classes)) < 0.4, rng.uniform(0.6, 0.98), rng.uniform(0.02, 0.3))
        steps[f"ask {i}"] = noisy_test(classes, rates.round(3), round(float(rng.uniform(0.3, 2)), 2))
    windows = [f"window {i}" for i in range(int(rng.integers(3)))]
    steps |= {window: {"cost": float(rng.integers(1, 5))} for window in windows}
    for name in classes[: len(classes) - int(rng.integers(2))]:
        before = [window for window in windows if rng.random() < 0.5]
        steps[f"look at {name}"] = {"cost": float(rng.integers(1, 9)), "confirms": name, "requires": before}
    if rng.random() < 0.3:
        before = "ask 0=yes" if rng.random() < 0.5 else "ask 0"
        steps["look at all"] = {"cost": float(rng.integers(4, 20)), "tells_apart": "all", "requires": before}
    up = {"restart": {"loss": float(rng.uniform(3, 25))}}
    naming = {"name": {"wrong": float(rng.choice([5, 20]))}}
    by_class = {"restart": {"loss": {name: float(rng.integers(20)) for name in classes}}}
    return Workup(classes, steps, stops=(up, up, naming | up, by_class)[rng.integers(4)])
