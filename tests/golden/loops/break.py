def f(x):
    while x < 9:
        if x == 5:
            break
        x = x + 1
    return x
