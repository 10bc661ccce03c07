def f(n):
    for i in range(n):
        j = 0
        while j < i:
            if i * j == 6:
                return i, j
            j = j + 1
    return ()
