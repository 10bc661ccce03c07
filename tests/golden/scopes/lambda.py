def f(x):
    g = lambda y, k=2: y * k if y.sum() > 0 else not y
    return sorted([x], key=lambda v: v[0] and v[1])[0] + g(x)
