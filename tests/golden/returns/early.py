def f(x):
    """Docstring."""
    if x.sum() > 0:
        return x
    y = x * 2
    if y.min() < -5:
        if y.max() > 5:
            return None
        y = y + 1
        return y
    return y - 1
