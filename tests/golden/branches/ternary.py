def f(x):
    return x + 1 if x.sum() > 0 else 0 if x is None else -x
