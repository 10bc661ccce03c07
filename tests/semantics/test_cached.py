"""Functions under ``functools.cache``, whose memory outlives every program."""

from __future__ import annotations

import functools

import paddle

import d2s
from tests.helpers import assert_same


@functools.cache
def triangle(n):
    return paddle.tril(paddle.ones([n, n])) / n


@functools.cache
def scaled(x, factor):
    return x * factor


def masked(x):
    y = x * triangle(x.shape[0])
    if y.sum() > 0:
        y = y + triangle(2).sum()
    return y


def doubled(x):
    return scaled(x, 2.0) + scaled(x, 2.0)


def test_tensors_of_a_program_are_not_kept() -> None:
    """A3: what a cached function has made in a capture is a tensor for whoever asks next."""
    triangle.cache_clear()
    x = paddle.ones([3, 3])
    converted = d2s.to_static(masked)
    converted(x)
    assert triangle(3).numpy().tolist() == triangle.__wrapped__(3).numpy().tolist()
    assert_same(masked, x, -x, static=converted)


def test_tensors_as_arguments_find_nothing() -> None:
    """A3: a cached function of a tensor is computed in the program, with its gradient."""
    assert_same(doubled, paddle.to_tensor([1.0, 2.0]), paddle.to_tensor([3.0, 2.0]))
