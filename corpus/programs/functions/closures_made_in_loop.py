"""A list of functions made in a loop: late binding for one, a default for the other.

exercises: lambdas made in a python loop; late binding; default argument binds early
rows: 50, 52
"""

import paddle


def polynomials(x):
    late, early = [], []
    for power in range(1, 4):
        late.append(lambda t: t**power if t.sum() > 0 else t)  # noqa: B023
        early.append(lambda t, p=power: t**p if t.sum() > 0 else t * p)
    return sum(fn(x) for fn in late), sum(fn(x) for fn in early)


def build():
    return polynomials


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield (x,)
    yield (-x,)
