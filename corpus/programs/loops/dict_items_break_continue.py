"""Find the first metric that fails; metrics that are switched off do not count.

exercises: break and continue in dict.items() decided by tensors
rows: 31, 39
"""

import paddle


def total_until_failure(metrics, limits):
    total = paddle.zeros([])
    for name, value in metrics.items():
        if limits[name] < 0:
            continue
        if value > limits[name]:
            total = total - value
            break
        total = total + value
    return total


def build():
    return total_until_failure


def inputs():
    for a, b, c in ((1.0, 5.0, 1.0), (1.0, 1.0, 1.0), (5.0, 1.0, 1.0), (1.0, 1.0, 7.0)):
        metrics = {
            "loss": paddle.to_tensor(a),
            "error": paddle.to_tensor(b),
            "drift": paddle.to_tensor(c),
        }
        limits = {
            "loss": paddle.to_tensor(2.0),
            "error": paddle.to_tensor(2.0 if a < 4 else -1.0),
            "drift": paddle.to_tensor(3.0),
        }
        yield metrics, limits
