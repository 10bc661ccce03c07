"""Two processes train one model: gradients are averaged over gloo, on CPUs.

    python -m examples.data_parallel

starts two workers with ``paddle.distributed.spawn``; each sees its own half of the batches.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import paddle
import paddle.distributed as dist
from paddle import nn
from paddle.nn import functional as F

import d2s


class Net(nn.Layer):
    """A network with a loop that the data bound."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(8, 32), nn.Linear(32, 1)

    @d2s.to_static
    def forward(self, x):
        x = F.relu(self.first(x))
        while x.square().mean() > 1.0:
            x = x * 0.8
        return self.second(x)


def batch(step, rank, size=32):
    """The batch of a process: everybody could make every batch, and takes its own."""
    paddle.seed(1000 * rank + step)
    x = paddle.randn([size, 8])
    return x, x[:, :4].sum(1, keepdim=True)


def worker(folder, steps):
    """One process; writes its losses and parameters."""
    if os.environ.get("DATA_PARALLEL_CONVERTED") == "0":  # to compare
        paddle.jit.enable_to_static(False)
    dist.init_parallel_env()
    rank = dist.get_rank()
    paddle.seed(2)
    model = paddle.DataParallel(Net())
    adam = paddle.optimizer.Adam(0.01, parameters=model.parameters())
    losses = []
    for step in range(steps):
        x, y = batch(step, rank)
        loss = F.mse_loss(model(x), y)
        loss.backward()
        adam.step()
        adam.clear_grad()
        losses.append(float(loss))
    state = {name: value.tolist() for name, value in model.state_dict().items()}
    Path(folder, f"{rank}.json").write_text(json.dumps({"losses": losses, "state": state}))


def main(steps=20, processes=2):
    """Run the workers; what each of them wrote."""
    with tempfile.TemporaryDirectory() as folder:
        dist.spawn(worker, args=(folder, steps), nprocs=processes, backend="gloo")
        found = [json.loads(Path(folder, f"{rank}.json").read_text()) for rank in range(processes)]
    for rank, each in enumerate(found):
        print(f"process {rank}: loss {each['losses'][0]:.3f} -> {each['losses'][-1]:.3f}")
    print("same parameters everywhere:", found[0]["state"] == found[1]["state"])
    return found


if __name__ == "__main__":
    main()
