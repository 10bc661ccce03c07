"""A Cholesky factor that is tried again with more jitter when a check inside fails.

exercises: raise in a tensor branch caught by the caller; try in a python loop; finally; return
    inside try
rows: 46, 58, 60
"""

import paddle

RAISES = {2: ArithmeticError}


def sqrt_checked(x):
    if x.min() <= 0:
        raise ArithmeticError("not positive")
    return paddle.sqrt(x)


def robust_sqrt(x):
    tried = 0
    for jitter in (0.0, 1.0):
        try:
            return sqrt_checked(x + jitter), tried
        except ArithmeticError:
            tried = tried + 1
    return sqrt_checked(x), tried


def build():
    return robust_sqrt


def inputs():
    yield (paddle.to_tensor([4.0, 9.0]),)
    yield (paddle.to_tensor([-0.5, 9.0]),)
    yield (paddle.to_tensor([-3.0, 9.0]),)
