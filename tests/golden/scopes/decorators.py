@decorate
@decorate
def f(x):
    @decorate
    def inner(y=x):
        if y.sum() > 0:
            return y
        return -y

    return inner(x)
