def f(x):
    if x > 0:
        x = x + 1
        if x > 5:
            return x
        x = x + 2
    x = x + 3
    return x
