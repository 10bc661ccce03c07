"""A register machine whose loop writes a slot of a list.

exercises: for slots[0] in a tensor; for d["k"] in a list
rows: 27, 31
"""

import paddle


def machine(values, steps):
    slots = [None, paddle.zeros([])]
    for slots[0] in values:
        if slots[0] > 1:
            slots[1] = slots[1] + slots[0]
    named = {}
    for named["last"] in steps:
        slots[1] = slots[1] * named["last"]
    return slots[1], named


def build():
    return machine


def inputs():
    for v in (0.5, 2.0):
        yield paddle.to_tensor([1.0, v, 3.0]), [paddle.to_tensor(v), paddle.to_tensor(1.5)]
