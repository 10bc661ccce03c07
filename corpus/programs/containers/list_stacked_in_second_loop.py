"""A first loop collects observations; a second reads all of them in every step.

exercises: stack of a grown list inside another tensor loop
rows: 74
"""

import paddle


def attend(x, steps, rounds):
    seen = [x]
    for _ in range(steps):
        x = paddle.tanh(x + 0.5)
        seen.append(x)
    query = x
    for _ in range(rounds):
        keys = paddle.stack(seen)
        weights = paddle.nn.functional.softmax(keys @ query)
        query = weights @ keys
    return query


def build():
    return attend


def inputs():
    for steps, rounds in ((2, 2), (0, 1), (2, 0), (1, 3)):
        yield paddle.to_tensor([1.0, -0.5]), paddle.to_tensor(steps), paddle.to_tensor(rounds)
