"""PyTorch's own kernel for depthwise convolutions, which needs no plan."""

import pytest

from pandora_regret.study.vision import depthwise
from pandora_regret.study.vision.encoders import Weights, build

torch = pytest.importorskip("torch")
pytest.importorskip("timm")


def test_asks_for_pytorchs_kernel_for_depthwise_convolutions_alone(monkeypatch):
    taken = []
    monkeypatch.setattr(depthwise, "_is_depthwise", lambda *args, **options: taken.append(args[-1]) or False)
    network = build("test_efficientnet", Weights("random"), 32).eval()
    shown = torch.rand(1, 3, 32, 32)
    with torch.no_grad(), depthwise.native_depthwise():
        seen = network(shown)
    with torch.no_grad():
        torch.testing.assert_close(seen, network(shown))
    convolutions = [module for module in network.modules() if isinstance(module, torch.nn.Conv2d)]
    assert sorted(taken) == sorted(module.groups for module in convolutions)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("layout", [torch.channels_last, torch.contiguous_format])
def test_gives_what_cudnn_gives(stride, layout):
    layer = torch.nn.Conv2d(32, 32, 5, stride=stride, padding=2, groups=32).cuda().to(memory_format=layout)
    shown = torch.randn(4, 32, 16, 16, device="cuda").contiguous(memory_format=layout)
    with torch.no_grad(), torch.autocast("cuda", torch.float16):
        expected = layer(shown)
        with depthwise.native_depthwise():
            found = layer(shown)
    assert found.dtype == expected.dtype
    assert found.is_contiguous(memory_format=layout)
    torch.testing.assert_close(found, expected, atol=1e-2, rtol=1e-2)
