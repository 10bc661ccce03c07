"""A nested dict of inputs, with tensors, numbers and text.

exercises: nested dict argument; key missing in one call
rows: 91
"""

import paddle


def forward(inputs):
    x = inputs["image"]["pixels"]
    if x.max() > inputs["limit"]:
        x = x / x.max()
    if "mask" in inputs["image"]:
        x = x * inputs["image"]["mask"]
    return {"out": x, "mode": inputs["mode"]}


def build():
    return forward


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield ({"image": {"pixels": x}, "limit": 1.0, "mode": "a"},)
    yield ({"image": {"pixels": x, "mask": x * 0.1}, "limit": 5.0, "mode": "a"},)
    yield ({"image": {"pixels": x, "mask": x * 0.1}, "limit": x.mean(), "mode": "b"},)
