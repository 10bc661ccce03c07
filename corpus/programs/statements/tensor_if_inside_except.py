"""A fallback that itself looks at the data.

exercises: tensor if inside an except handler and inside else
rows: 58
"""

import paddle


def parse(text, x):
    try:
        scale = float(text)
    except ValueError:
        if x.sum() > 0:
            scale = 2.0
        else:
            scale = 4.0
    else:
        if x[0] > 0:
            scale = scale + 1
    return x * scale


def build():
    return parse


def inputs():
    for x in ([1.0, 2.0], [-1.0, -2.0]):
        yield "1.5", paddle.to_tensor(x)
        yield "none", paddle.to_tensor(x)
