"""Zoos of timm encoders: which there are, how they are loaded, what their probes predict."""

import json
import pickle
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from refusals import refused

from pandora_regret.study import begin, read_study, run_study, study_grid, study_plan
from pandora_regret.study.zoos import image_zoos
from pandora_regret.study.zoos.image_zoos import (
    TimmZoo,
    VariantsZoo,
    available,
    build,
    build_with_average,
    extract,
    load_images,
)

safetensors_torch = pytest.importorskip("safetensors.torch")
torch = pytest.importorskip("torch")
timm = pytest.importorskip("timm")

LOCAL = ("test_efficientnet.mine", "test_resnet.r160_in1k", "test_vit.r160_in1k")
SHARED = (  # the documented grid: five convolutional networks and one transformer
    "mobilenetv2_100.deepsort",
    "mobilenetv2_100.tv_in1k",
    "tf_efficientnet_lite0.in1k",
    "tf_efficientnet_lite1.in1k",
    "tf_efficientnet_lite2.in1k",
    "vit_small_patch14_reg4_dinov2.lvd142m",
)


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """Bright images are of class 1, dark ones of class 0; a third class is rare."""
    rng = np.random.default_rng(5)
    arrays = {}
    for split, n in (("train", 40), ("val", 2), ("test", 12)):
        labels = np.arange(n) % 2
        labels[-1] = 2
        noise = rng.integers(0, 100, (n, 20, 20))
        arrays[f"{split}_images"] = (noise + 120 * labels[:, None, None] % 255).astype(np.uint8)
        arrays[f"{split}_labels"] = labels[:, None].astype(np.uint8)
    path = tmp_path_factory.mktemp("images") / "small.npz"
    np.savez(path, **arrays)
    return str(path)


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    """Local checkpoints, as whole networks are published: with a classifier."""
    folder = tmp_path_factory.mktemp("weights")
    for seed, name in enumerate(LOCAL):
        torch.manual_seed(seed)
        network = timm.create_model(name.split(".")[0], pretrained=False)
        safetensors_torch.save_file(network.state_dict(), folder / f"{name}.safetensors")
    return str(folder)


def predictions(zoo):
    return {outcome.name: outcome for outcome in zoo.predict(zoo.names())}


SOME = ("resnet18.a1_in1k", "resnet101.a1_in1k", "efficientnet_b0.ra_in1k", "efficientnet_b3.ra2_in1k")


def test_encoders_are_those_that_are_listed_whichever_timm_is_installed(monkeypatch):
    monkeypatch.setattr(timm, "__version__", "another")
    monkeypatch.setattr(image_zoos, "count_parameters", None)  # counting takes minutes
    image_zoos.listed_encoders.cache_clear()
    assert len(available("hub", made_for_224=True)) == 611
    assert list(available("hub", ["resnet18.a*"], 20_000_000, made_for_224=True)) == [
        "resnet18.a1_in1k",
        "resnet18.a2_in1k",
    ]


def test_the_list_is_what_timm_says(monkeypatch):
    monkeypatch.setattr(timm, "list_models", lambda pretrained: list(SOME))
    counted = image_zoos.count_encoders()
    assert list(counted) == ["efficientnet_b0.ra_in1k", "resnet101.a1_in1k", "resnet18.a1_in1k"]  # b3: 288
    assert counted.items() <= image_zoos.listed_encoders().items()
    assert len(available("hub")) == 4


class TestLoading:
    @pytest.mark.parametrize("name", LOCAL)
    def test_local_weights_give_the_networks_own_features(self, weights, name):
        torch.manual_seed(LOCAL.index(name))
        original = timm.create_model(name.split(".")[0], pretrained=False).eval()
        loaded = build(name, weights, 160).eval()
        shown = torch.rand(2, 3, 160, 160)
        with torch.no_grad():
            expected = original.forward_head(original.forward_features(shown), pre_logits=True)
            torch.testing.assert_close(loaded(shown), expected)

    @pytest.mark.parametrize("weights_of", ["random", "folder"])
    @pytest.mark.parametrize("name", ["inception_next_atto.sail_in1k", "test_resnet.r160_in1k"])
    def test_a_head_that_fails_for_no_classes_is_removed(self, name, weights_of, tmp_path, monkeypatch):
        """timm's MlpClassifierHead once divided by its number of classes."""
        create_model = timm.create_model
        if weights_of == "folder":
            torch.manual_seed(7)
            whole = create_model(name.split(".")[0], pretrained=False)
            safetensors_torch.save_file(whole.state_dict(), tmp_path / f"{name}.safetensors")
            weights_of = str(tmp_path)
        plain = build(name, weights_of, 160).eval()

        def create(architecture, *, num_classes=1000, **options):
            if num_classes == 0:
                raise ZeroDivisionError("float division by zero")
            return create_model(architecture, num_classes=num_classes, **options)

        monkeypatch.setattr(timm, "create_model", create)
        rebuilt = build_with_average(name, weights_of, 160).eval()
        shown = torch.rand(2, 3, 160, 160)
        with torch.no_grad():
            features = rebuilt(shown)
            assert features.shape == plain(shown).shape
            if weights_of == "random":  # the head's first weights come from the same generator, but last
                plain.load_state_dict(rebuilt.state_dict())
            torch.testing.assert_close(features, plain(shown))

    def test_weights_that_do_not_fit_average_pooling_are_a_rejection(self, monkeypatch):
        def build(name, weights, resolution, seed, global_pool=None):
            if global_pool:
                raise RuntimeError("Error(s) in loading state_dict for VisionTransformer")
            return SimpleNamespace(global_pool=global_pool)

        monkeypatch.setattr(image_zoos, "build", build)
        assert build_with_average("any", "hub", 32).global_pool is None


