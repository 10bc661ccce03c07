"""Train a small convolutional network: one step, with its optimizer, is one program.

The pictures are made here: a bar across the picture, in one of four directions, under noise.  The
step skips batches whose loss is far from the usual one: labels that somebody has mixed up.

    python -m examples.cnn_training
"""

from __future__ import annotations

import time

import paddle
from paddle import nn
from paddle.nn import functional as F

import d2s

SIZE, KINDS, BATCH = 16, 4, 32


def pictures(batches, seed=0):
    """Batches of noisy bars and their directions."""
    paddle.seed(seed)
    line = paddle.arange(SIZE, dtype="float32") - SIZE / 2
    y, x = paddle.meshgrid(line, line)
    angles = paddle.arange(KINDS, dtype="float32") * (3.14159 / KINDS)
    for _ in range(batches):
        kind = paddle.randint(0, KINDS, [BATCH])
        angle = angles[kind].reshape([-1, 1, 1])
        distance = (x * paddle.sin(angle) - y * paddle.cos(angle)).abs()
        picture = paddle.exp(-distance) + 0.3 * paddle.randn([BATCH, SIZE, SIZE])
        yield picture.unsqueeze(1), kind


class Net(nn.Layer):
    """Two convolutions with batch norm, and a head."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2D(1, 8, 3, padding=1),
            nn.BatchNorm2D(8),
            nn.ReLU(),
            nn.MaxPool2D(2),
            nn.Conv2D(8, 16, 3, padding=1),
            nn.BatchNorm2D(16),
            nn.ReLU(),
            nn.AdaptiveAvgPool2D(4),
        )
        self.head = nn.Linear(16 * 16, KINDS)

    def forward(self, x):
        return self.head(self.features(x).flatten(1))


class Trainer:
    """A network and how it learns."""

    def __init__(self, seed=1):
        paddle.seed(seed)
        self.net = Net()
        self.rate = paddle.optimizer.lr.CosineAnnealingDecay(0.05, T_max=60)
        self.optimizer = paddle.optimizer.Momentum(
            self.rate,
            parameters=self.net.parameters(),
            weight_decay=1e-4,
            grad_clip=nn.ClipGradByGlobalNorm(1.0),
        )
        self.usual = paddle.to_tensor(2.0)
        self.skipped = 0

    @d2s.to_static
    def step(self, x, kind):
        """Forward, backward, optimizer: returns the loss."""
        loss = F.cross_entropy(self.net(x), kind)
        loss.backward()
        if loss < 4 * self.usual + 0.5:
            self.optimizer.step()
            self.usual = 0.9 * self.usual + 0.1 * loss.detach()
        else:
            self.skipped += 1
        self.optimizer.clear_grad()
        return loss

    @d2s.to_static
    def accuracy(self, x, kind):
        """The part of a batch that is right."""
        return (self.net(x).argmax(-1) == kind).astype("float32").mean()


def main(batches=60):
    """Train, and look at pictures that were not trained on; the losses and the accuracy."""
    trainer = Trainer()
    losses = []
    start = time.perf_counter()
    for number, (x, kind) in enumerate(pictures(batches)):
        if number == batches // 2:
            kind = (kind + 1) % KINDS  # a batch with wrong labels must do no harm
        losses.append(float(trainer.step(x, kind)))
        trainer.rate.step()
        if number % 10 == 0:
            print(f"batch {number:>3}  loss {losses[-1]:.4f}")
    print(f"{batches} steps in {time.perf_counter() - start:.1f} s, {trainer.skipped} skipped")
    trainer.net.eval()
    right = [float(trainer.accuracy(x, kind)) for x, kind in pictures(4, seed=9)]
    print(f"accuracy on new pictures {sum(right) / len(right):.2f}")
    return losses, right, int(trainer.skipped)


if __name__ == "__main__":
    main()
