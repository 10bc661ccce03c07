def f(xs, k):
    kept = [x * k for x in xs if x.sum() > 0 and k]
    return kept, {i: helper(x) for i, x in enumerate(xs)}, any(x > 0 for x in xs)
