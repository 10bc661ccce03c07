"""A plain object with __call__ that counts its large inputs.

exercises: callable object called in the function; its attributes change in a tensor branch
rows: 85
"""

import paddle


class Clip:
    def __init__(self):
        self.clipped = paddle.zeros([])

    def __call__(self, x):
        if x.abs().max() > 1:
            self.clipped = self.clipped + 1
            return x.clip(-1, 1)
        return x


clip = Clip()
OBSERVED = lambda: clip.clipped  # noqa: E731


def forward(x):
    return clip(clip(x) * 3)


def build():
    clip.clipped = paddle.zeros([])
    return forward


def inputs():
    for value in (0.1, 0.5, 5.0):
        yield (paddle.to_tensor([value, 0.05]),)
