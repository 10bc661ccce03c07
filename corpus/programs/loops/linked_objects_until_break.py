"""Walk along a linked list of objects until a value is too large.

exercises: while node over objects with a next attribute, with a tensor break and else
rows: 18, 31, 39
"""

import paddle


class Node:
    def __init__(self, value, next=None):
        self.value = value
        self.next = next


def walk(x, bound):
    node = Node(x, Node(x * 2, Node(x * 3)))
    total = paddle.zeros([])
    while node:
        if node.value > bound:
            break
        total = total + node.value
        node = node.next
    else:
        total = total + 100
    return total


def build():
    return walk


def inputs():
    for bound in (0.5, 2.5, 99.0):
        yield paddle.to_tensor(1.0), paddle.to_tensor(bound)
