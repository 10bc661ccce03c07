"""Name the first metric that fails.

exercises: the str key of dict.items() read after a tensor break
rows: 31, 39, 40
"""

import paddle


def culprit(metrics, limit):
    for name, value in metrics.items():
        if value > limit:
            break
    else:
        name = "none"
    return name, value * 2


def build():
    return culprit


def inputs():
    for a, b in ((9.0, 1.0), (1.0, 9.0), (1.0, 1.0)):
        metrics = {"loss": paddle.to_tensor(a), "drift": paddle.to_tensor(b)}
        yield metrics, paddle.to_tensor(5.0)
