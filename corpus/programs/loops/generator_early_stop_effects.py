"""A generator that closes its resource when its consumer stops.

exercises: generator with try and finally left by a Python break; tensor branches in the consumer
rows: 32
"""

import paddle


def windows(x, log):
    try:
        for k in range(x.shape[0] - 1):
            yield k, x[k : k + 2]
    finally:
        log.append("closed")


def scan(x, bound):
    log = []
    total = paddle.zeros([])
    for k, window in windows(x, log):
        if window.sum() > bound:
            total = total + window[0] * window[1]
        if k == 1:
            break
    return total, len(log)


def build():
    return scan


def inputs():
    for bound in (0.0, 4.0, 99.0):
        yield paddle.to_tensor([1.0, 2.0, 3.0, 4.0]), paddle.to_tensor(bound)
