def f(x, n):
    for i in range(n):
        for j in range(i):
            if j == 2:
                break
            x = x + j
        while x.sum() > 9:
            x = x / 2
    return x
