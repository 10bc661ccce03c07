"""The same on one side of a branch, in eval mode."""

import paddle


class Embedder(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.table = paddle.nn.Embedding(10, 4)

    def forward(self, tokens):
        if tokens.sum() > 0:
            vectors = self.table(tokens)  # <- fails
        else:
            vectors = paddle.zeros([1, 3, 4])
        return vectors.mean()


def main(to_static):
    model = Embedder()
    model.eval()
    static = to_static(model)
    static(paddle.to_tensor([[1, 2, 3]]))
    static(paddle.to_tensor([[1, 2, 11]]))
