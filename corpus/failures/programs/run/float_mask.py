"""Two masks are floats, where bools are needed."""

import paddle

# Paddle looks at dtypes when an operation is put into a program, and refuses them there with
# another class than its kernels do in dygraph.
OTHER_TYPE = "TypeError"


def both(x, left, right):
    mask = left & right  # <- fails
    return x * mask.astype("float32")


def main(to_static):
    to_static(both)(paddle.ones([2]), paddle.ones([2]), paddle.zeros([2]))
