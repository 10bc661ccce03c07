"""How many sorts of stages were used until the signal was large.

exercises: a Python set added to in a Python loop with a tensor break; its length after the loop
rows: 31, 39
"""

import paddle


def stages(x, bound):
    used = set()
    for factor in (0.5, 3.0, 0.5, 2.0):
        used.add(factor)
        x = x * factor
        if x.max() > bound:
            break
    return x, len(used)


def build():
    return stages


def inputs():
    for bound in (0.1, 1.5, 99.0):
        yield paddle.to_tensor([1.0, 0.5]), paddle.to_tensor(bound)
