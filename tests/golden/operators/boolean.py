def f(a, b, xs):
    if not a or 0 < b < 3 and a in xs and b not in xs:
        return a and b
    c = a
    return c is None or c is a
