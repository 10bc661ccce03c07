"""Metrics of a step; the gradient norm is reported only when it was clipped.

exercises: dict with a key that only one side adds, returned; len of it
rows: 80
"""

import paddle


def metrics(gradient, bound):
    norm = (gradient * gradient).sum().sqrt()
    found = {"loss": gradient.mean()}
    if norm > bound:
        gradient = gradient * (bound / norm)
        found["norm"] = norm
    return gradient, found, len(found)


def build():
    return metrics


def inputs():
    g = paddle.to_tensor([3.0, 4.0])
    for bound in (1.0, 10.0):
        yield g, paddle.to_tensor(bound)
