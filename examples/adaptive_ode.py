"""Fit the parameters of a differential equation through an adaptive solver.

The solver (Bogacki-Shampine 3(2)) chooses its steps as it goes; the gradient goes back through
every step it has taken.

    python -m examples.adaptive_ode
"""

from __future__ import annotations

import paddle
from paddle import nn

import d2s


class Predators(nn.Layer):
    """Lotka and Volterra's hares and lynxes, with rates that can be learnt."""

    def __init__(self, rates):
        super().__init__()
        self.logs = self.create_parameter(
            [4], default_initializer=nn.initializer.Assign(paddle.log(paddle.to_tensor(rates)))
        )

    def slope(self, y):
        a, b, c, d = paddle.exp(self.logs)
        hares, lynxes = y[0], y[1]
        return paddle.stack([a * hares - b * hares * lynxes, c * hares * lynxes - d * lynxes])

    @d2s.to_static
    def forward(self, y, until, tolerance: float = 1e-4):
        """The state at ``until``, the steps taken and the steps thrown away."""
        t = paddle.zeros([])
        h = paddle.full([], 0.05)
        taken = thrown = 0
        k1 = self.slope(y)
        while t < until:
            h = paddle.minimum(h, until - t)
            k2 = self.slope(y + 0.5 * h * k1)
            k3 = self.slope(y + 0.75 * h * k2)
            new = y + h * (2 * k1 + 3 * k2 + 4 * k3) / 9
            k4 = self.slope(new)
            error = (h * (-5 * k1 / 72 + k2 / 12 + k3 / 9 - k4 / 8)).abs().max()
            if error <= tolerance:
                t, y, k1 = t + h, new, k4
                taken += 1
            else:
                thrown += 1
            factor = 0.9 * (tolerance / (error.detach() + 1e-12)) ** (1 / 3)
            h = h.detach() * paddle.clip(factor, 0.2, 3.0)
            assert taken + thrown < 10_000, "the solver does not get on"
        return y, taken, thrown


def main(steps=25):
    start = paddle.to_tensor([1.0, 1.0])
    times = [paddle.to_tensor(t) for t in (1.0, 2.5, 4.0)]
    truth = Predators([1.5, 1.0, 1.0, 3.0])
    seen = [truth(start, t)[0].detach() for t in times]
    model = Predators([1.2, 0.8, 1.1, 2.6])
    adam = paddle.optimizer.Adam(0.05, parameters=model.parameters())
    losses = []
    for number in range(steps):
        loss = 0.0
        for t, y in zip(times, seen, strict=True):
            found, taken, thrown = model(start, t)
            loss = loss + ((found - y) ** 2).sum()
        loss.backward()
        adam.step()
        adam.clear_grad()
        losses.append(float(loss))
        if number % 5 == 0:
            print(
                f"{number:>3}  loss {losses[-1]:.4f}  {int(taken)} steps, {int(thrown)} thrown away"
            )
    rates = paddle.exp(model.logs).tolist()
    print("rates", [round(rate, 2) for rate in rates])
    return losses, rates


if __name__ == "__main__":
    main()
