"""The state graph: what can have been observed, what can be done then, and where that leads; one for all rows.

A state is what a case is known to be by now: the classes still possible, and the outcomes of those steps whose
outcome the possible classes do not tell (noisy ones, ones that others require, and all under a budget). A class
that is merely left over is not confirmed: its test is still to be made, unless the work-up says otherwise.

As arrays, the graph holds all states that can be reached, each after those it leads to and the start last: one
sweep gives every state its value. With ``q_k = p_k lik_k(s)`` it is

    V(s) = min( min_a sum_k q_k L(a, k),  min_t  c_t sum_k q_k + sum_o V(s, o) ).

Options are numbered: edges from 0 up, ways to stop from -1 down. Ways to stop come first, and the first
option is taken that costs no more than the best but for rounding.
Where a forecast holds a state to be impossible, it acts there as if all classes still possible were alike.
The sweep in plain NumPy is the specification of the compiled loops.
"""

from collections.abc import Iterator, Mapping
from itertools import chain, combinations, product
from typing import Any, NamedTuple

import numpy as np

from pandora_regret.core.inputs import FloatArray, InputError, IntArray
from pandora_regret.core.kernels.horn import BETTER
from pandora_regret.text import counted
from pandora_regret.workup.description import Workup

UNUSED = -1
MOST_STATES = 200_000  # unless another limit is asked for
MOST_TOGETHER = 8  # steps of one round: all their subsets are actions
MOST_SEARCHED = 2_000  # states that are looked through to see whether a work-up without stops can end
AFFORDABLE = 1 + 1e-12  # a budget is not exceeded by rounding

Findings = Mapping[str, str | None]


class State(NamedTuple):
    """What is known of a case."""

    possible: int  # one bit per class
    outcomes: tuple[int, ...]  # (M,) of the steps that are kept track of: the outcome's number, or UNUSED
    rounds: int = 0  # counted where they are paid out of a budget
    done: bool = False  # only of a start: the findings have already ended the work-up


