"""Steps that bind the loop variable by a default.

exercises: lambda with defaults, star arguments and closures; late and early binding
rows: 50
"""

import paddle


def steps(x):
    early = [lambda v, k=i: v * k + 1 for i in range(3)]
    late = [lambda v: v + i for i in range(3)]  # noqa: B023
    both = lambda *vs, scale=2.0: sum(vs) * scale  # noqa: E731
    pick = lambda v: v if v.sum() > 0 else -v  # noqa: E731
    y = x
    for f in early:
        y = f(y)
    return pick(y), late[0](x), both(x, y), both(x, scale=0.5)


def build():
    return steps


def inputs():
    yield (paddle.to_tensor([1.0, 2.0]),)
    yield (paddle.to_tensor([-4.0, -2.0]),)
