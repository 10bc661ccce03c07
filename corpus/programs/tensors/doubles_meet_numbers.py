"""Kepler's equation in double precision: a tenth is no float32.

exercises: float64 tensors that meet Python floats
rows: 70
"""

import paddle


def remainder_of_kepler(mean, guess):
    step = guess - 0.1 * paddle.sin(guess) - mean
    if step.abs().max() < 1.0:
        guess = guess - step / (1.0 - 0.1 * paddle.cos(guess))
    # What is left is about 1e-9, and of a tenth that was rounded to float32 1e-8: scaled up.
    return (guess * 0.7 - guess * 7.0 / 10.0) * 1e9, guess.clip(0.3, 0.9)


def build():
    return remainder_of_kepler


def inputs():
    yield (
        paddle.to_tensor([0.3, 0.7], dtype="float64"),
        paddle.to_tensor([0.35, 0.8], dtype="float64"),
    )
    yield (
        paddle.to_tensor([5.0, 0.7], dtype="float64"),
        paddle.to_tensor([0.5, 0.5], dtype="float64"),
    )
