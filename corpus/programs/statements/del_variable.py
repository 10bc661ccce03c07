"""Intermediate results freed by hand.

exercises: del of a variable, of two, of a list item, of a dict item, of a slice, of an attribute
rows: 64
"""

from types import SimpleNamespace

import paddle


def freed(x):
    big = x * 2
    small, other = big + 1, big - 1
    parts = [big, small, other, x]
    named = {"a": big, "b": small}
    box = SimpleNamespace(first=x, second=big)
    del big, other
    del parts[0], named["a"], box.first
    del parts[1:2]
    if small.sum() > 0:
        small = small * 2
    return small, parts, named, hasattr(box, "first"), len(parts)


def build():
    return freed


def inputs():
    yield (paddle.to_tensor([1.0, 2.0]),)
    yield (paddle.to_tensor([-1.0, -2.0]),)
