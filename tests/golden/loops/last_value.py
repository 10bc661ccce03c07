def f(xs):
    for x in xs:
        last = x
    return last, x
