"""A weight bound in one of three arms is used in an expression further down.

exercises: name bound in some arms of an elif chain; UnboundLocalError in an expression
rows: 3
"""

import paddle

RAISES = {2: UnboundLocalError}


def weigh(score, level):
    if level > 2:
        weight = 2.0
    elif level > 1:
        weight = score.mean()
    else:
        pass
    total = score.sum()
    result = total * weight
    return result


def build():
    return weigh


def inputs():
    score = paddle.to_tensor([1.0, 3.0])
    yield score, paddle.to_tensor(3)
    yield score, paddle.to_tensor(2)
    yield score, paddle.to_tensor(1)
    yield score * 2, paddle.to_tensor(2)
