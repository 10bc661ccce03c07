"""Work off named tasks until one fails.

exercises: while over a Python dict with popitem and a tensor break; len of the rest
rows: 31, 39
"""

import paddle


def work(a, b, c):
    tasks = {"first": a, "second": b, "third": c}
    total = paddle.zeros([])
    while tasks:
        name, value = tasks.popitem()
        if value < 0:
            break
        total = total + value * len(name)
    return total, len(tasks)


def build():
    return work


def inputs():
    for a, b, c in ((1.0, 2.0, 3.0), (1.0, 2.0, -3.0), (1.0, -2.0, 3.0)):
        yield paddle.to_tensor(a), paddle.to_tensor(b), paddle.to_tensor(c)
