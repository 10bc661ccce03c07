"""A logarithm with a fallback, every way out being a return inside the try statement.

exercises: return in try, in except and in else; raise in a tensor branch that the except catches
rows: 46, 60
"""

import paddle


def positive(x):
    if x.min() <= 0:
        raise ValueError("not positive")
    return x


def safe_log(x):
    try:
        checked = positive(x)
    except ValueError:
        return paddle.log1p(x.abs())
    else:
        if checked.max() > 10:
            return paddle.log(checked) / 2
    return paddle.log(checked)


def build():
    return safe_log


def inputs():
    yield (paddle.to_tensor([1.0, 2.0]),)
    yield (paddle.to_tensor([1.0, 20.0]),)
    yield (paddle.to_tensor([-1.0, 2.0]),)
