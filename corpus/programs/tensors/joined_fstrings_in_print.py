"""One line for a list of losses.

exercises: f-strings of tensors joined, added and kept in a variable before print
rows: 62, 71
"""

import paddle

ASSERT_STDOUT = True


def told(x):
    parts = [f"{x[i].item():.2f}" for i in range(2)]
    line = "losses: " + ", ".join(parts)
    print(line)
    if x.sum() > 1:
        title = f"total {x.sum().item():.1f}"
        print(title + "!")
    return x * 2


def build():
    return told


def inputs():
    yield (paddle.to_tensor([1.0, 2.0]),)
    yield (paddle.to_tensor([0.25, 0.125]),)
