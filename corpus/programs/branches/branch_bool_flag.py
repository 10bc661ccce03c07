"""A Python flag set in a branch steers later branches and is returned.

exercises: bool constants in branches; not flag; flag and flag; flag returned
rows: 1
"""

import paddle


def relax(x, tolerance):
    done = False
    moved = True
    if x.abs().max() < tolerance:
        done = True
        moved = False
    if not done and moved:
        x = x * 0.5
    if done:
        x = x + 1
    return x, done, not moved


def build():
    return relax


def inputs():
    tolerance = paddle.to_tensor(1.0)
    for x in ([0.5, -0.5], [3.0, 0.5], [0.1, 0.2]):
        yield paddle.to_tensor(x), tolerance
