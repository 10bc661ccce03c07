def f(x, code, phase):
    match code, phase:
        case 0 | -1, None:
            y = x * 2
        case paddle.Tensor() as shift, _ if shift > 3:
            y = x + shift
        case int(n), "late":
            y = x * n
        case other, _:
            return x - other
    return y
