"""A run of equal signs is forgotten when the sign changes.

exercises: clear of a list in a branch of a tensor loop
rows: 76
"""

import paddle


def last_run(values):
    run = []
    previous = values[0]
    i = paddle.zeros([], "int64")
    while i < values.shape[0]:
        v = values[i]
        if v * previous < 0:
            run.clear()
        run.append(v)
        previous = v
        i = i + 1
    return paddle.stack(run).sum(), len(run)


def build():
    return last_run


def inputs():
    yield (paddle.to_tensor([1.0, 2.0, -1.0, -3.0]),)
    yield (paddle.to_tensor([1.0, 2.0, 1.0, 3.0]),)
    yield (paddle.to_tensor([1.0, -2.0, 1.0, -3.0]),)
