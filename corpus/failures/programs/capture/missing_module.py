"""A function imports a module that is not there."""

import paddle


def plotted(x):
    y = x * 2
    import seaborn_of_the_future  # <- fails

    seaborn_of_the_future.plot(y)
    return y


def main(to_static):
    to_static(plotted)(paddle.ones([2]))
