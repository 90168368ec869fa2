"""What can happen to a prediction store: flipped bits, torn files, a full disk, a second writer, SIGKILL."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pandora_regret.inputs import InputError
from pandora_regret.study.store.folder import Store, StoreError
from pandora_regret.study.store.manifest import FORMAT, Manifest, file_name

pytest.importorskip("safetensors")

TRUTH, CLASSES = np.array([0, 2, 1, 0]), ("a", "b", "c")
WRITER = Path(__file__).parents[2] / "helpers" / "store_writer.py"


def probabilities(seed, dtype=np.float64):
    return np.random.default_rng(seed).dirichlet(np.ones(3), size=4).astype(dtype)


@pytest.fixture
def store(tmp_path):
    """Two models and a failure."""
    with Store.create(tmp_path / "store", TRUTH, CLASSES) as store:
        store.save("first", probabilities(1), metadata={"seed": 42})
        store.save("second", np.log(probabilities(2)), logits=True)
        store.record_failure("third", "it gave NaN")
        yield store


def the_file(store, name="first"):
    return store.folder / "predictions" / file_name(name)


def flip(path, at, bit=0):
    content = bytearray(path.read_bytes())
    content[at] ^= 1 << bit
    path.write_bytes(content)


def content_of(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_every_flipped_byte_of_a_prediction_is_found_and_redone(store):
    path = the_file(store)
    good = path.read_bytes()
    for at in range(len(good)):
        flip(path, at, bit=at % 8)
        with pytest.raises(InputError, match="is corrupt or missing"):
            Store.open(store.folder).load("first")
        path.write_bytes(good)
    flip(path, len(good) - 1)
    assert store.unfinished(["first", "second"]) == ["first"]
    assert Store.open(store.folder).models == ("second",)
    store.save("first", probabilities(1))
    assert store.unfinished(["first", "second"]) == []


@pytest.mark.parametrize("keep", [0, 4, 100, -1])
def test_a_truncated_or_missing_prediction_is_redone(store, keep):
    the_file(store).write_bytes(the_file(store).read_bytes()[:keep])
    the_file(store, "second").unlink()
    assert store.unfinished(["second", "first"]) == ["second", "first"]


def test_a_broken_manifest_is_made_again_from_the_predictions(store):
    path = store.folder / "manifest.json"
    good = path.read_bytes()
    store.close()
    for broken in [b"", b"[]", b"{}", b"\xff" * 20, good[:-20], b"[" * 100_000, b'{"sha256": 1}', None]:
        path.unlink() if broken is None else path.write_bytes(broken)
        again = Store.open(store.folder)
        assert again.models == ("first", "second")
        assert again.failures == {}
        np.testing.assert_array_equal(again.load("first").values, probabilities(1, np.float32))
    assert again.unfinished(["first", "second", "third"]) == ["third"]
    assert Manifest.from_bytes(path.read_bytes()).models == Manifest.from_bytes(good).models


def test_every_flipped_byte_of_the_manifest_does_no_harm(store):
    path = store.folder / "manifest.json"
    good = path.read_bytes()
    for at in range(len(good)):
        flip(path, at, bit=at % 8)
        again = Store.open(store.folder)
        assert again.models == ("first", "second")
        assert again.failures in ({}, {"third": "it gave NaN"})
        path.write_bytes(good)


def test_a_manifest_made_again_leaves_out_what_is_not_whole(store, tmp_path):
    other = Store.create(tmp_path / "other", TRUTH[::-1], CLASSES)
    other.save("foreign", probabilities(9))
    the_file(store, "foreign").write_bytes(the_file(other, "foreign").read_bytes())
    the_file(store, "renamed").write_bytes(the_file(store).read_bytes())
    the_file(store, "labels").write_bytes((store.folder / "labels.safetensors").read_bytes())
    (store.folder / "manifest.json").unlink()
    for at in range(0, len(the_file(store).read_bytes()), 5):
        flip(the_file(store), at)
        assert "second" in Store.open(store.folder).models
        assert set(Store.open(store.folder).models) <= {"first", "second"}
        if "first" in Store.open(store.folder).models:  # a byte that means nothing
            np.testing.assert_array_equal(
                Store.open(store.folder).load("first").values, probabilities(1, np.float32)
            )
        flip(the_file(store), at)


def test_broken_labels_are_repaired_by_whoever_knows_them(store):
    path = store.folder / "labels.safetensors"
    store.close()
    flip(path, len(path.read_bytes()) - 1)
    assert not Store.exists(store.folder)
    with pytest.raises(InputError, match="is corrupt: create the store again with the same labels"):
        Store.open(store.folder)
    again = Store.create(store.folder, TRUTH, CLASSES)
    assert again.unfinished(["first", "second"]) == []


def test_labels_repaired_with_others_disown_the_predictions(store):
    (store.folder / "labels.safetensors").unlink()
    store.close()
    assert Store.create(store.folder, TRUTH[::-1], CLASSES).models == ()


def test_a_store_of_a_newer_version_is_refused(store, monkeypatch):
    monkeypatch.setattr("pandora_regret.study.store.manifest.FORMAT", "pandora-store/999")
    store.record_failure("x", "y")
    monkeypatch.undo()
    with pytest.raises(InputError, match=f"format 'pandora-store/999', .* reads '{FORMAT}'"):
        Store.open(store.folder)


def test_one_writer_any_number_of_readers(store):
    second = Store.create(store.folder, TRUTH, CLASSES)
    for write in (
        lambda: second.save("x", probabilities(1)),
        lambda: second.record_failure("x", ""),
        lambda: second.unfinished(["x"]),
    ):
        with pytest.raises(StoreError, match="is being written by another process"):
            write()
    assert len(second.load("first").values) == 4
    store.save("late", probabilities(4))
    store.close()
    assert second.unfinished(["late", "x"]) == ["x"]  # what was written meanwhile is known
    second.close()


def test_leftovers_of_killed_runs_go_when_a_writer_comes_and_only_then(store):
    left = [store.folder / ".manifest.json.ab12.part", store.folder / "predictions" / ".a.safetensors.cd34.part"]
    store.close()
    for path in left:
        path.write_bytes(b"half")
    again = Store.open(store.folder)
    assert all(path.exists() for path in left)
    again.unfinished([])
    assert not any(path.exists() for path in left)


@pytest.mark.parametrize("call", [0, 1, 2, 3])
def test_a_disk_that_fills_up_leaves_a_valid_store(store, monkeypatch, call):
    """Every file is synced before it counts, and its folder after: each of these may fail."""
    calls = iter(range(100))

    def full(handle, sync=os.fsync):
        if next(calls) == call:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(handle)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError, match=r"cannot be written \(No space left .*\): free some space"):
        store.save("new", probabilities(3))
    monkeypatch.undo()
    assert Store.open(store.folder).probabilities(["first", "second"]).shape == (2, 4, 3)
    assert not list(store.folder.rglob("*.part"))
    for name in store.unfinished(["first", "second", "new"]):
        store.save(name, probabilities(3))
    np.testing.assert_array_equal(Store.open(store.folder).load("new").values, probabilities(3, np.float32))


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 64 kB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    try:
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)], check=True, capture_output=True
        )
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("a file system of 64 kB cannot be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_disk_that_is_full_in_earnest(small_disk):
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(20_000))
    store, done = Store.create(small_disk / "store", TRUTH, CLASSES), 0
    with pytest.raises(StoreError, match="No space left on device"):  # noqa: PT012
        for done in range(30):
            store.save(f"model {done}", probabilities(done))
    assert 1 <= done == len(Store.open(store.folder).models)
    ballast.unlink()
    assert store.unfinished([f"model {n}" for n in range(done + 1)]) == [f"model {done}"]
    store.save(f"model {done}", probabilities(done))
    for number in range(done + 1):
        loaded = Store.open(store.folder).load(f"model {number}").values
        np.testing.assert_array_equal(loaded, probabilities(number, np.float32))
    store.close()


def test_a_folder_that_cannot_be_made_is_said_so(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(StoreError, match="link cannot be written"):
        Store.create(tmp_path / "link", TRUTH, CLASSES)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("mode", ["clock", "line"])
def test_a_writer_killed_twenty_times_ends_with_the_store_of_one_that_was_not(tmp_path, mode):
    """At seeded moments, and at seeded lines of the code that writes; each time the store is looked through."""
    ran = subprocess.run(
        [sys.executable, str(WRITER), mode, str(tmp_path / "killed")], capture_output=True, text=True, check=False
    )
    assert (ran.stdout, ran.stderr) == ("20\n", "")
    killed, calm = content_of(tmp_path / "killed"), content_of(tmp_path / "killed.measured")
    assert killed == calm
    assert len(killed) == 3 + 22  # labels, manifest and lock; 24 models less two that fail
