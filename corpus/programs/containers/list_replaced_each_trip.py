"""A tiny beam: each trip replaces the list of hypotheses by better ones.

exercises: list rebound to a comprehension of the same length in a tensor loop
rows: 76
"""

import paddle


def refine(x, goal):
    beam = [x, x + 0.5, x - 0.5]
    while max(b.sum() for b in beam) < goal:
        beam = [b * 1.5 + 0.1 * i for i, b in enumerate(beam)]
    return beam


def build():
    return refine


def inputs():
    for goal in (9.0, 0.1, 5.0):
        yield paddle.to_tensor([1.0, 0.5]), paddle.to_tensor(goal)
