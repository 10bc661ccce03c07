def f(x):
    n = 0
    while x > 1 and (n := n + 1) < 5:
        if x > 9:
            continue
        x = x / 2
    else:
        x = -x
    return x, n
