def f(x, name):
    return f"{name!r}: {x:.3f} of {x.shape}, {'a' if x > 0 else 'b':>{len(name)}}"
