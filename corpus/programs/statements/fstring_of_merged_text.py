"""A text that a branch picked goes into further texts.

exercises: a string merged by a tensor branch used in an f-string, a comparison and a dict lookup
rows: 6
"""

import paddle

SCALES = {"up": 2.0, "down": 0.5}


def directed(x):
    if x.sum() > 0:
        word = "up"
    else:
        word = "down"
    if word == "up":
        x = x + 1
    return x * SCALES[word], f"<{word}>", word.upper(), len(word)


def build():
    return directed


def inputs():
    yield (paddle.to_tensor([1.0, 2.0]),)
    yield (paddle.to_tensor([-1.0, -2.0]),)
