"""A loss that is reported by .item() and not used otherwise.

exercises: item() in print only, plain and in an f-string, in a branch
rows: 72
"""

import paddle

ASSERT_STDOUT = True


def reported(x):
    loss = (x * x).mean()
    print("loss", loss.item())
    if loss > 1:
        print(f"large: {loss.item():.2f}")
    return loss


def build():
    return reported


def inputs():
    yield (paddle.to_tensor([1.0, 2.0]),)
    yield (paddle.to_tensor([0.5, 0.25]),)
