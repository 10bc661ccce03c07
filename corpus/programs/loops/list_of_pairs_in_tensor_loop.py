"""A system of springs, each of which pulls in every step.

exercises: for over a list of tuples inside a range with a tensor bound; state in a list
rows: 26, 31
"""

import paddle


def relax(x, y, z, steps):
    nodes = [x, y, z]
    springs = [(0, 1, 0.5), (1, 2, 0.25)]
    for _ in range(steps):
        for a, b, strength in springs:
            pull = strength * (nodes[b] - nodes[a])
            nodes[a] = nodes[a] + pull
            nodes[b] = nodes[b] - pull
    return nodes


def build():
    return relax


def inputs():
    for steps in (0, 1, 3):
        x, y, z = (paddle.to_tensor([v, -v]) for v in (0.0, 1.0, 4.0))
        yield x, y, z, paddle.to_tensor(steps)
