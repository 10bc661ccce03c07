def f(x):
    n = 0
    while x.sum() < 100:
        t = x * 2
        x = t + 1
        n += 1
    return x, n
