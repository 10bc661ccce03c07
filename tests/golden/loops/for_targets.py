def f(pairs):
    total = 0
    for i, (a, b) in enumerate(pairs):
        total = total + i * a - b
    return total
