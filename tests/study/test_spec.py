"""What a study file may say, and what is said about one that says something else."""

from pathlib import Path

import pytest

from pandora_regret import InputError
from pandora_regret.core.costs import load_costs
from pandora_regret.study import read_study
from pandora_regret.study.zoos.existing import StoreZoo

EXAMPLES = Path(__file__).parents[2] / "examples" / "studies"
MINIMAL = """
title = "One store"
[[data]]
name = "Derm"
costs = "dermamnist"
[data.zoo]
kind = "store"
folder = "predictions/derm"
"""


@pytest.fixture
def read(tmp_path):
    def read_text(text):
        path = tmp_path / "study.toml"
        path.write_text(text, encoding="utf-8")
        return read_study(path)

    return read_text


def test_what_is_not_said_is_as_in_the_paper(read):
    study = read(MINIMAL)
    assert [condition.title for condition in study.conditions][:2] == ["Clinical", "Well Specified"]
    assert (len(study.conditions), study.seed, study.replicates, study.metrics) == (4, 42, 1000, None)


def test_costs_are_those_the_paper_prints(read):
    data = read(MINIMAL).data[0]
    published = load_costs("dermamnist").published
    assert data.costs_of(tuple(published)).tolist() == list(published.values())
    assert data.costs_of(tuple(reversed(published)))[0] == list(published.values())[-1]
    assert data.currency == "USD"


def test_paths_are_relative_to_the_file(read, tmp_path):
    assert read(MINIMAL).data[0].zoo == StoreZoo(str(tmp_path / "predictions" / "derm"))


def test_work_ups_are_relative_to_the_file_or_known_by_name(read, tmp_path):
    (tmp_path / "panel.toml").touch()
    both = 'workup = {Derm = "panel.toml", OCT = "octmnist"}'
    study = read(f'conditions = [{{name = "a", workup = "panel.toml"}}, {{name = "b", {both}}}]' + MINIMAL)
    panel = str(tmp_path / "panel.toml")
    assert [condition.workup for condition in study.conditions] == [panel, {"Derm": panel, "OCT": "octmnist"}]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('title = "One store"', "", "lacks 'title'"),
        ('title = "One store"', 'title = "x"\nsed = 3', "mean 'seed'"),
        ('title = "One store"', 'title = "x"\nresample = "rows"', "resample is 'rows'"),
        ('title = "One store"', 'title = "x"\nmetrics = ["lucky"]', "metric is 'lucky'"),
        ('title = "One store"', 'title = "x"\nconditions = ["hot"]', "condition 'hot' "),
        ('kind = "store"', 'kind = "shop"', "zoo.kind is 'shop'"),
        ('folder = "predictions/derm"', "", "zoo lacks 'folder'"),
        (
            'folder = "predictions/derm"',
            "folders = 3",
            "mean 'folder'",
        ),
        ('costs = "dermamnist"', 'costs = "nowhere"', "'nowhere'"),
        ('costs = "dermamnist"', "costs = { x = 'a' }", "costs.x is 'a'"),
        ('name = "Derm"', 'name = "../x"', "data[0].name is '../x'"),
        ('name = "Derm"', 'name = "Results.json"', "name is 'Results.json'"),
        ('title = "One store"', 'title = "x"\nlevel = 95', "level is 95: "),
        ("[data.zoo]", "[data.shop]", "data[0].shop is not"),
    ],
)
def test_each_mistake_has_its_own_sentence(read, old, new, words):
    with pytest.raises(InputError) as error:
        read(MINIMAL.replace(old, new))
    assert words in str(error.value)


@pytest.mark.parametrize("name", ["Derm", "derm"])  # one folder to Windows and macOS
def test_two_data_sets_of_one_name(read, name):
    data = MINIMAL.split("\n", 2)[2].replace("Derm", name)
    with pytest.raises(InputError, match="'derm' twice"):
        read(MINIMAL + data)


def test_files_that_a_zoo_will_write_lie_beside_the_study_file_too(read, tmp_path):
    options = 'kind = "timm"\nimages = "dermamnist"\nweights = "hub"\nfolder = "images"'
    zoo = read(MINIMAL.replace('kind = "store"\nfolder = "predictions/derm"', options)).data[0].zoo
    assert (zoo.images, zoo.weights) == ("dermamnist", "hub")
    assert zoo.folder == str(tmp_path / "images")


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("models = 5", "zoo.models is 5: "),
        ('folds = "a"', "zoo.folds is 'a'"),
        ("in_one_process = true", "in_one_process"),
    ],
)
def test_an_option_of_the_wrong_kind_is_named(read, option, words):
    with pytest.raises(InputError) as error:
        read(MINIMAL.replace('kind = "store"\nfolder = "predictions/derm"', f'kind = "sklearn"\n{option}'))
    assert words in str(error.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read_study(tmp_path / "none.toml")


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.stem)
def test_the_study_files_of_the_examples_can_be_read(path):
    study = read_study(path)
    assert study.data
    for condition in study.conditions:
        assert [condition.of_data(data.name) for data in study.data]
