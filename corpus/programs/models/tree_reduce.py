"""Sum a tree of tensors whose leaves are clipped by a partial function.

exercises: recursion driven by python; functools.partial and map over a helper with a tensor if;
    nested lists as input
rows: 31, 55, 56
"""

import functools

import paddle


def clipped(x, most):
    if x.abs().max() > most:
        return x * 0.1
    return x


def reduce_tree(tree, clip):
    if isinstance(tree, paddle.Tensor):
        return clip(tree)
    parts = map(functools.partial(reduce_tree, clip=clip), tree)
    return sum(parts)


def tree_sum(tree):
    return reduce_tree(tree, functools.partial(clipped, most=3.0))


def build():
    return tree_sum


def inputs():
    small, large = paddle.to_tensor([1.0, 2.0]), paddle.to_tensor([4.0, -5.0])
    yield ([small, [large, small]],)
    yield ([large, [large * 2, small * 2]],)
    yield (small * 1,)
