"""A text of many lines stands in front of the place."""

import paddle


def described(x):
    note = """
if x:
    def f(): pass
        # <- not here
"""
    if x.sum() > 0:
        x = x + len(note).missing  # <- fails
    return x


def main(to_static):
    to_static(described)(paddle.ones([2]))
