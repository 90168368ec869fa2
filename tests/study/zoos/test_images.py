"""Image data, and frozen encoders at work on them; no pretrained network is needed to see that right."""

import sys
import threading
import types

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

from pandora_regret.core.costs import load_costs
from pandora_regret.study.zoos.image_zoos import Encoder, extract, load_images, probe_logits

pytest.importorskip("safetensors")
torch = pytest.importorskip("torch")

CPU = "cpu"
RNG = np.random.default_rng(7)


@pytest.fixture(autouse=True)
def _no_images_remembered():
    load_images.cache_clear()


def write_npz(path, *, colour=True, column=True, sizes=(12, 5), side=8, n_classes=3, **replaced):
    arrays = {}
    for split, n in zip(("train", "test"), sizes, strict=True):
        arrays[f"{split}_images"] = RNG.integers(0, 256, (n, side, side, *[3] * colour), np.uint8)
        labels = (np.arange(n) % n_classes).astype(np.uint8)
        arrays[f"{split}_labels"] = labels[:, None] if column else labels
    np.savez(path, **arrays | replaced)
    return arrays


class TestData:
    @pytest.mark.parametrize("plain", [True, False])
    def test_reads_both_layouts_of_images_and_labels(self, tmp_path, plain):
        arrays = write_npz(tmp_path / "a.npz", colour=not plain, column=not plain)
        data = load_images(str(tmp_path / "a.npz"))
        assert data.n_train == 12
        both = np.concatenate([arrays["train_images"], arrays["test_images"]])
        assert np.array_equal(data.pixels, both[..., None] if plain else both)
        assert data.truth.tolist() == [0, 1, 2, 0, 1]

    def test_caps_the_training_split_by_the_seed_alone(self, tmp_path):
        arrays = write_npz(tmp_path / "a.npz", sizes=(60, 5))
        kept = []
        for seed in (42, 43, 42):
            data = load_images(str(tmp_path / "a.npz"), train_cap=20, seed=seed)
            assert np.array_equal(data.pixels[20:], arrays["test_images"])
            rows = (data.pixels[:20, None] == arrays["train_images"][None]).all((2, 3, 4)).argmax(1)
            assert np.array_equal(data.labels[:20], arrays["train_labels"].ravel()[rows])
            kept.append(rows.tolist())
        assert kept[0] == kept[2] == sorted(set(kept[0]))
        assert kept[0] != kept[1]

    def test_names_classes_as_asked_as_the_pathways_do_or_by_number(self, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "medmnist", None)
        write_npz(tmp_path / "mine.npz")
        write_npz(tmp_path / "octmnist_64.npz", n_classes=4)
        assert load_images(str(tmp_path / "octmnist_64.npz")).classes == load_costs("octmnist").classes
        assert load_images(str(tmp_path / "mine.npz")).classes == ("0", "1", "2")
        assert load_images(str(tmp_path / "mine.npz"), classes=("x", "y", "z")).classes == ("x", "y", "z")
        with refused(argument="classes", value=("x", "y")):
            load_images(str(tmp_path / "mine.npz"), classes=("x", "y"))

    @pytest.mark.parametrize(
        ("replaced", "message"),
        [
            ({"train_images": np.zeros((12, 8, 8, 2), np.uint8)}, "must be bytes"),
            ({"test_labels": np.zeros((5, 14), np.uint8)}, "several labels"),
            ({"test_labels": np.full(5, -1)}, "whole numbers from 0"),
            ({"test_images": np.array([object()])}, "not MedMNIST's layout"),
        ],
    )
    def test_says_what_is_wrong_with_a_file(self, tmp_path, replaced, message):
        write_npz(tmp_path / "a.npz", **replaced)
        with refused(argument="images", value=str(tmp_path / "a.npz"), says=message):
            load_images(str(tmp_path / "a.npz"))

    def test_says_that_a_file_is_missing_or_cut_off(self, tmp_path):
        with refused(argument="images", value=str(tmp_path / "a.npz"), says="no such file"):
            load_images(str(tmp_path / "a.npz"))
        write_npz(tmp_path / "a.npz")
        (tmp_path / "a.npz").write_bytes((tmp_path / "a.npz").read_bytes()[:700])
        with refused(argument="images", place=str(tmp_path / "a.npz"), says="not MedMNIST's layout"):
            load_images(str(tmp_path / "a.npz"))


