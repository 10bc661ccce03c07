"""An attribute exists only where a branch created it; hasattr asks for it.

exercises: attribute newly created in one branch; hasattr afterwards
rows: 84
"""

import paddle


class Holder:
    pass


def hold_maybe(x):
    holder = Holder()
    if x.sum() > 0:
        holder.scale = x.max()
    y = x * 3
    if hasattr(holder, "scale"):
        y = y + holder.scale
    return y


def build():
    return hold_maybe


def inputs():
    for x in ([1.0, 2.0], [-1.0, -2.0], [3.0, 2.0]):
        yield (paddle.to_tensor(x),)
