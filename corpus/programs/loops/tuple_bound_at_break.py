"""A ball and the reason why it stopped, in one tuple.

exercises: a tuple first bound at a break or in the else of a tensor while
rows: 18, 25, 82
"""

import paddle


def roll(x, v, wall):
    while v.abs() > 0.1:
        x = x + v
        if x > wall:
            end = (wall, v)
            break
        v = v * 0.5
    else:
        end = (x, v * 0)
    return end


def build():
    return roll


def inputs():
    for v, wall in ((0.05, 2.0), (1.0, 2.0), (1.0, 1.2)):
        yield paddle.to_tensor(0.0), paddle.to_tensor(v), paddle.to_tensor(wall)
