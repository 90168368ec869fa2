"""Prices and priors as written on a command line."""

import numpy as np
import pytest

from pandora_regret import Beta, Empirical, Exponential, Gamma, LogNormal
from pandora_regret.costs import load_costs
from pandora_regret.files import read_costs_argument, read_prior_argument
from pandora_regret.inputs import InputError

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def refused(read, *arguments):
    with pytest.raises(InputError) as error:
        read(*arguments)
    return str(error.value)


def test_costs_can_be_written_out():
    prices = read_costs_argument("dog = 30, cat=2.5e1,a=b=1", ["cat", "a=b", "dog"])
    assert prices.costs.tolist() == [25.0, 1.0, 30.0]
    assert prices.currency == ""
    assert read_costs_argument('"big, bad=3",wolf=4', ["wolf", "big, bad"]).costs.tolist() == [4.0, 3.0]
    assert read_costs_argument("1=5,0=6", ["0", "1"]).costs.tolist() == [6.0, 5.0]


def test_costs_can_be_a_table(tmp_path):
    (tmp_path / "costs.csv").write_text("cost,class,note\n25,cat,x\n30,<script>,y\n")
    prices = read_costs_argument(str(tmp_path / "costs.csv"), ["<script>", "cat"])
    assert prices.costs.tolist() == [30.0, 25.0]
    assert prices.source == str(tmp_path / "costs.csv")
    (tmp_path / "a=1.csv").write_text("class,cost\n7,2\n3,4\n")  # a file's name may look like a price
    assert read_costs_argument(str(tmp_path / "a=1.csv"), ["3", "7"]).costs.tolist() == [4.0, 2.0]


def test_costs_can_be_a_pathway_file():
    shipped = load_costs("octmnist")
    classes = list(reversed(shipped.classes))
    prices = read_costs_argument("octmnist", classes)
    assert prices.costs.tolist() == [shipped.costs[name] for name in classes]
    assert prices.currency == shipped.currency


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("cat=1", ["missing ['dog']"]),
        ("cat=1,dog=2,cow=3", ["unexpected ['cow']"]),
        ("cat=1,dgo=2", ["missing ['dog']", "unexpected ['dgo']"]),
        ("cat=1,dog=two", ["'dog'", "'two'", "number"]),
        ("cat=1,dog=", ["'dog'", "''"]),
        ("cat=1,dog=0", ["'dog'", "0", "positive"]),
        ("cat=1,dog=nan", ["'dog'", "nan"]),
        ("cat=1,dog=2,cat=3", ["'cat' twice"]),
        ("no-such-file", ["'no-such-file'", "octmnist"]),
        ("no-such-file.csv", ["no-such-file.csv", "No such file"]),
    ],
)
def test_costs_that_do_not_fit_are_explained(text, says):
    message = refused(read_costs_argument, text, ["cat", "dog"])
    for word in says:
        assert word in message


def test_tables_of_costs_that_do_not_fit_are_explained(tmp_path):
    path = tmp_path / "costs.csv"
    path.write_text("name,cost\ncat,1\n")
    assert "class and cost" in refused(read_costs_argument, str(path), ["cat", "dog"])
    path.write_text("class,cost\ncat,1\ndog,cheap\n")
    assert "line 3: the cost of 'dog' is 'cheap'" in refused(read_costs_argument, str(path), ["cat", "dog"])
    path.write_text("class,cost\ncat,1\ncat,2\n")
    assert "'cat' twice" in refused(read_costs_argument, str(path), ["cat", "dog"])


@pytest.mark.parametrize(
    ("text", "prior"),
    [
        ("uniform", Beta(1.0)),
        ("fixed", Beta(np.inf)),
        ("beta:0.3", Beta(0.3)),
        ("beta:inf", Beta(np.inf)),
        ("exponential", Exponential()),
        ("gamma:2", Gamma(2.0)),
        ("lognormal:0.5", LogNormal(0.5)),
    ],
)
def test_priors_by_name(text, prior):
    assert repr(read_prior_argument(text)) == repr(prior)


@pytest.mark.parametrize("text", ["unifrom", "", "beta", "beta:", "gamma", "uniform:2", "empirical", "empirical:"])
def test_unknown_priors_are_explained(text):
    assert "write uniform, exponential" in refused(read_prior_argument, text)


@pytest.mark.parametrize(("text", "says"), [("beta:x", "'x'"), ("beta:-1", "alpha is -1"), ("gamma:0", "0")])
def test_bad_parameters_of_priors_are_explained(text, says):
    assert says in refused(read_prior_argument, text)


def test_empirical_priors_are_read_from_tables(tmp_path):
    samples = np.random.default_rng(0).uniform(1, 9, (5, 2))
    table = pa.table({"when": ["x"] * 5, "dog": samples[:, 0], "cat": samples[:, 1]})
    pq.write_table(table, tmp_path / "a.parquet")
    np.savetxt(tmp_path / "a.csv", samples, delimiter=",", header="dog,cat", comments="", fmt="%.17g")
    np.savez(tmp_path / "a.npz", costs=samples, classes=["dog", "cat"])
    for ending in (".parquet", ".csv", ".npz"):
        prior = read_prior_argument(f"empirical:{tmp_path / 'a'}{ending}")
        assert isinstance(prior, Empirical)
        assert list(prior.labels) == ["dog", "cat"]
        np.testing.assert_array_equal(prior.samples, samples)


def test_empirical_priors_that_do_not_fit_are_explained(tmp_path):
    (tmp_path / "a.csv").write_text("cat,dog\n1,\n2,3\n")
    assert "'dog'" in refused(
        read_prior_argument,
        f"empirical:{tmp_path / 'a.csv'}",
    )
    (tmp_path / "a.csv").write_text("cat\n1\n")
    assert "single column" in refused(read_prior_argument, f"empirical:{tmp_path / 'a.csv'}")
    (tmp_path / "a.csv").write_text("cat,dog\n1,-1\n")
    assert "-1" in refused(read_prior_argument, f"empirical:{tmp_path / 'a.csv'}")
    np.savez(tmp_path / "a.npz", a=np.ones((2, 2)), b=np.ones((2, 2)))
    assert "['a', 'b']" in refused(read_prior_argument, f"empirical:{tmp_path / 'a.npz'}")
    assert "No such file" in refused(read_prior_argument, f"empirical:{tmp_path / 'none.csv'}")
