"""A report to the standard output, named as the file.

exercises: print with file=sys.stdout in a branch, the stream looked up in each call; stderr
rows: 62
"""

import sys

import paddle

ASSERT_STDOUT = True


def reported(x):
    y = x * 2
    if y.sum() > 0:
        print("positive", y.sum(), file=sys.stdout, flush=True)
    else:
        print("not shown", file=sys.stderr)
        print("negative", file=sys.stdout)
    return y


def build():
    return reported


def inputs():
    yield (paddle.to_tensor([1.0, 2.0]),)
    yield (paddle.to_tensor([-1.0, -2.0]),)
