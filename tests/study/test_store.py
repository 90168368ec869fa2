"""The prediction store: what goes in comes out, what cannot be scored does not go in, and a kill loses nothing."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from refusals import refused

from pandora_regret.study import Store
from pandora_regret.study.store import file_name

pytest.importorskip("safetensors")

TRUTH, CLASSES = np.array([0, 2, 1, 0]), ("a", "b", "c")
WRITER = Path(__file__).parents[1] / "helpers" / "store_writer.py"
ODD_NAMES = ["a/b", "A/B", "a:b", "../../etc", "x" * 5000, "übergroß", "con", "\ud800", "nul\0", " ", "猫"]


def probabilities(seed, dtype=np.float64):
    return np.random.default_rng(seed).dirichlet(np.ones(3), size=4).astype(dtype)


@pytest.fixture
def store(tmp_path):
    """Two models and a failure."""
    store = Store.create(tmp_path / "store", TRUTH, CLASSES, about={"zoo": "test"})
    store.save("first", probabilities(1), metadata={"seed": 42, "versions": {"numpy": "2"}})
    store.save("second", np.log(probabilities(2)), logits=True)
    store.record_failure("third", "it gave NaN")
    return store


def content_of(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_what_was_saved_is_loaded(store):
    again = Store.open(store.folder)
    assert again.models == ("first", "second")
    assert again.failures == {"third": "it gave NaN"}
    assert again.classes == CLASSES
    assert again.about == {"zoo": "test"}
    np.testing.assert_array_equal(again.truth, TRUTH)
    first, second = again.load("first"), again.load("second")
    np.testing.assert_array_equal(first.values, probabilities(1, np.float32))
    assert first.metadata == {"seed": 42, "versions": {"numpy": "2"}}
    assert (first.logits, second.logits) == (False, True)
    assert first.values.dtype == second.values.dtype == np.float32
    np.testing.assert_allclose(again.probabilities(["second", "first"])[0], probabilities(2), rtol=1e-6)


def test_what_is_merely_improbable_does_not_become_impossible(store):
    given = np.array([[1.0, 1e-60, 0.0], [1e-300, 1.0, 1e-39], [0.25, 0.25, 0.5], [1.0, 0.0, 0.0]])
    store.save("sure", given)
    np.testing.assert_allclose(Store.open(store.folder).probabilities(["sure"])[0], given, rtol=1e-4)


@pytest.mark.parametrize(
    ("values", "logits", "fields"),
    [
        (np.full((4, 3), np.nan), False, {"row": 0, "value": np.nan}),
        (np.full((3, 3), 1 / 3), False, {"argument": "values", "value": 3}),
        (np.full((4, 2), 0.5), False, {"says": "2 columns"}),
        (np.full((4, 3), 1e300), True, {"row": 0, "says": "largest logit"}),  # in float32
        (np.full((4, 3), 0.334, np.float16), False, {"row": 0, "says": "0.00035"}),  # good for a half, not a float
    ],
)
def test_what_cannot_be_scored_is_not_stored(store, values, logits, fields):
    before = content_of(store.folder)
    with refused(**fields):
        store.save("bad", values, logits=logits)
    assert content_of(store.folder) == before
    assert store.unfinished(["bad"]) == ["bad"]


def test_loading_what_is_not_there_says_why(store):
    with refused(argument="name", value="third", says="it gave NaN"):
        store.load("third")
    with refused(argument="name", value="other", says="first, second"):
        store.load("other")


def test_an_existing_store_is_continued_only_with_the_same_labels(store):
    again = Store.create(store.folder, TRUTH, CLASSES, about={"zoo": "another"})
    assert (again.models, again.about) == (store.models, {"zoo": "test"})
    for truth, classes, fields in [
        (TRUTH, ("a", "b", "d"), {"argument": "classes", "row": 2, "value": "d"}),
        (TRUTH[:3], CLASSES, {"argument": "truth", "row": 0, "value": 0}),
        ([0, 2, 2, 0], CLASSES, {"argument": "truth", "row": 2, "value": 2}),
    ]:
        with refused(**fields, place=str(store.folder)):
            Store.create(store.folder, truth, classes)


@pytest.mark.parametrize(
    ("truth", "classes", "fields"),
    [
        ([], CLASSES, {"argument": "truth", "says": "0 instances"}),
        ([0], ["a"], {"argument": "classes", "says": "two classes"}),
        ([0], ["a", "a"], {"argument": "classes", "value": "a"}),
        ([[0]], CLASSES, {"argument": "y_true", "says": "1-D"}),
    ],
)
def test_labels_are_checked_before_anything_is_written(tmp_path, truth, classes, fields):
    with refused(**fields):
        Store.create(tmp_path / "new", truth, classes)
    assert not (tmp_path / "new").exists()


def test_models_with_odd_names_do_not_meet_each_other_or_leave_the_folder(tmp_path):
    store = Store.create(tmp_path / "store", TRUTH, CLASSES)
    for seed, name in enumerate(ODD_NAMES):
        store.save(name, probabilities(seed))
    assert store.models == tuple(sorted(ODD_NAMES))
    for seed, name in enumerate(ODD_NAMES):
        np.testing.assert_array_equal(store.load(name).values, probabilities(seed, np.float32))
    assert {path.name for path in tmp_path.iterdir()} == {"store"}


@pytest.mark.parametrize("keep", [0, 4, 100, -1])
def test_a_torn_file_is_said_by_name_and_redone_once_it_is_deleted(store, keep):
    path = store.folder / file_name("first")
    path.write_bytes(path.read_bytes()[:keep])
    for look in (lambda: store.load("first"), lambda: store.models):
        with refused(place=str(path), says="cannot be read"):
            look()
    path.unlink()
    assert store.unfinished(["second", "first"]) == ["first"]


@pytest.mark.parametrize("call", [0, 1])
def test_a_disk_that_fills_up_leaves_a_valid_store(store, monkeypatch, call):
    """Every file is synced before it counts, and its folder after: each of these may fail."""
    calls = iter(range(100))

    def full(handle, sync=os.fsync):
        if next(calls) == call:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(handle)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        store.save("new", probabilities(3))
    monkeypatch.undo()
    assert Store.open(store.folder).probabilities(["first", "second"]).shape == (2, 4, 3)
    assert not list(store.folder.rglob("*.part"))
    for name in store.unfinished(["first", "second", "new"]):
        store.save(name, probabilities(3))
    np.testing.assert_array_equal(Store.open(store.folder).load("new").values, probabilities(3, np.float32))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("mode", ["clock", "line"])
def test_a_writer_killed_twenty_times_ends_with_the_store_of_one_that_was_not(tmp_path, mode):
    """At seeded moments, and at seeded lines of the code that writes; each time the store is looked through."""
    ran = subprocess.run(
        [sys.executable, str(WRITER), mode, str(tmp_path / "killed")], capture_output=True, text=True, check=False
    )
    assert (ran.stdout, ran.stderr) == ("20\n", "")
    killed, calm = (
        {path: content for path, content in content_of(folder).items() if path.suffix != ".part"}
        for folder in (tmp_path / "killed", tmp_path / "killed.measured")
    )
    assert killed == calm
    assert len(killed) == 1 + 24  # labels and models, two of them with the reason why they failed
