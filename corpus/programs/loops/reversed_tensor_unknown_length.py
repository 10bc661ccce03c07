"""The return of an episode of any length.

exercises: reversed(tensor) of unknown length
rows: 27, 30
"""

import paddle
from paddle.static import InputSpec

INPUT_SPEC = lambda: [InputSpec([None], "float32"), InputSpec([], "float32")]


def episode_return(rewards, gamma):
    total = paddle.zeros([])
    for r in reversed(rewards):
        if r < 0:
            total = total * 0
        total = r + gamma * total
    return total


def build():
    return episode_return


def inputs():
    yield paddle.to_tensor([1.0, 0.0, 2.0]), paddle.to_tensor(0.5)
    yield paddle.to_tensor([1.0, -1.0, 2.0, 3.0]), paddle.to_tensor(0.9)
    yield paddle.to_tensor([2.0]), paddle.to_tensor(0.9)
