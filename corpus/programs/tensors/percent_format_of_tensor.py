"""A line of a log in the old style of formatting.

exercises: percent formatting and str.format of a tensor, in print
rows: 71
"""

import paddle

ASSERT_STDOUT = True


def logged(step, loss):
    print("step %d: loss %.3f" % (step, loss))  # noqa: UP031
    if loss > 1:
        print("high: {:.1f}".format(loss.item()))  # noqa: UP032
    return loss * 2


def build():
    return logged


def inputs():
    yield paddle.to_tensor(1), paddle.to_tensor(2.5)
    yield paddle.to_tensor(20), paddle.to_tensor(0.5)
