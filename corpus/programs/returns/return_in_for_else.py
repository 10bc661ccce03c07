"""The first window that is quiet, or the mean when the else finds that none was.

exercises: tensor break in a python loop; return in the else of the for
rows: 36, 43
"""

import paddle


def quiet_window(windows, bound):
    for window in windows:
        if window.std() < bound:
            chosen = window * 2
            break
    else:
        return sum(windows) / len(windows)
    return chosen - chosen.mean()


def build():
    return quiet_window


def inputs():
    x = paddle.to_tensor([1.0, 2.0, 4.0])
    for bound in (5.0, 1.0, 0.1):
        yield [x, x * 0.5], paddle.to_tensor(bound)
