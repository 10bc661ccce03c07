"""An iteration that does not converge is given up."""

import paddle


def solve(x):
    steps = paddle.zeros([], "int64")
    while x > 1:
        x = x * 0.9
        steps = steps + 1
        if steps > 5:
            raise RuntimeError("no convergence after 5 steps")  # <- fails
    return x


def main(to_static):
    static = to_static(solve)
    static(paddle.to_tensor(1.5))
    static(paddle.to_tensor(100.0))
