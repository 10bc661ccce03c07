"""Keep the positive values of a stream.

exercises: append in a branch within a tensor loop; the list may stay empty
rows: 74, 75
"""

import paddle


def positive(values, count):
    kept = []
    for i in range(count):
        if values[i] > 0:
            kept.append(values[i])
    return kept, len(kept)


def build():
    return positive


def inputs():
    values = paddle.to_tensor([1.0, -2.0, 3.0])
    for count in (3, 0, 1):
        yield values, paddle.to_tensor(count)
    yield -values, paddle.to_tensor(1)
