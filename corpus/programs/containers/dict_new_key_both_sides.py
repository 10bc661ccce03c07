"""A diagnosis under a key that both sides of a branch create.

exercises: new key in both branches; key order of the result
rows: 79
"""

import paddle


def diagnose(x):
    report = {}
    if x.mean() > 0:
        report["level"] = x.max()
        report["low"] = x.min()
    else:
        report["level"] = x.min()
        report["low"] = x.min() * 2
    report["mean"] = x.mean()
    return report


def build():
    return diagnose


def inputs():
    yield (paddle.to_tensor([1.0, 2.0]),)
    yield (paddle.to_tensor([-1.0, -2.0]),)
