def f(x):
    print("x", x)
    if x.sum() > 0:
        print(f"positive {x}", end="")
    return x
