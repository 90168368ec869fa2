"""compare_lists: weights, groups and priors of ranked lists are those of any comparison."""

import numpy as np
import pytest

from pandora_regret import Candidates, Fixed, InputError, Uniform, compare_lists
from pandora_regret.core.inputs import InputTypeError


def models(rng, n=60):
    """Lists of probabilities of two models on the same cases, and of orders."""
    truth = rng.choice(list("abcd"), n).tolist()
    made = {}
    for name, skill in {"sharp": 3.0, "vague": 0.5}.items():
        lists = []
        for true_name in truth:
            parts = rng.exponential(size=5) + skill * np.array([true_name == other for other in [*"abcd", ""]])
            shares = parts / parts.sum()
            lists.append(dict(zip("abc", shares[:3].tolist(), strict=True)))
        made[name] = Candidates.from_lists(lists, truth)
    return made


def test_costs_are_means_of_cases_and_pairs():
    made = models(np.random.default_rng(0))
    result = compare_lists(made, miss=4.0)
    for model in result.models:
        assert model.cost == pytest.approx(made[model.name].costs(4.0).mean(), rel=1e-12)
        assert model.unavoidable == pytest.approx(made[model.name].least_costs(4.0).mean(), rel=1e-12)
    (gap,) = result.differences
    pairs = made[gap.model].costs(4.0) - made[gap.against].costs(4.0)
    assert gap.difference == pytest.approx(pairs.mean(), rel=1e-12)


def test_a_weight_counts_cases():
    made = models(np.random.default_rng(1), n=40)
    weights = np.random.default_rng(2).integers(0, 3, 40).astype(float)
    rows = np.repeat(np.arange(40), weights.astype(int))
    result = compare_lists(made, miss=4.0, sample_weight=weights)
    for model in result.models:
        assert model.cost == pytest.approx(made[model.name].costs(4.0)[rows].mean(), rel=1e-12)
    assert result.data.rows == np.count_nonzero(weights)
    assert result.lists.curves["sharp"][0].value == pytest.approx(made["sharp"].costs(0.0)[rows].mean(), rel=1e-12)


def test_a_prior_gives_expected_costs_of_one_truth():
    made = models(np.random.default_rng(3))
    result = compare_lists(made, miss=4.0, prior=Uniform())
    for model in result.models:
        assert model.cost == pytest.approx(made[model.name].expected_costs(4.0, Uniform()).mean(), rel=1e-12)
    several = {"one": Candidates.from_lists([{"a": 0.5, "b": 0.5}], [["a", "b"]])}
    with pytest.raises(InputError):
        compare_lists(several, miss=4.0, prior=Uniform())


def test_orders_have_known_prices():
    orders = {"one": Candidates.from_lists([["a"], ["b"]], ["a", "c"])}
    with pytest.raises(InputError) as caught:
        compare_lists(orders, miss=4.0, prior=Uniform())
    assert caught.value.argument == "prior"


def test_where_nothing_is_missed_no_price_is_needed():
    truth = ["a", "b"] * 20
    made = {"right": Candidates.from_lists([[name] for name in truth], truth)}
    made["late"] = Candidates.from_lists([["x", name] for name in truth], truth)
    result = compare_lists(made)
    assert [(part.leader, part.undecided, part.high) for part in result.lists.ranges] == [("right", (), None)]
    assert (result.best.name, result.best.cost) == ("right", 1.0)


def test_a_yardstick_needs_truths_that_come_again():
    lists = Candidates.from_lists([["a"], ["b"], ["x"]], ["a", "b", "c"])
    assert compare_lists({"one": lists}, miss=9.0).lists.constant is None
    truths = [["a"], ["b"], ["a"]]
    again = Candidates.from_lists([["a"], ["b"], ["x"]], truths)
    constant = compare_lists({"one": again}, miss=9.0, truths=truths).lists.constant
    assert (constant.length, constant.found) == (1, pytest.approx(2 / 3))  # of equals a comes before b
    assert constant.cost == pytest.approx((1 + 10 + 1) / 3)


def test_groups_widen_intervals():
    made = models(np.random.default_rng(4), n=60)
    doubled = {name: twice(lists) for name, lists in made.items()}
    alone = compare_lists(made, miss=4.0).differences[0]
    grouped = compare_lists(doubled, miss=4.0, groups=np.tile(np.arange(60), 2)).differences[0]
    assert grouped.high - grouped.low == pytest.approx(alone.high - alone.low, rel=1e-9)
    curve = compare_lists(doubled, miss=4.0, groups=np.tile(np.arange(60), 2)).lists.curves["sharp"][-1]
    expected = compare_lists(made, miss=4.0).lists.curves["sharp"][-1]
    assert curve.high - curve.low == pytest.approx(expected.high - expected.low, rel=1e-9)


def twice(lists):
    """The same cases once more, under other names."""
    return Candidates(
        ids=(*lists.ids, *(f"{name} again" for name in lists.ids)),
        offsets=np.concatenate([lists.offsets, lists.offsets[-1] + lists.offsets[1:]]),
        names=lists.names,
        codes=np.tile(lists.codes, 2),
        values=np.tile(lists.values, 2),
        prices=np.tile(lists.prices, 2),
        is_true=np.tile(lists.is_true, 2),
        has_probabilities=True,
    )


