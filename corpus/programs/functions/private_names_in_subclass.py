"""Parent and child both have a private attribute of the same name, which are two attributes.

exercises: private names in a subclass; both classes assign in a tensor branch
rows: 95
"""

import paddle


class Parent:
    def __init__(self):
        self.__count = paddle.zeros([])

    def step(self, x):
        if x.sum() > 0:
            self.__count = self.__count + 1
        return x * (self.__count + 1)


class Child(Parent):
    def __init__(self):
        super().__init__()
        self.__count = paddle.full([], 10.0)

    def step(self, x):
        y = super().step(x)
        if y.max() > 1:
            self.__count = self.__count - 1
        return y + self.__count


OBJECT = Child()


def run(x):
    return OBJECT.step(x)


def reset(index):
    if index == 0:
        OBJECT.__init__()


BEFORE = reset
OBSERVED = lambda: (OBJECT._Parent__count, OBJECT._Child__count)  # noqa: E731


def build():
    return run


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield (x,)
    yield (-x,)
    yield (x * 0.1,)