class TestTimmZoo:
    def test_predicts_with_every_local_encoder_and_the_same_again_in_a_copy(self, images, weights):
        zoo = TimmZoo(images, weights=weights, device="cpu")
        assert zoo.names() == sorted(LOCAL)
        assert zoo.batches(zoo.names()) == [[name] for name in sorted(LOCAL)]
        assert zoo.target().truth.tolist() == [0, 1] * 5 + [0, 2]
        again = predictions(pickle.loads(pickle.dumps(zoo)))
        for name, outcome in predictions(zoo).items():
            assert outcome.failure is None
            assert outcome.prediction.logits
            assert outcome.prediction.values.shape == (12, 3)
            assert json.loads(json.dumps(outcome.prediction.metadata))["encoder"] == name
            assert np.array_equal(again[name].prediction.values, outcome.prediction.values)

    def test_weights_that_are_not_finite_are_a_failure_of_that_model_alone(self, images, tmp_path):
        for name, value in (("test_resnet.good", None), ("test_resnet.ill", float("nan"))):
            state = timm.create_model("test_resnet", pretrained=False).state_dict()
            if value is not None:
                state["layer4.0.conv1.weight"].fill_(value)
            safetensors_torch.save_file(state, tmp_path / f"{name}.safetensors")
        (tmp_path / "test_resnet.torn.safetensors").write_bytes(b"not weights at all")
        outcomes = predictions(TimmZoo(images, weights=str(tmp_path), device="cpu"))
        assert outcomes["test_resnet.good"].failure is None
        finite = "ArithmeticError: the encoder gives features that are not finite"
        assert outcomes["test_resnet.ill"].failure == finite
        assert outcomes["test_resnet.torn"].failure

    def test_an_encoder_that_the_installed_timm_lacks_fails_alone(self, images, monkeypatch):
        listed = {"test_resnet.r160_in1k": 500_000, "no_such_net.in1k": 500_000, "test_vit.no_such_tag": 400_000}
        monkeypatch.setattr(image_zoos, "listed_encoders", lambda: listed)
        outcomes = predictions(TimmZoo(images, weights="random", device="cpu"))
        assert outcomes["test_resnet.r160_in1k"].failure is None
        assert "no_such_net" in outcomes["no_such_net.in1k"].failure