class StateSpace:
    """What can be done in each state, and where it leads.

    Actions are steps, and sets of steps that can be ordered together. Their outcomes have rows: one for nothing,
    then those of each action from `first[action]` on.
    """

    def __init__(self, workup: Workup) -> None:
        self.workup, every = workup, range(len(workup.steps))
        self.before = workup.before
        self.after = [[other for other in every if step in dict(self.before[other])] for step in every]
        self.tracked = [
            workup.budget is not None or not step.is_certain or bool(after)
            for step, after in zip(workup.steps, self.after, strict=True)
        ]
        self.counts_rounds = workup.budget is not None and workup.fee > 0
        together = [workup.step_index[name] for name in workup.together]
        if len(together) > MOST_TOGETHER:
            problem = f"rounds.together lists {len(together)} steps"
            raise InputError(problem, fix=f"at most {MOST_TOGETHER} fit into one round")
        sets = (combinations(together, size) for size in range(2, len(together) + 1))
        self.actions = [*((step,) for step in every), *chain(*sets)]  # steps by themselves come first
        self.uses = np.array([np.isin(every, steps) for steps in self.actions], np.float64)  # (A, M)
        self.action_costs = self.uses @ workup.costs + workup.fee
        alone = [[(step, o) for o in range(len(workup.steps[step].outcomes))] for step in every]
        results = [[*product(*(alone[step] for step in steps))] for steps in self.actions]
        self.first = np.cumsum([1, *map(len, results)]).tolist()
        self.results = [(), *chain(*results)]  # steps and their outcomes, of each row
        self.rows = np.array([workup.likelihood(row) for row in self.results])
        self.masks = [_bits(row > 0) for row in self.rows]
        self.confirms = [self._confirms(row) for row in self.results]
        self._tells: dict[int, list[bool]] = {}
        self._can_end: dict[State, bool] = {}
        self.losses = np.array([end.losses for end in workup.endings])  # (stops, K)
        self.names_class = np.array([end.names_class for end in workup.endings], np.intp)

    def action_name(self, action: int) -> str:
        """The steps of an action, in words."""
        return " + ".join(self.workup.steps[step].name for step in self.actions[action])

    def outcome_name(self, row: int) -> str:
        """What an action has shown, in words."""
        return " + ".join(self.workup.steps[step].outcomes[outcome] for step, outcome in self.results[row])

    def start(self, found: Findings | None = None) -> tuple[State, FloatArray]:
        """The state after some findings, and how likely they are for each class.

        What their steps require counts as made, and each step as a round of its own. A visit has the outcome None.
        """
        steps, index, findings = self.workup.steps, self.workup.step_index, dict[int, int]()
        for name, outcome in (found or {}).items():
            if name not in index:
                raise InputError(f"found contains {name!r}, which is no step: choose from {', '.join(index)}.")
            step = steps[index[name]]
            number = step.outcome(outcome)
            if number is None:
                raise InputError(f"found says {name}={outcome}, but its outcomes are {', '.join(step.outcomes)}.")
            findings[index[name]] = number
        for made in tuple(findings):
            for before, wanted in self.before[made]:
                other = steps[before]
                only = other.outcome(None) if wanted is None else wanted
                if only is not None and findings.setdefault(before, only) != only:
                    raise InputError(
                        f"found says {other.name}={other.outcomes[findings[before]]}, but {steps[made].name} "
                        f"requires {other.name}={other.outcomes[only]}: correct one of the two."
                    )
        outcomes = tuple(findings.get(s, UNUSED) if is_kept else UNUSED for s, is_kept in enumerate(self.tracked))
        likelihood = self.workup.likelihood(findings.items())
        if not likelihood.any():
            raise InputError(f"found is {dict(found or {})}: no class can have all of these outcomes.")
        possible = _bits(likelihood > 0)
        done = self._ends(possible, self._confirms(findings.items()))
        return State(possible, outcomes, len(findings) if self.counts_rounds else 0, done), likelihood

    def open_actions(self, state: State) -> list[int]:
        """Every action that is possible and of any use; none where the work-up can no longer end as it should.

        Where there are ways to stop, it always can. Where there are none, nothing is worth doing once no class
        can be confirmed any more (or be the only one left, where that is enough): it ends there, unresolved.
        """
        if state.done or not (self.workup.stops or self.can_end(state)):
            return []
        return self._useful_actions(state)

    def _useful_actions(self, state: State) -> list[int]:
        """Every action that can be taken now and paid for, and tells anything, or leads to a step that does."""
        tells = self.informative(state.possible)
        useful = set[int]()
        for step, after in enumerate(self.after):
            if self.is_ready(state, step):
                leads_on = any(tells[other] and self.can_be_made(state, other) for other in after)
                if tells[step] or leads_on:
                    useful.add(step)
        actions = [action for action, steps in enumerate(self.actions) if useful.issuperset(steps)]
        return [action for action in actions if self._affordable(state, self.actions[action])]

    def can_end(self, state: State) -> bool:
        """Whether what can still be done may confirm a class, or leave only one where that is enough.

        Single steps tell where a confirming step is all that is needed. Where several may have to work together,
        or to be paid out of a budget, the states behind this one are searched; after MOST_SEARCHED of them the
        answer is yes, so that the work-up goes on.
        """
        if state not in self._can_end:
            if not self._may_end(state):
                self._can_end[state] = False
            elif self.workup.confirm and self.workup.budget is None:
                self._can_end[state] = True
            elif len(self._can_end) >= MOST_SEARCHED:
                return True
            else:
                self._can_end[state] = self._some_action_ends(state)
        return self._can_end[state]

    def _some_action_ends(self, state: State) -> bool:
        """Whether an action may end the work-up, or lead to a state in which it can end; small states first."""
        states = list[State]()
        for action in self._useful_actions(state):
            for _, after in self.branches(state, action):
                if after is None:
                    return True
                states.append(after)
        states.sort(key=lambda after: after.possible.bit_count())
        return any(self.can_end(after) for after in states)

    def _may_end(self, state: State) -> bool:
        """Whether single steps rule out that the work-up can end: False if they do."""
        found = self._may_be_confirmed if self.workup.confirm else self._may_be_left_over
        classes = (k for k in range(self.rows.shape[1]) if state.possible >> k & 1)
        return any(found(state, k) for k in classes)

    def _may_be_confirmed(self, state: State, k: int) -> bool:
        """Whether a step that can still be made if class k is the truth confirms it."""
        steps = enumerate(self.workup.steps)
        return any(k in step.confirmed and self.can_be_made(state, number, 1 << k) for number, step in steps)

    def _may_be_left_over(self, state: State, k: int) -> bool:
        """Whether for every other class some outcome that class k can still have excludes it."""
        left = state.possible
        for step in range(len(self.before)):
            if self.can_be_made(state, step, 1 << k):
                for mask in self.masks[self.first[step] : self.first[step + 1]]:
                    if mask >> k & 1:
                        left &= mask
        return left == 1 << k

    def branches(self, state: State, action: int) -> Iterator[tuple[int, State | None]]:
        """Where an action may lead, by the rows of its outcomes; to None where the work-up ends."""
        for row in range(self.first[action], self.first[action + 1]):
            if possible := state.possible & self.masks[row]:
                outcomes = list(state.outcomes)
                for step, outcome in self.results[row]:
                    outcomes[step] = outcome if self.tracked[step] else UNUSED
                ended = self._ends(possible, self.confirms[row])
                yield row, None if ended else State(possible, tuple(outcomes), state.rounds + self.counts_rounds)

    def can_be_made(self, state: State, step: int, classes: int | None = None) -> bool:
        """Whether a step has not been made, and all that it requires has come about or may still.

        It may if one of these classes is the truth, one bit per class: those still possible, unless given.
        """
        if state.outcomes[step] != UNUSED:
            return False
        classes = state.possible if classes is None else classes
        may_be = (
            state.outcomes[b] == wanted
            or (state.outcomes[b] == UNUSED and self.masks[self.first[b] + wanted] & classes)
            for b, wanted in self.before[step]
            if wanted is not None
        )
        return all(may_be) and self._affordable(state, (step, *self.missing(state, step)))

    def missing(self, state: State, step: int) -> list[int]:
        """What a step requires, directly or not, and has not been made."""
        return [before for before in dict(self.before[step]) if state.outcomes[before] == UNUSED]

    def is_ready(self, state: State, step: int) -> bool:
        """Whether a step has not been made, and what it requires has, with the outcome that it asks for.

        What that required in turn must have been made too, though its outcome may not have been reported.
        """
        return state.outcomes[step] == UNUSED and all(
            state.outcomes[before] != UNUSED and wanted in (None, state.outcomes[before])
            for before, wanted in self.workup.requires[step]
        )

    def informative(self, possible: int) -> list[bool]:
        """Of each action whether an outcome confirms a class, or is likelier for one class than for another."""
        if possible not in self._tells:
            some = self.rows[:, [k for k in range(self.rows.shape[1]) if possible >> k & 1]]
            tells = (some != some[:, :1]).any(axis=1) | (np.array(self.confirms) & some.any(axis=1))
            self._tells[possible] = np.logical_or.reduceat(tells, self.first[:-1]).tolist()
        return self._tells[possible]

    def _affordable(self, state: State, steps: tuple[int, ...]) -> bool:
        if self.workup.budget is None:
            return True
        made = [step for step, outcome in enumerate(state.outcomes) if outcome != UNUSED]
        spent = self.workup.costs[[*made, *steps]].sum() + (state.rounds + 1) * self.workup.fee
        return bool(spent <= self.workup.budget * AFFORDABLE)

    def _confirms(self, results: Any) -> bool:
        return any(self.workup.steps[step].confirmed[outcome] is not None for step, outcome in results)

    def _ends(self, possible: int, confirms: bool) -> bool:
        """Whether a class is confirmed, or is the only one left where that is enough."""
        return confirms if self.workup.confirm else possible.bit_count() == 1

    def most_states(self, start: State, limit: int) -> int:
        """A bound on how many states can be reached, by counting; it is not counted on beyond a limit."""
        states = {start}
        for step in sorted(range(len(self.before)), key=lambda step: len(self.before[step])):
            for state in states.copy():  # each set of steps in one order only
                if self.is_ready(state, step) and self._affordable(state, (step,)):
                    states.update(after for _, after in self.branches(state, step) if after is not None)
                if len(states) > limit:
                    return len(states)
        return len(states)

    def too_many(self, limit: int) -> InputError:
        """What is wrong with a work-up that has more states than this, and what would help."""
        kept = [step.name for step, is_kept in zip(self.workup.steps, self.tracked, strict=True) if is_kept]
        why = f"{len(self.workup.classes)} classes can be ruled out in any combination"
        if kept:
            some = f"{', '.join(kept[:3])}{' and so on' * (len(kept) > 3)}"
            why = f"each of {counted(len(kept), 'step')} ({some}) may have been made or not, with any outcome"
        return InputError(
            f"the work-up has more than {limit:,} states, too many for this: {why}. Use fewer noisy steps or "
            "outcomes, definitive tests with one loss of giving up, or a hierarchy. One case can be planned all "
            "the same, by plan_workup or pandora next."
        )


