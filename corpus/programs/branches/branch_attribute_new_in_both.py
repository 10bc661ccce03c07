"""Both sides create the attribute that later code reads.

exercises: attribute newly created in both branches
rows: 84
"""

import paddle


class Holder:
    pass


def hold(x):
    holder = Holder()
    if x.sum() > 0:
        holder.scale = x.max()
        holder.sign = 1
    else:
        holder.scale = -x.min()
        holder.sign = -1
    return x / holder.scale, holder.sign


def build():
    return hold


def inputs():
    for x in ([1.0, 2.0], [-1.0, -4.0], [3.0, 1.0]):
        yield (paddle.to_tensor(x),)
