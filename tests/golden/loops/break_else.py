def f(xs, limit):
    for x in xs:
        if x > limit:
            found = x
            break
    else:
        found = limit
    return found
