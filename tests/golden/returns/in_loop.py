def f(xs, limit):
    for x in xs:
        if x > limit:
            return x
    return None
