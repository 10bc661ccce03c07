"""A history of several metrics, appended to in every step of a tensor loop.

exercises: lists in a dict grown in a tensor loop; dict of stacks by a comprehension
rows: 74, 79
"""

import paddle


def train(w, steps):
    history = {"weight": [], "loss": []}
    for _ in range(steps):
        loss = (w * w).sum()
        history["weight"].append(w)
        history["loss"].append(loss)
        w = w * 0.5
    history["weight"].append(w)
    history["loss"].append((w * w).sum())
    return {name: paddle.stack(values) for name, values in history.items()}


def build():
    return train


def inputs():
    for steps in (3, 0, 1):
        yield paddle.to_tensor([1.0, 2.0]), paddle.to_tensor(steps)
