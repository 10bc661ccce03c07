"""The models of Paddle itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import paddle

from corpus.zoo.model import Model, Package, image, words

NAMES = words("""
resnet18 squeezenet1_0 squeezenet1_1 mobilenet_v1 mobilenet_v2 mobilenet_v3_small mobilenet_v3_large
shufflenet_v2_x0_25 shufflenet_v2_x1_0 shufflenet_v2_swish vgg11 alexnet resnet34 resnet50 vgg16
googlenet inception_v3 densenet121 resnext50_32x4d wide_resnet50_2 resnet101
""")
SIZES = {"inception_v3": 96, "alexnet": 224, "googlenet": 224}


def _builder(name: str) -> Callable[[], Any]:
    def build() -> Any:
        if name == "LeNet":
            return paddle.vision.models.LeNet()
        return getattr(paddle.vision.models, name)(pretrained=False, num_classes=10)

    return build


def models() -> list[Model]:
    """What ``paddle.vision.models`` builds."""
    made = [Model(name, _builder(name), image(SIZES.get(name, 32))) for name in NAMES]
    return [Model("LeNet", _builder("LeNet"), image(28, channels=1)), *made]


PACKAGE = Package(
    name="vision",
    pins=(),
    roots=(),
    modules=("paddle.vision.models",),
    models=models,
)
