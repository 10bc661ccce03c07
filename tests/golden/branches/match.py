def f(x, kind):
    match kind:
        case "double" if x.sum() > 0:
            y = x * 2
        case {"scale": k, **rest}:
            y = x * k
        case _:
            y = x
    return y
