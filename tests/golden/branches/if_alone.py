def f(x, flag):
    y = x
    if flag:
        y = y * 2
    return y