def _bits(possible: Any) -> int:
    return sum(1 << k for k, value in enumerate(possible) if value)


class GraphArrays(NamedTuple):
    """States S and edges E, as the sweeps read them.

    Branches that end the work-up cost nothing more and are left out; every edge has as many children as the one
    that has most, at least two, padded by a last state of value zero.
    """

    likelihood: FloatArray  # (S, K)
    may_stop: IntArray  # (S,) whether the ways to stop are open
    edges: IntArray  # (S + 1,) where the edges of each state begin
    children: Any  # (E, C), unsigned, for numba would else look for negative indices in every loop
    losses: FloatArray  # (stops, K)
    names_class: IntArray  # (stops,)


class Graph(NamedTuple):
    """All states that can be reached, each after those it leads to."""

    space: StateSpace
    states: dict[State, int]  # numbered
    actions: IntArray  # (E,)
    arrays: GraphArrays

    def edge_costs(self, step_costs: FloatArray) -> Any:
        """What every edge costs, (E,), where steps cost so much, (M,)."""
        return (self.space.uses @ step_costs + self.space.workup.fee)[self.actions]


def compile_graph(workup: Workup, found: Findings | None = None, limit: int = MOST_STATES) -> Graph:
    """The graph of all states that can be reached from a start."""
    space = StateSpace(workup)
    start, likely = space.start(found)
    if space.most_states(start, limit) > limit:
        raise space.too_many(limit)
    states, rows, edges, actions, children = dict[State, int](), list[Any](), [0], list[int](), list[Any]()

    def numbered(state: State, likelihood: FloatArray) -> int:
        """The number of a state: it comes after all that it leads to."""
        if state not in states:
            moves = {action: space.branches(state, action) for action in space.open_actions(state)}
            behind = [
                [numbered(after, likelihood * space.rows[row]) for row, after in branches if after is not None]
                for branches in moves.values()
            ]
            if len(states) == limit:  # only where rounds count beside steps
                raise space.too_many(limit)
            states[state] = len(states)
            rows.append(likelihood)
            actions.extend(moves)
            children.extend(behind)
            edges.append(len(actions))
        return states[state]

    try:
        numbered(start, likely)
    except RecursionError:  # hundreds of steps in a row
        raise space.too_many(limit) from None
    most = max([2, *map(len, children)])
    padded = [[*after, *[len(states)] * (most - len(after))] for after in children]
    arrays = GraphArrays(
        np.array(rows),
        np.ones(len(states), np.intp) if workup.stops else np.asarray(np.diff(edges) == 0, np.intp),
        np.array(edges, np.intp),
        np.array(padded, np.uint32).reshape(len(actions), most),
        space.losses,
        space.names_class,
    )
    return Graph(space, states, np.array(actions, np.intp), arrays)


