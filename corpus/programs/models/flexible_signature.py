"""A weighted mean of any number of tensors, with options by keyword and a decorator around it.

exercises: *args and **kwargs at the entry; functools.wraps decorator; loop over args; tensor if
    in the decorator
rows: 91, 92, 93
"""

import functools

import paddle


def finite(fn):
    @functools.wraps(fn)
    def checked(*args, **kwargs):
        out = fn(*args, **kwargs)
        if paddle.isfinite(out).all():
            return out
        return paddle.zeros_like(out)

    return checked


@finite
def mean_of(*parts, power=1, **weights):
    total = paddle.zeros_like(parts[0])
    for i, part in enumerate(parts):
        if part.sum() > 0:
            total = total + part**power * weights.get(f"w{i}", 1.0)
    return total / len(parts)


def call(parts, options):
    return mean_of(*parts, **options)


def build():
    return call


def inputs():
    a, b = paddle.to_tensor([1.0, 2.0]), paddle.to_tensor([-1.0, 0.5])
    yield [a, b], {}
    yield [a, b, a], {"power": 2, "w0": 0.5}
    yield [a * float("inf"), b], {}
    yield [b], {"w0": paddle.to_tensor(3.0)}
