"""Write borders into a batch of images.

exercises: item assignment with an ellipsis, with None and over several axes; a negative step read
rows: 87
"""

import paddle


def frame(images, value):
    y = images * 1
    y[..., 0] = 0.0
    y[:, -1, :] = value
    y[0, ..., 1:] = 9.0
    z = y[:, None, ..., ::-1] * 2
    y[...] = y - z[:, 0]
    return y, z


def build():
    return frame


def inputs():
    images = paddle.arange(12, dtype="float32").reshape([2, 2, 3])
    yield images, paddle.to_tensor(5.0)
    yield -images, paddle.to_tensor([1.0, 2.0, 3.0])
