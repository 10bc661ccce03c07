"""Three stages that each damp the signal to their own level.

exercises: tensor while inside a for over Python numbers; gradients
rows: 17, 31
"""

import paddle


def stages(x, rate):
    for level in (2.0, 1.0, 0.5):
        while x.abs().max() > level:
            x = x * rate
        x = x + 0.1
    return x


def build():
    return stages


def inputs():
    for start in (0.2, 1.5, 9.0):
        yield paddle.to_tensor([start, -start / 2]), paddle.to_tensor(0.7)
