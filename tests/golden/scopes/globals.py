def f(x):
    global counter
    if x.sum() > 0:
        counter = counter + 1
    return counter
