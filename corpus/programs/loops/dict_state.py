"""A running mean and count in a dict.

exercises: dict items assigned in a for over a tensor, read after it; an int item too
rows: 27, 79
"""

import paddle


def statistics(values, bound):
    stats = {"mean": paddle.zeros([]), "count": 0, "name": "signal"}
    for v in values:
        if v.abs() > bound:
            continue
        stats["count"] += 1
        stats["mean"] = stats["mean"] + (v - stats["mean"]) / stats["count"]
    return stats


def build():
    return statistics


def inputs():
    for bound in (99.0, 2.5, 0.5):
        yield paddle.to_tensor([1.0, 2.0, -9.0, 3.0]), paddle.to_tensor(bound)
