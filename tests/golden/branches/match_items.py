def f(x, spec):
    match spec:
        case ["shift", 0, *rest] if x.sum() > 0:
            y = x + len(rest)
        case {"scale": k}:
            y = x * k
        case 1:
            y = -x
        case [only]:
            y = x - only
    return y
