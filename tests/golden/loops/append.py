def f(x, n):
    outs = []
    for i in range(n):
        x = x * 2
        outs.append(x)
    return paddle.stack(outs)