def sweep(
    p: FloatArray, truths: IntArray, graph: GraphArrays, edge_costs: FloatArray
) -> tuple[FloatArray, IntArray, FloatArray]:
    """Of each state and row of p the least expected cost, (S + 1, n + 1), and the option that has it, (S, n + 1).

    With them, of each state what each row pays from there on under each of its truths, (n, T), times the
    probability of coming there, (S + 1, n, T).
    """
    p = np.vstack([p, np.ones(p.shape[1])])  # the last one decides what others hold to be impossible
    n_states, every = len(graph.likelihood), np.arange(p.shape[1])
    value, paid = np.zeros((n_states + 1, len(p))), np.zeros((n_states + 1, *truths.shape))
    choice, masses = np.zeros((n_states, len(p)), np.intp), p @ graph.likelihood.T
    for state in range(n_states):
        mass, chance, options = masses[:, state], graph.likelihood[state, truths], list[Any]()
        likely = mass > 0
        for stop, names in enumerate(graph.names_class if graph.may_stop[state] else ()):
            terms = np.where(likely[:, None], p, 1.0) * graph.likelihood[state] * graph.losses[stop]
            named = terms.argmax(axis=1) if names else np.full(len(p), -1)  # its loss is spared
            lost = np.where(every == named[:, None], 0.0, terms).sum(axis=1)
            options.append((-1 - stop, lost, chance * graph.losses[stop, truths] * (named[:-1, None] != truths)))
        for edge in range(*graph.edges[state : state + 2]):
            after, spent = (table[graph.children[edge]].sum(axis=0) for table in (value, paid))
            options.append((edge, edge_costs[edge] * mass + after, edge_costs[edge] * chance + spent))
        numbers, totals, spent = map(np.array, zip(*options, strict=True))
        best = totals.min(axis=0)
        first = (totals * BETTER <= best).argmax(axis=0)
        first = np.where(likely, first, first[-1])
        value[state], choice[state] = np.where(likely, best, 0.0), numbers[first]
        paid[state] = spent[first[:-1], np.arange(len(truths))]
    return value, choice, paid
