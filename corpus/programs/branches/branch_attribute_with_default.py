"""An attribute that a branch may have created is read with a default.

exercises: attribute newly created in one branch; getattr with a default afterwards
rows: 84
"""

import paddle


class Options:
    pass


def scaled_by_option(x):
    options = Options()
    if x.sum() > 0:
        options.scale = x.max()
    return x * getattr(options, "scale", 3.0)


def build():
    return scaled_by_option


def inputs():
    for x in ([1.0, 2.0], [-1.0, -2.0], [3.0, 2.0]):
        yield (paddle.to_tensor(x),)