@pytest.mark.parametrize("size", [28, 64])
def test_a_download_goes_through_the_package(tmp_path, monkeypatch, size):
    """A stand-in with the package's interface, whose download is a file that it writes."""

    class BloodMNIST:
        def __init__(self, split, download, root, size):
            assert (split, download) == ("val", True)
            self.root = root
            write_npz(f"{root}/bloodmnist{'' if size == 28 else f'_{size}'}.npz", side=size)

    labels = {"0": "basophil", "1": "eosinophil", "2": "erythroblast"}
    info = {"bloodmnist": {"python_class": "BloodMNIST", "label": labels}}
    monkeypatch.setitem(sys.modules, "medmnist", types.SimpleNamespace(BloodMNIST=BloodMNIST, INFO=info))
    data = load_images("bloodmnist", size=size, folder=str(tmp_path / "new"))
    assert data.pixels.shape == (17, size, size, 3)
    assert data.classes == tuple(labels.values())


def encoder(name="fake", read=None, build=None, resolution=8, mean=(0.5, 0.4, 0.3), std=(0.2, 0.3, 0.4)):
    """By default the features are the images themselves, as the network sees them."""
    return Encoder(
        name,
        build or torch.nn.Identity,
        read or (lambda network, images: {"features": network(images)}),
        resolution,
        (mean, std),
    )


def pixels(n=10, side=8, channels=3):
    return np.random.default_rng(n).integers(0, 256, (n, side, side, channels), np.uint8)


def plain_training(train, labels, test, n_classes):
    """The paper's protocol as one would write it in torch; its one source of chance is the global seed."""
    torch.manual_seed(42)
    head = torch.nn.Linear(train.shape[1], n_classes)
    optimiser = torch.optim.AdamW(head.parameters(), lr=1e-3, weight_decay=1e-4)
    for rows in torch.randperm(len(train)).split(64):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(head(train[rows]), labels[rows]).backward()
        optimiser.step()
    return head(test).detach()


def test_a_probe_is_the_plain_training_loop_and_depends_on_its_own_seed_alone():
    rng = np.random.default_rng(3)
    labels = torch.tensor(rng.integers(0, 3, 200))
    values = torch.nn.functional.one_hot(labels, 5).float() + torch.tensor(rng.normal(size=(200, 5))).float()
    split = values[:150], labels[:150], values[150:], 4
    expected = plain_training(*split)
    torch.manual_seed(7)
    torch.testing.assert_close(probe_logits(*split), expected, atol=1e-6, rtol=1e-5)
    assert not torch.equal(probe_logits(*split), probe_logits(*split, seed=43))


def only(extracted):
    (features,) = extracted
    assert features.failure is None, features.failure
    return features.values["features"]


class TestExtraction:
    def test_shows_normalised_images(self):
        shown = pixels()
        seen = only(extract([encoder()], shown, CPU)).reshape(10, 3, 8, 8)
        expected = (shown / 255 - [0.5, 0.4, 0.3]) / [0.2, 0.3, 0.4]
        np.testing.assert_allclose(seen.numpy(), expected.transpose(0, 3, 1, 2), atol=1e-5)

    @pytest.mark.parametrize("resolution", [4, 12])
    def test_resizes_to_the_encoders_resolution_within_the_range_of_bytes(self, resolution):
        whole = encoder(resolution=resolution, mean=(0, 0, 0), std=(1, 1, 1))
        seen = only(extract([whole], pixels(), CPU)).reshape(10, 3, resolution, resolution)
        assert seen.min() >= 0
        assert seen.max() <= 1
        constant = only(extract([whole], np.full((1, 8, 8, 3), 51, np.uint8), CPU))
        torch.testing.assert_close(constant, torch.full_like(constant, 0.2))

    @given(n=st.integers(1, 60), fits=st.integers(1, 60))
    def test_out_of_memory_halves_the_batch_and_changes_no_feature(self, n, fits):
        def read(network, images):
            if len(images) > fits:
                raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate more than there is.")
            return {"features": images}

        extracted = list(extract([encoder(read=read)], pixels(n), CPU))
        assert torch.equal(only(extracted), only(extract([encoder()], pixels(n), CPU)))
        assert min(n, fits) / 3 <= extracted[0].batch <= min(n, fits)

    def test_an_encoder_that_fails_is_reported_and_the_others_go_on(self):
        def raising(error):
            def fail(*_):
                raise error

            return fail

        never_fits = raising(torch.OutOfMemoryError("CUDA out of memory."))
        bad = [encoder(build=raising(OSError("no such weights"))), encoder(read=never_fits)]
        extracted = list(extract([*bad, encoder("good")], pixels(), CPU))
        assert [features.failure for features in extracted] == [
            "OSError: no such weights",
            "OutOfMemoryError: CUDA out of memory.",
            None,
        ]

    def test_the_next_network_is_built_while_this_one_runs(self):
        second_is_built = threading.Event()

        def read(network, images):
            assert second_is_built.wait(20)
            return {"features": images}

        def build():
            second_is_built.set()
            return torch.nn.Identity()

        extracted = list(extract([encoder("first", read=read), encoder("second", build=build)], pixels(), CPU))
        assert [features.failure for features in extracted] == [None, None]
