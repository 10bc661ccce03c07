"""A dict of options is edited between calls.

exercises: value and keys of a global dict of Python values changed after the capture
rows: 97
"""

import paddle

options = {"scale": 1.0}


def forward(x):
    if x.sum() > 0:
        x = x * options["scale"]
    if "shift" in options:
        x = x + options["shift"]
    return x


def BEFORE(index):
    options.clear()
    options.update(({"scale": 1.0}, {"scale": 4.0}, {"scale": 4.0, "shift": 1.0})[index])


def build():
    return forward


def inputs():
    for sign in (1.0, 1.0, -1.0):
        yield (paddle.to_tensor([1.0, 2.0]) * sign,)
