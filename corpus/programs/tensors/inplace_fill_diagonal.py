"""An attention mask filled in place.

exercises: masked_fill_, fill_diagonal_, tril, where, unsqueeze_, reshape_ in place
rows: 88
"""

import paddle


def masked(scores, causal):
    s = scores * 1
    s.fill_diagonal_(0.0)
    if causal > 0:
        s.masked_fill_(paddle.tril(paddle.ones([3, 3])) == 0, -100.0)
    s.unsqueeze_(0)
    s.reshape_([9])
    return paddle.where(s > -50, s, paddle.zeros_like(s))


def build():
    return masked


def inputs():
    scores = paddle.arange(9, dtype="float32").reshape([3, 3]) - 3
    for causal in (0, 1):
        yield scores, paddle.to_tensor(causal)
