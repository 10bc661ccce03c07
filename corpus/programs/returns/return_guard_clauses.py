"""Guard clauses leave early, the rest of the function stands after them.

exercises: one early return after the other; work between the guards; no else
rows: 41
"""

import paddle


def normalise(x):
    if x.abs().max() < 1e-6:
        return x
    scale = x.abs().max()
    x = x / scale
    if x.mean() > 0.9:
        return x - x.mean()
    centred = x - x.mean()
    if centred.std() < 0.1:
        return centred
    return centred / centred.std()


def build():
    return normalise


def inputs():
    yield (paddle.to_tensor([0.0, 0.0, 0.0]),)
    yield (paddle.to_tensor([5.0, 5.0, 4.9]),)
    yield (paddle.to_tensor([1.0, 0.85, 0.8]),)
    yield (paddle.to_tensor([1.0, -2.0, 3.0]),)
