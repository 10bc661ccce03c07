"""A budget that is given back when the work under it fails.

exercises: __exit__ of the user's sees an exception that a tensor decides; it swallows one kind
rows: 60, 63
"""

import paddle

RAISES = {2: ValueError}


class Budget:
    depth = 0

    def __init__(self, log):
        self.log = log

    def __enter__(self):
        Budget.depth += 1
        return self

    def __exit__(self, kind, error, trace):
        Budget.depth -= 1
        self.log.append("fine" if kind is None else str(error))
        return kind is not None and issubclass(kind, KeyError)


OBSERVED = lambda: Budget.depth  # noqa: E731


def work(x, log):
    y = x
    with Budget(log):
        y = x * 2
        if x.min() < -5:
            raise ValueError("far too small")
        if x.min() < 0:
            raise KeyError("too small")
        y = y + 1
    return y


def build():
    return work


def inputs():
    yield (paddle.to_tensor([1.0, 2.0]), [])
    yield (paddle.to_tensor([-1.0, 2.0]), [])
    yield (paddle.to_tensor([-9.0, 2.0]), [])
