def f(x):
    while True:
        x = x * 2
        if x.sum() > 30:
            break
        x = x + 1
    return x
