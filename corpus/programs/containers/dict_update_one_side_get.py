"""The override of a step, or the step itself where there is none.

exercises: dict.update in one tensor branch; get with a default returned as it is
rows: 80
"""

import paddle


def chosen(x):
    overrides = {}
    if x.sum() > 0:
        overrides.update(step=x * 2)
    return overrides.get("step", x)


def build():
    return chosen


def inputs():
    for sign in (1.0, -1.0):
        yield (paddle.to_tensor([1.0, 2.0]) * sign,)