def test_models_are_lists_of_the_same_cases():
    with pytest.raises(InputTypeError):
        compare_lists({"a": [["x"]]})
    first = Candidates.from_lists([["a"]], ["a"], ids=["one"])
    second = Candidates.from_lists([["a"]], ["a"], ids=["other"])
    with pytest.raises(InputError):
        compare_lists({"a": first, "b": second}, miss=1.0)


def lists_of(length, cases=4):
    """Lists of some length, which name the truth last."""
    names = [f"name {number}" for number in range(length)]
    return Candidates.from_lists([names] * cases, [names[-1]] * cases)


@pytest.mark.parametrize(("length", "prices"), [(3, (5.0, 20.0, 200.0)), (5, (10.0, 50.0, 200.0))])
def test_a_table_shows_round_prices_of_a_miss_at_2_and_10_and_50_whole_lists(length, prices):
    assert compare_lists({"one": lists_of(length)}, miss=9.0).lists.shown_at == prices


def test_the_curve_ends_at_twice_the_largest_price_in_question():
    lists = compare_lists({"one": lists_of(3)}, miss=100.0).lists
    np.testing.assert_allclose(lists.prices, np.linspace(0, 200, 61))


@pytest.mark.parametrize(("length", "of_yardstick"), [(99, 99), (100, 100), (150, 100)])
def test_the_list_that_is_the_same_for_every_case_has_a_hundred_names_at_most(length, of_yardstick):
    lists = lists_of(length)
    truths = [[f"name {length - 1}"]] * 4
    constant = compare_lists({"one": lists}, miss=9.0, truths=truths).lists.constant
    assert constant.length == of_yardstick


def short_and_long(n_cases=400):
    """Lists of one name and of three: the longer ones find more."""
    rng = np.random.default_rng(1)
    truth = ["t"] * n_cases
    short = [["t" if rng.random() < 0.6 else "x"] for _ in truth]
    long = [["x", "y", "t" if rng.random() < 0.9 else "z"] for _ in truth]
    return {"short": Candidates.from_lists(short, truth), "long": Candidates.from_lists(long, truth)}


def test_a_settled_range_says_what_its_leader_saves_at_its_end():
    models = short_and_long()
    first, middle, last = compare_lists(models).lists.ranges
    assert (first.saves_at, last.saves_at) == (first.high, last.low)
    for part, other in ((first, "long"), (last, "short")):
        gap = models[other].costs(part.saves_at).mean() - models[part.leader].costs(part.saves_at).mean()
        assert part.saves == pytest.approx(gap, rel=1e-9)
    assert (middle.saves, middle.saves_at) == (None, None)


def test_who_the_usual_numbers_would_pick_is_said_at_a_price_too():
    models = short_and_long()
    assert "Top-1 and MRR would pick short." in compare_lists(models, miss=20.0).verdict.sentences
    assert not [text for text in compare_lists(models, miss=0.1).verdict.sentences if "Top-1" in text]


def test_the_usual_numbers_have_one_name_in_every_sentence():
    (sentence,) = compare_lists(short_and_long(), miss=20.0).disagreements
    assert "Top-1 and MRR would choose" in sentence
    assert "looks" in sentence
    assert "tests" not in sentence


def test_a_leader_that_is_not_settled_is_not_always_the_cheapest():
    """Top-1 and MRR would pick short, which is the cheapest up to a price, and then perhaps."""
    models = {name: lists.of_cases([str(case) for case in range(6)]) for name, lists in short_and_long().items()}
    result = compare_lists(models)
    assert {part.leader for part in result.lists.ranges} == {"short"}
    (sentence,) = [text for text in result.verdict.sentences if "would pick" in text]
    assert "Top-1" in sentence


@pytest.mark.parametrize("truth", ["a", ["a", "b"]])
def test_a_fixed_prior_is_known_prices(truth):
    lists = Candidates.from_lists([{"a": 0.5, "b": 0.2}, {"a": 0.25, "b": 0.75}], [truth, "a"])
    result = compare_lists({"a": lists}, miss=10.0, prior=Fixed())
    assert result.best.scores == compare_lists({"a": lists}, miss=10.0).best.scores
    assert result.best.scores["expected_cost"].value == lists.costs(10.0).mean()


def test_the_yardstick_says_of_how_many_cases_no_truth_is_named():
    lists = Candidates.from_lists([["a"], ["a"], ["b"], ["c"]], ["a", "a", "z", "y"])
    result = compare_lists({"a": lists}, miss=10.0)
    assert result.lists.constant.unnamed == 2
    named = compare_lists({"a": lists}, miss=10.0, truths=[["a"], ["a"], ["z"], ["y"]])
    assert named.lists.constant.unnamed == 0


def test_sentences_of_lists_speak_of_looks_and_say_at_which_price_of_a_miss():
    lists = short_and_long()
    at_any_price = compare_lists(lists)
    (choice,) = at_any_price.disagreements
    assert "the number of looks" in choice
    assert choice.endswith(f"where a miss costs {at_any_price.lists.at:g} looks.")
    (choice,) = compare_lists(lists, miss=20.0).disagreements
    assert "where a miss costs" not in choice
    score = compare_lists({"short": lists["short"]}, miss=20.0)
    paid = f"Someone who knew the truth would pay {score.best.unavoidable:.3g} looks per case."
    assert paid in score.headline
