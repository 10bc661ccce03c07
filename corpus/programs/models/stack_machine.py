"""A calculator for postfix programs: numbers are pushed, operators pop.

exercises: list pop and append in a tensor loop; elif chain in a loop; index of the last item;
    len of the list
rows: 1, 27, 74, 75, 76
"""

import paddle

ADD, MULTIPLY = -1.0, -2.0


def evaluate(program):
    stack = []
    for word in program:
        if word == ADD:
            right = stack.pop()
            left = stack.pop()
            stack.append(left + right)
        elif word == MULTIPLY:
            stack[-2] = stack[-2] * stack[-1]
            stack.pop()
        else:
            stack.append(word)
    return stack[-1], len(stack)


def build():
    return evaluate


def inputs():
    yield (paddle.to_tensor([2.0, 3.0, ADD, 4.0, MULTIPLY]),)
    yield (paddle.to_tensor([2.0, 3.0, 4.0, MULTIPLY, ADD]),)
    yield (paddle.to_tensor([2.0, 3.0, 4.0, 5.0, 6.0]),)
