def f(x, table, net, i):
    x[i] = 0
    x[1:, i + 1] += 2
    table["k"] = net.h = x
    if x.sum() > 0:
        net.h = net.h * 2
        table["k"] = x
    return x
