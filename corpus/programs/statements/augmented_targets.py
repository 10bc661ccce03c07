"""Statistics kept in every kind of place.

exercises: augmented assignment to a name, an attribute, an item, an item of an attribute, a list
    in place; the target evaluated once
rows: 84
"""

from types import SimpleNamespace

import paddle


def gathered(x):
    box = SimpleNamespace(total=x * 1, parts=[x, x * 2])
    named = {"a": x}
    places = iter([0, 1])
    names = ["p"]
    box.total += 1
    box.parts[next(places)] *= 3
    named["a"] -= 0.5
    if x.sum() > 0:
        box.total -= x
        box.parts[1] += 10
        named["a"] **= 2
    names += ["q"]
    count = 7
    count //= 2
    count <<= 2
    return box.total, box.parts, named, names, count, next(places)


def build():
    return gathered


def inputs():
    yield (paddle.to_tensor([1.0, 2.0]),)
    yield (paddle.to_tensor([-1.0, -2.0]),)
