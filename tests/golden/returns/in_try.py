def f(x):
    try:
        if x.sum() > 0:
            return x
        x = x + 1
    except ValueError:
        return -x
    finally:
        print("done")
    return x * 2
