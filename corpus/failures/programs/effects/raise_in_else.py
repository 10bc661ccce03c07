"""An error on the other side, behind a branch that has run before."""

import paddle


def pick(x, limit):
    if x.sum() < limit:
        y = x * 2
    elif x.sum() < 2 * limit:
        y = x
    else:
        raise OverflowError("beyond twice the limit")  # <- fails
    return y


def main(to_static):
    static = to_static(pick)
    static(paddle.to_tensor([1.0]), paddle.to_tensor(4.0))
    static(paddle.to_tensor([9.0]), paddle.to_tensor(4.0))
