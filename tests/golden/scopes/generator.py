def f(xs):
    for x in xs:
        if x.sum() > 0:
            yield x
        else:
            yield -x if x else not x
