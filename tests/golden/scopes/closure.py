def f(x):
    k = 1

    def scaled(y):
        nonlocal k
        if y.sum() > 0:
            k = k + 1
        return y * k

    if x.max() > 1:
        k = 5
    return scaled(x)
