def f(x, n):
    s = x
    for i in range(n):
        s = s + x * i
    return s
