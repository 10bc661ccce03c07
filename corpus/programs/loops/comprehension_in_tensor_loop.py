"""Several signals that are damped together until all are small.

exercises: list comprehension over Python values inside a tensor while; dict comprehension
rows: 17, 48
"""

import paddle


def damp(parts, rate, bound):
    total = paddle.add_n([p.abs() for p in parts])
    while total > bound:
        parts = [p * rate if k % 2 else p * 0.5 for k, p in enumerate(parts)]
        total = paddle.add_n([p.abs() for p in parts])
    named = {f"part{k}": p for k, p in enumerate(parts)}
    return parts, named


def build():
    return damp


def inputs():
    for bound in (99.0, 3.0, 0.5):
        parts = [paddle.to_tensor(v) for v in (1.0, -2.0, 3.0)]
        yield parts, paddle.to_tensor(0.7), paddle.to_tensor(bound)
