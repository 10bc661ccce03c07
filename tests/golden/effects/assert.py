def f(x):
    assert x.sum() > 0
    assert x.max() > 1, f"small: {x}"
    return x
