"""A progress line that is returned to the caller.

exercises: f-string of tensor values with a format, str(), percent and format() returned as text
rows: 71
"""

import paddle

GRAD = False  # a text is returned


def progress(step, loss):
    if loss > 1:
        word = "high"
    else:
        word = "low"
    line = f"step {int(step):03d}: loss {float(loss):.3f} ({word})"
    return line, f"{loss:.2f}", "%.1f" % loss, "at {}".format(int(step))  # noqa: UP031, UP032


def build():
    return progress


def inputs():
    yield paddle.to_tensor(1), paddle.to_tensor(2.5)
    yield paddle.to_tensor(20), paddle.to_tensor(0.5)
