"""A function with a list as default that remembers earlier calls.

exercises: mutable default argument that grows from call to call
rows: 75
"""

import paddle

GRAD = False  # the tensors of earlier calls have no graph to go back through


def average(x, seen=[]):
    seen.append(x.detach())
    if len(seen) > 2:
        seen.pop(0)
    return paddle.stack(seen).mean(axis=0)


def build():
    average.__defaults__[0].clear()
    return average


def inputs():
    for value in (1.0, 2.0, 4.0):
        yield (paddle.to_tensor([value, 1.0]),)
