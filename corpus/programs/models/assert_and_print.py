"""A step of a training loop that reports and refuses bad losses.

exercises: assert with a message under a tensor condition; raise in a branch; print of a tensor
    and of text in a branch
rows: 59, 61, 62
"""

import paddle

ASSERT_STDOUT = True
RAISES = {2: AssertionError, 3: ValueError, 4: AssertionError}


def check(loss, previous, strict):
    if loss > previous:
        print("worse by", loss - previous)
        if strict > 0:
            raise ValueError("the loss must not grow")
    else:
        print("better", end="\n\n")
        assert loss > 0, "the loss must stay positive"
    assert previous < 100
    return loss * 2


def build():
    return check


def inputs():
    no, yes = paddle.to_tensor(0), paddle.to_tensor(1)
    yield paddle.to_tensor(3.0), paddle.to_tensor(2.0), no
    yield paddle.to_tensor(1.0), paddle.to_tensor(2.0), yes
    yield paddle.to_tensor(-1.0), paddle.to_tensor(2.0), no
    yield paddle.to_tensor(3.0), paddle.to_tensor(2.0), yes
    yield paddle.to_tensor(100.0), paddle.to_tensor(100.0), no
    yield paddle.to_tensor(1.5), paddle.to_tensor(2.0), no
