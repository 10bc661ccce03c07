"""A NumPy array is the only argument and its values decide a Python condition.

exercises: NumPy argument used as NumPy; condition on its values in Python
rows: 91
"""

import numpy as np
import paddle

# The only argument is a NumPy array.
GRAD = False


def prepare(image):
    if image.max() > 1.0:
        image = image / 255.0
    x = paddle.to_tensor(image, dtype="float32")
    if x.mean() > 0.5:
        x = 1 - x
    return x


def build():
    return prepare


def inputs():
    yield (np.array([10.0, 200.0]),)
    yield (np.array([0.1, 0.2]),)
    yield (np.array([250.0, 200.0]),)
    yield (np.array([0.9, 0.8]),)
