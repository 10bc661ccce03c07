"""Defaults joined with overrides by the | operator.

exercises: dict | dict and |= in a tensor branch; setdefault
rows: 80
"""

import paddle


def configured(x):
    options = {"a": x, "b": x * 2}
    if x.sum() > 0:
        options = options | {"b": x * 5}
    else:
        options |= {"a": x - 1}
    options.setdefault("b", x * 100)
    options.setdefault("c", x + 1)
    return options


def build():
    return configured


def inputs():
    yield (paddle.to_tensor([1.0, 2.0]),)
    yield (paddle.to_tensor([-1.0, -2.0]),)
