"""The best of named scores: max over tuples with a key.

exercises: max with key over tuples of a tensor and a string
rows: 15
"""

import paddle


def winner(scores):
    pairs = [(score * 2, f"head {i}") for i, score in enumerate(scores)]
    top, name = max(pairs, key=lambda pair: pair[0])
    return top + 1, name


def build():
    return winner


def inputs():
    for row in ((1.0, 5.0), (9.0, 2.5), (2.0, 2.0)):
        yield ([paddle.to_tensor(v) for v in row],)
