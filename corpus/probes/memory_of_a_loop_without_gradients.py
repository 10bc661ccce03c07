"""A loop of 100 trips over a tensor of 1 MiB, called under no_grad, may not keep its trips.

The input takes gradients, so a program for training exists as well: it would have to keep every
trip for the way back, which nobody will go.
"""

import resource

import paddle

ALLOWED = 30  # MiB; dygraph needs about 5


def many(x, w, n):
    for _ in range(n):
        x = paddle.tanh(x * w)
    return x


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def probe(convert):
    converted = convert(many)
    x, w = paddle.ones([256, 1024]), paddle.to_tensor(0.5)
    x.stop_gradient = w.stop_gradient = False
    with paddle.no_grad():
        converted(x, w, paddle.to_tensor(2))
        before = peak()
        converted(x, w, paddle.to_tensor(100))
        grown = peak() - before
    if grown < ALLOWED:
        return "right"
    return f"failed kept about {round(grown, -1):.0f} MiB over 100 trips of 1 MiB"
