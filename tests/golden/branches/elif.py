def f(x, k):
    if k == 0:
        y = x
    elif k == 1:
        y = x * 2
    elif k == 2:
        y = x * 3
    else:
        y = -x
    return y
