def f(xs):
    s = 0
    for x in xs:
        if x < 0:
            continue
        s = s + x
        if s > 10:
            continue
        s = s * 2
    return s