class TestVariants:
    def test_a_handful_of_checkpoints_is_a_zoo_of_a_hundred(self, images, tmp_path):
        for name in SHARED:
            (tmp_path / f"{name}.safetensors").touch()
        zoo = VariantsZoo(images, weights=str(tmp_path), resolutions=[112])
        names = zoo.names()
        assert len(names) == len(set(names)) == 5 * 6 * 3 + 12 * 4
        assert "vit_small_patch14_reg4_dinov2.lvd142m@112/block6/avg" in names
        assert "tf_efficientnet_lite1.in1k@112/end/avg+max" in names
        assert sorted(name for batch in zoo.batches(names) for name in batch) == sorted(names)
        assert [len(batch) for batch in zoo.batches(names)] == [18] * 5 + [48]

    @pytest.mark.parametrize(
        ("name", "last"),
        [
            ("test_resnet.r160_in1k", "stage5/avg"),
            ("test_efficientnet.mine", "end/avg"),
            ("test_vit.r160_in1k", "block6/token"),
        ],
    )
    def test_the_last_depth_is_what_the_encoder_itself_would_give(self, images, weights, name, last):
        zoo = VariantsZoo(images, weights=weights, models=[name], resolutions=[32], device="cpu")
        encoder = zoo.encoder(f"{name}@32")
        network = build(name, weights, 32).eval()
        shown = torch.rand(3, 3, 32, 32)
        with torch.no_grad():
            read = encoder.read(network, shown)
            assert list(read)[-1].split("/")[0] == last.split("/")[0]
            torch.testing.assert_close(read[last], network(shown))

    def test_predicts_every_combination_once(self, images, weights):
        zoo = VariantsZoo(
            images,
            weights=weights,
            resolutions=[16, 32],
            depths=["stage2", "block[25]", "end"],
            poolings=["avg", "avg+max", "token"],
            device="cpu",
        )
        names = zoo.names()
        per_resolution = 2 * 2 + 1 * 2 + 2 * 3  # efficientnet, resnet, vit: depths x poolings
        assert len(names) == 2 * per_resolution
        made = {outcome.name: outcome.prediction for outcome in zoo.predict(names)}
        assert sorted(made) == sorted(names)
        widths = [
            made[f"test_vit.r160_in1k@32/block2/{pooling}"].metadata["width"] for pooling in ("avg", "avg+max")
        ]
        assert widths[1] == 2 * widths[0]
        assert len({prediction.values.tobytes() for prediction in made.values()}) == len(names)

    def test_says_what_cannot_be_read(self, images, weights):
        with refused(argument="models", says="resolution 30"):
            VariantsZoo(images, weights=weights, models=["test_vit*"], resolutions=[30]).names()
        with refused(argument="poolings", value=["median"]):
            VariantsZoo(images, weights=weights, poolings=["avg+median"]).names()


def test_the_plan_of_the_paper_s_study_needs_neither_torch_nor_the_network():
    study = Path(__file__).parents[3] / "examples" / "studies" / "paper.toml"
    code = f"""
import sys
from pandora_regret.study import read_study, study_plan
print(study_plan(read_study({str(study)!r})).to_text())
assert not {{"torch", "timm", "medmnist"}} & set(sys.modules)
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.stderr == ""
    lines = [line.split() for line in ran.stdout.splitlines()]
    assert lines[1][:6] == ["Derm", "611", "7,007", "2,005", "7", "0.38"]
    assert lines[2][:6] == ["OCT", "611", "10,000", "1,000", "4", "0.46"]
    assert "55.62 GB" in ran.stdout
    assert "611 encoders" in ran.stdout


def test_the_paper_s_study_runs_on_a_stand_in(images, weights, tmp_path, monkeypatch):
    """Its own file, with other images and other encoders, in this process, where torchvision is made to fit."""
    monkeypatch.setattr(TimmZoo, "most_jobs", 0)
    text = (Path(__file__).parents[3] / "examples" / "studies" / "paper.toml").read_text(encoding="utf-8")
    for name in ("dermamnist", "octmnist"):
        text = text.replace(f'costs = "{name}"\n', "")
        text = text.replace(f'images = "{name}"', f'images = "{images}", weights = "{weights}", device = "cpu"')
    file = tmp_path / "paper.toml"
    file.write_text(text.replace("replicates = 2000", "replicates = 20"), encoding="utf-8")
    planned = study_plan(read_study(file)).to_text()
    assert "0.00 GB" in planned
    assert "0 encoders" in planned
    results = run_study(begin(file, tmp_path / "out"), tmp_path / "out")
    assert [len(part.agreement.data.models) for part in results.data] == [3, 3]
    assert len(study_grid(results).rows) == 8


def test_a_torchvision_that_does_not_fit_is_one_line(images, tmp_path):
    """The tests declare its operators themselves where that is so; a user's process does not."""
    code = f"""
import sys
sys.modules["torchvision"] = None
from pandora_regret.cli import main
sys.argv = ["pandora", "study", "run", {str(tmp_path / "s.toml")!r}, "--out", {str(tmp_path / "out")!r}]
main()
"""
    study = f'title = "t"\n[[data]]\nname = "d"\n[data.zoo]\nkind = "timm"\nimages = "{images}"\n'
    (tmp_path / "s.toml").write_text(study, encoding="utf-8")
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode != 0
    assert ran.stderr.startswith("pandora: timm")
    assert ran.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_features_on_the_gpu_are_those_of_the_cpu(images, weights):
    zoo = TimmZoo(images, weights=weights)
    pixels = load_images(images).pixels
    names = [zoo.encoder(name) for name in zoo.names()]
    for ours, exact in zip(extract(names, pixels, "cuda"), extract(names, pixels, "cpu"), strict=True):
        near, right = ours.values["features"].float().cpu(), exact.values["features"]
        assert (near - right).norm() < 0.02 * right.norm()
