"""A batch given as a dict, read by mapping patterns.

exercises: mapping patterns with captures, rest and a literal; tensor guard
rows: 47
"""

import paddle


def loss(batch):
    match batch:
        case {"x": x, "mask": mask} if mask.sum() > 0:
            return (x * mask).sum() / mask.sum()
        case {"kind": "mean", "x": x}:
            return x.mean()
        case {"x": x, **rest}:
            return x.sum() + len(rest)
        case _:
            return 0.0


def build():
    return loss


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield ({"x": x, "mask": paddle.to_tensor([1.0, 0.0])},)
    yield ({"x": x, "mask": paddle.to_tensor([0.0, 0.0])},)
    yield ({"x": x, "kind": "mean"},)
    yield ({"x": x, "a": 1, "b": 2},)
    yield ({},)
