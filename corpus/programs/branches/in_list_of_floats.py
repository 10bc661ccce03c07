"""Is a setting one of the known ones? A 0-D tensor looked up in a list of floats.

exercises: `in` with a tensor and a list of Python floats, as a condition
rows: 14
"""

import paddle


def scaled(x, setting):
    if setting in [1.0, 2.0]:
        return x * 10
    return x - 1


def build():
    return scaled


def inputs():
    for setting in (2.0, 3.0, 1.0):
        yield paddle.to_tensor([1.0, 3.0]), paddle.to_tensor(setting)
