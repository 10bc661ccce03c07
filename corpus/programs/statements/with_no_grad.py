"""A target that is computed without gradients.

exercises: with paddle.no_grad(); a tensor if inside it; enable_grad inside
rows: 63
"""

import paddle


def td_error(value, reward, final):
    with paddle.no_grad():
        if final > 0:
            target = reward + value * 0
        else:
            target = reward + 0.9 * value
    error = target - value
    return error * error, target.stop_gradient


def build():
    return td_error


def inputs():
    value, reward = paddle.to_tensor([1.0, 2.0]), paddle.to_tensor([0.5, 4.0])
    yield value, reward, paddle.to_tensor(0)
    yield value, reward, paddle.to_tensor(1)
