"""The second and the second last state of a chain.

exercises: grown list indexed by an int and by a negative int; IndexError on a short list
rows: 74
"""

import paddle

RAISES = {2: IndexError}


def ends(x, steps):
    states = []
    for _ in range(steps):
        x = x * 0.5 + 1
        states.append(x)
    return states[1] + states[-2]


def build():
    return ends


def inputs():
    for steps in (4, 2, 1, 3):
        yield paddle.to_tensor([1.0, 2.0]), paddle.to_tensor(steps)
