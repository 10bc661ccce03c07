"""The example of README.md: a loop and a branch that tensors decide, and their gradients."""

import paddle

import d2s


class Shrink(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.linear = paddle.nn.Linear(8, 8)

    @d2s.to_static
    def forward(self, x):
        y = 50 * self.linear(x)
        while y.abs().max() > 1:  # one loop in the program
            y = y * 0.9
        if y.mean() > 0:  # both sides are in the program, one of them runs
            loss = (y - x).square().mean()
        else:
            loss = (y + x).square().mean()
        return loss


model = Shrink()

if __name__ == "__main__":
    sgd = paddle.optimizer.SGD(0.1, parameters=model.parameters())
    x = paddle.randn([16, 8])
    for _ in range(20):
        loss = model(x)
        loss.backward()  # through the loop and the branch that ran
        sgd.step()
        sgd.clear_grad()
    print(float(loss))
    print(d2s.code(model.forward))  # what the function was rewritten to
