def f(x, lock):
    with lock:
        if x.sum() > 0:
            return x
        x = x + 1
    return x * 2
