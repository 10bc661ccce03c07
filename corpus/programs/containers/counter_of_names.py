"""How often each kind of layer occurs decides its weight.

exercises: collections.Counter of Python strings; most_common; tensor branch in the loop over it
rows: 31
"""

from collections import Counter

import paddle


def weigh(x, kinds):
    counts = Counter(kinds)
    for kind, n in counts.most_common():
        if x.sum() > 1:
            x = x / n
        else:
            x = x + len(kind)
    return x, counts["conv"], counts["missing"], dict(counts)


def build():
    return weigh


def inputs():
    for sign in (1.0, -1.0):
        yield paddle.to_tensor([1.0, 2.0]) * sign, ["conv", "norm", "conv"]
