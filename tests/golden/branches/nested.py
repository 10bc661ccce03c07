def f(x):
    if x.sum() > 0:
        if x.max() > 1:
            y = x
        else:
            y = x / 2
        z = y
    else:
        z = y = x
    return z + y
