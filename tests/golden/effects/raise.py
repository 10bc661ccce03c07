def f(x):
    if x.sum() < 0:
        raise ValueError("negative", x) from None
    elif x.sum() == 0:
        raise ZeroDivisionError
    try:
        return 1 / x
    except ZeroDivisionError as error:
        raise KeyError("k") from error
