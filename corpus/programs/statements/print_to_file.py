"""A report written to a text stream of the caller.

exercises: print with file= and flush=, at top level and in both branches
rows: 62
"""

import io

import paddle

REPORT = io.StringIO()
OBSERVED = lambda: REPORT.getvalue()  # noqa: E731


def BEFORE(index):  # noqa: N802
    REPORT.seek(0)
    REPORT.truncate()


def reported(x):
    y = x * 2
    print("sum", y.sum(), file=REPORT)
    if y.sum() > 0:
        print("positive", file=REPORT, flush=True)
    else:
        print("negative", file=REPORT)
    return y


def build():
    return reported


def inputs():
    yield (paddle.to_tensor([1.0, 2.0]),)
    yield (paddle.to_tensor([-1.0, -2.0]),)
