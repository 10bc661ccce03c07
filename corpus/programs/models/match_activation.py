"""An activation chosen by name, with a tensor guard on one of the cases.

exercises: match on a string; guard with a tensor condition; capture pattern; sequence pattern;
    or-pattern
rows: 47
"""

import paddle
from paddle.nn import functional as F


def activate(x, spec):
    match spec:
        case "relu":
            return F.relu(x)
        case ("leaky", slope) if x.min() < 0:
            return paddle.where(x > 0, x, x * slope)
        case ("leaky", _) | "none":
            return x + 0
        case other:
            return x * len(other)


def build():
    return activate


def inputs():
    mixed, positive = paddle.to_tensor([-1.0, 2.0]), paddle.to_tensor([1.0, 2.0])
    yield mixed, "relu"
    yield mixed, ("leaky", 0.1)
    yield positive, ("leaky", 0.1)
    yield mixed, "none"
    yield mixed, "twice"
