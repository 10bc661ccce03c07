"""Beam search over a bigram model until every beam is finished.

exercises: topk and gather; list of beams grown in a tensor loop; not over a reduction; grown
    list returned
rows: 10, 17, 22, 74, 75
"""

import paddle
from paddle import nn
from paddle.nn import functional as F

END = 0


class BeamSearch(nn.Layer):
    def __init__(self, words=6, width=2):
        super().__init__()
        self.words, self.width = words, width
        self.bigram = self.create_parameter(
            [words, words],
            # Each word prefers the one below it, so that every beam comes to END.
            default_initializer=nn.initializer.Assign(
                [[-0.7 * abs(j - i + 1) for j in range(words)] for i in range(words)]
            ),
        )

    def step(self, score, last, finished):
        grown = F.log_softmax(self.bigram[last])
        if finished.any():
            # A finished beam may only repeat the end token, at no cost.
            stay = F.one_hot(paddle.full([self.width], END, "int64"), self.words) * 1e3 - 1e3
            grown = paddle.where(finished.unsqueeze(-1), stay, grown)
        best, flat = paddle.topk((score.unsqueeze(-1) + grown).flatten(), self.width)
        return best, flat // self.words, flat % self.words

    def forward(self, start, limit):
        score = paddle.to_tensor([0.0] + [-1e3] * (self.width - 1))
        last = start.expand([self.width])
        beams = last.unsqueeze(0)
        parents = []
        finished = last == END
        t = paddle.zeros([], "int64")
        while not finished.all() and t < limit:
            score, parent, last = self.step(score, last, finished)
            parents.append(parent)
            beams = paddle.concat([beams.index_select(parent, axis=1), last.unsqueeze(0)])
            finished = paddle.logical_or(finished.gather(parent), last == END)
            t = t + 1
        return beams, score, parents, len(parents)


def build():
    return BeamSearch()


def inputs():
    for start, limit in ((3, 8), (5, 3), (0, 8), (2, 1)):
        yield paddle.to_tensor([start]), paddle.to_tensor(limit)
