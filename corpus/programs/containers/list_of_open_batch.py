"""A recurrent cell over steps that a tensor counts, for batches of any size.

exercises: items of open shape in a list that a static loop grows, InputSpec with None
rows: 74, 89
"""

import paddle

INPUT_SPEC = lambda: [  # noqa: E731
    paddle.static.InputSpec([None, 2], "float32", "x", stop_gradient=False),
    paddle.static.InputSpec([], "int64", "steps"),
]


def roll(x, steps):
    state = paddle.zeros([x.shape[0], 2])
    seen = []
    for i in range(steps):
        state = paddle.tanh(state + x * i)
        if state.sum() > 1:
            seen.append(state)
        else:
            seen.append(state - 1)
    return paddle.stack(seen), paddle.concat(seen, axis=1), seen[-1]


def build():
    return roll


def inputs():
    for batch in (3, 1, 5):
        rows = [[0.1 * row, 0.3 - 0.1 * row] for row in range(batch)]
        yield paddle.to_tensor(rows), paddle.to_tensor(3)
        yield paddle.to_tensor(rows), paddle.to_tensor(1)
