"""A generator of random numbers whose multiplier is no float32.

exercises: integer tensors that meet large Python integers
rows: 70
"""

import paddle

GRAD = False  # integers have no gradient


def draw(seed, steps):
    drawn = []
    for _ in range(4):
        seed = (seed * 1103515245 + 12345) % 2147483648
        if seed % 2 == 0:
            seed = seed + 16777217
        drawn.append(seed)
    return paddle.stack(drawn) // steps, paddle.clip(seed, max=1000000007)


def build():
    return draw


def inputs():
    for seed in (1, 20240229, 2147483647):
        yield paddle.to_tensor(seed), paddle.to_tensor(3)
