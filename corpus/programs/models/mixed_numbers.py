"""A learning-rate schedule that mixes Python numbers, tensors and strings over its branches.

exercises: python int against tensor in branches; python number from a branch; string from a
    branch; None default merged
rows: 4, 5, 6, 23
"""

import paddle


def schedule(step, base):
    rate = 0
    phase = None
    if step < 10:
        rate = base * step / 10
        phase = "warm-up"
    elif step < 100:
        rate = base
        phase = "plateau"
    if step >= 100:
        rate = 0.001
    return rate, phase


def build():
    return schedule


def inputs():
    for step in (5, 50, 500, 10):
        yield paddle.to_tensor(step), paddle.to_tensor(0.1)
