def f(a, b, c):
    return 0 <= a() < b[0] != c.d <= a()
