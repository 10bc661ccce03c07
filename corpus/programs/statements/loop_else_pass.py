"""Loops whose else does nothing, or only counts.

exercises: while/else and for/else with pass, and with a statement; empty bodies
rows: 18, 36
"""

import paddle


def counted(x, n):
    while x > 4:
        x = x / 2
    else:
        pass
    for _ in range(n):
        if x > 3:
            break
        x = x + 1
    else:
        x = x * 10
    for _ in range(2):
        pass
    return x


def build():
    return counted


def inputs():
    for x in (1.0, 3.5, 30.0):
        for n in (0, 1, 3):
            yield paddle.to_tensor(x), paddle.to_tensor(n)
