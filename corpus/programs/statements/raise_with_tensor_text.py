"""A range check whose message shows the offending value.

exercises: raise in a tensor branch with an f-string of a tensor
rows: 59
"""

import paddle

RAISES = {1: ValueError, 2: ValueError}


def check_loss(x, limit):
    loss = x.mean()
    if loss > limit:
        raise ValueError(f"the loss is {float(loss):.2f}, the limit {limit.item()}")
    if loss < 0:
        raise ValueError("negative loss", 3)
    return loss * 2


def build():
    return check_loss


def inputs():
    limit = paddle.to_tensor(1.5)
    yield paddle.to_tensor([1.0, 0.5]), limit
    yield paddle.to_tensor([1.0, 5.0]), limit
    yield paddle.to_tensor([-1.0, 0.5]), limit
