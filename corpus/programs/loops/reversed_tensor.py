"""Returns of an episode, from the last reward to the first.

exercises: reversed(tensor) of known length
rows: 30
"""

import paddle


def returns(rewards, gamma):
    total = paddle.zeros([])
    out = []
    for r in reversed(rewards):
        total = r + gamma * total
        out.append(total)
    return paddle.stack(out[::-1])


def build():
    return returns


def inputs():
    yield paddle.to_tensor([1.0, 0.0, 2.0]), paddle.to_tensor(0.5)
    yield paddle.to_tensor([-1.0, 3.0, 1.0]), paddle.to_tensor(0.9)
