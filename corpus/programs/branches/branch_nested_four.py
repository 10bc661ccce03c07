"""A decision tree of depth four over four features.

exercises: if nested four deep; names bound at every depth; a leaf without else
rows: 1
"""

import paddle


def decide(x):
    a, b, c, d = x
    score = a + b
    if a > 0:
        path = 1
        if b > 0:
            path = path * 10 + 1
            if c > 0:
                path = path * 10 + 1
                if d > 0:
                    score = score * c * d
                    path = path * 10 + 1
            else:
                score = score - c
        else:
            score = score / b
    else:
        path = 2
        if d > 0:
            score = score + d
    return score, path


def build():
    return decide


def inputs():
    signs = ("++++", "+++-", "++-+", "+-++", "-+++", "----")
    for row in signs:
        values = [(i + 1) * (1.0 if sign == "+" else -1.0) for i, sign in enumerate(row)]
        yield (paddle.to_tensor(values),)
