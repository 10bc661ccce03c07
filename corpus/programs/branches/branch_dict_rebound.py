"""Statistics in a dict that each side builds anew.

exercises: dict rebound in both branches; nested dict; keys read afterwards
rows: 79
"""

import paddle


def statistics(x, robust):
    if robust > 0:
        stats = {"centre": x.median(), "spread": {"low": x.min(), "high": x.max()}}
    else:
        stats = {"centre": x.mean(), "spread": {"low": x.mean() - 1, "high": x.mean() + 1}}
    width = stats["spread"]["high"] - stats["spread"]["low"]
    return stats, (x - stats["centre"]) / width


def build():
    return statistics


def inputs():
    x = paddle.to_tensor([1.0, 2.0, 6.0])
    for robust in (1, 0, 2):
        yield x, paddle.to_tensor(robust)
