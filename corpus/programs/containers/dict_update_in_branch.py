"""Settings that a hard sample overrides.

exercises: dict.update with a dict and with keywords in a tensor branch
rows: 80
"""

import paddle


def forward(x, hard):
    settings = {"scale": paddle.ones([]), "shift": paddle.zeros([])}
    if hard > 0:
        settings.update({"scale": x.max()}, shift=x.min())
    else:
        settings.update(shift=x.mean())
    return x * settings["scale"] + settings["shift"]


def build():
    return forward


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    for hard in (1, 0):
        yield x, paddle.to_tensor(hard)
