"""Lets torchvision be imported beside a PyTorch that it was not built for.

timm and torchmetrics import it. Its operators load only beside the build they were made for; next to a CPU build
they are just declared here, since nothing in the tests calls them.
"""

from importlib.util import find_spec

DECLARED = []
if find_spec("torch") and find_spec("torchvision"):
    try:
        import torchvision  # noqa: F401
    except RuntimeError:
        from torch.library import Library

        DECLARED.append(Library("torchvision", "FRAGMENT"))
        for operator in ("nms", "qnms"):
            DECLARED[0].define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
