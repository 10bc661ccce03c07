"""A token is not in the vocabulary."""

import paddle


class Embedder(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.table = paddle.nn.Embedding(10, 4)

    def forward(self, tokens):
        vectors = self.table(tokens)  # <- fails
        return vectors.mean(axis=1)


def main(to_static):
    static = to_static(Embedder())
    static(paddle.to_tensor([[1, 2, 3]]))
    static(paddle.to_tensor([[1, 12, 3]]))
