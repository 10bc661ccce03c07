"""Training as people do it, with Paddle's real parts: curves are those of dygraph."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import paddle
import paddle.nn.functional as F
import pytest
from paddle.distributed.fleet.utils import recompute
from paddle.static import InputSpec
from paddle.utils import unique_name

import d2s


class Net(paddle.nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.a = paddle.nn.Linear(4, 8)
        self.b = paddle.nn.Linear(8, 3)
        self.norm = paddle.nn.BatchNorm1D(8)

    def forward(self, x):
        h = self.norm(F.relu(self.a(x)))
        if h.mean() > 0.2:
            h = h * 0.9
        return self.b(h)


class Data(paddle.io.Dataset):
    def __getitem__(self, index):
        draws = np.random.RandomState(index)
        return draws.randn(4).astype("float32"), np.array([index % 3], "int64")

    def __len__(self):
        return 22


@d2s.to_static
def augmented(x):
    if x.sum() > 0:
        return x * 2
    return x


class Augmented(Data):
    def __getitem__(self, index):
        features, label = super().__getitem__(index)
        return augmented(paddle.to_tensor(features)).numpy(), label


def batches(count: int = 6) -> list[tuple[Any, Any]]:
    """Of two sizes."""
    draws = np.random.RandomState(0)
    return [
        (
            paddle.to_tensor(draws.randn(5 + i % 2, 4).astype("float32")),
            paddle.to_tensor(draws.randint(0, 3, [5 + i % 2])),
        )
        for i in range(count)
    ]


def made(kind: type = Net) -> Any:
    paddle.seed(3)
    return kind()


def curve(net: Any, optimizer: Any = None) -> list[float]:
    optimizer = optimizer or paddle.optimizer.Adam(0.05, parameters=net.parameters())
    losses = []
    for x, y in batches():
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(loss.item())
    return losses


def assert_curves(train: Callable[[Any], list[float]] = curve, kind: type = Net) -> None:
    """What ``train`` gives is that of dygraph, and changes."""
    expected = train(made(kind))
    net = d2s.to_static(made(kind), full_graph=True)
    assert train(net) == pytest.approx(expected, rel=1e-4, abs=1e-5)
    assert len(set(expected)) > 1


# -- paddle.Model --------------------------------------------------------------------------------


def model(net: Any, **described: Any) -> paddle.Model:
    paddle.seed(1)
    whole = paddle.Model(net, **described)
    adam = paddle.optimizer.Adam(0.05, parameters=net.parameters())
    whole.prepare(adam, paddle.nn.CrossEntropyLoss(), paddle.metric.Accuracy())
    return whole


def test_model(tmp_path) -> None:
    """``fit``, ``evaluate``, ``predict``, ``save`` and ``load``."""

    def train(net):
        whole = model(net)
        whole.fit(Data(), epochs=2, batch_size=4, shuffle=False, verbose=0)
        found = whole.evaluate(Data(), batch_size=4, verbose=0)
        whole.save(str(tmp_path / "model"))
        whole.fit(Data(), epochs=1, batch_size=4, shuffle=False, verbose=0)
        whole.load(str(tmp_path / "model"))
        given = whole.predict(Data(), batch_size=4, stack_outputs=True, verbose=0)
        return [found["loss"][0], found["acc"], *given[0].ravel()[:6].tolist()]

    assert_curves(train)


def test_model_for_deployment(tmp_path) -> None:
    net = d2s.to_static(made())
    inputs, labels = InputSpec([None, 4], "float32", "x"), InputSpec([None, 1], "int64", "y")
    whole = model(net, inputs=[inputs], labels=[labels])
    whole.fit(Data(), epochs=1, batch_size=4, shuffle=False, verbose=0)
    whole.save(str(tmp_path / "model"), training=False)
    loaded = paddle.jit.load(str(tmp_path / "model"))
    loaded.eval()
    net.eval()
    x = paddle.ones([2, 4])
    assert np.allclose(loaded(x), net(x), atol=1e-5)
    assert paddle.summary(net, (2, 4))["total_params"] == 99


# -- precision -----------------------------------------------------------------------------------


@pytest.mark.parametrize("level", ["O1", "O2"])
def test_amp(level) -> None:
    """On the CPU ``auto_cast`` is nothing, and says so; the scaler scales."""

    def train(net):
        adam = paddle.optimizer.Adam(0.05, parameters=net.parameters())
        scaler = paddle.amp.GradScaler(init_loss_scaling=64.0)
        if level == "O2":
            net, adam = paddle.amp.decorate(net, adam, level="O2", dtype="bfloat16")
        losses = []
        for x, y in batches():
            with paddle.amp.auto_cast(level=level, dtype="bfloat16"):
                loss = F.cross_entropy(net(x).astype("float32"), y)
            scaler.scale(loss).backward()
            scaler.step(adam)
            scaler.update()
            adam.clear_grad()
            losses.append(loss.item())
        return losses

    assert_curves(train)


def test_bfloat16() -> None:
    """What has kernels on the CPU is computed in it, with its rounding; also in a loop."""

    def grown(x):
        y = x * 1.01
        while y.sum().astype("float32") < 100:
            y = y * 1.3
        return y, y.sum()

    x = paddle.to_tensor([1.0, 2.7, 3.3]).astype("bfloat16")
    expected = grown(x)
    static = d2s.to_static(grown, full_graph=True)
    for mine, theirs in zip(static(x), expected, strict=True):
        assert mine.dtype == paddle.bfloat16
        assert mine.astype("float32").tolist() == theirs.astype("float32").tolist()
    wide = grown(x.astype("float32"))[0]
    assert expected[0].astype("float32").tolist() != wide.tolist()  # which rounds otherwise
    assert "bf16" in str(static.main_program)


# -- steps ---------------------------------------------------------------------------------------


def test_gradient_accumulation() -> None:
    def train(net):
        sgd = paddle.optimizer.SGD(0.1, parameters=net.parameters())
        losses = []
        for number, (x, y) in enumerate(batches(8)):
            loss = F.cross_entropy(net(x), y) / 4
            loss.backward()
            if number % 4 == 3:
                sgd.step()
                sgd.clear_grad()
            losses.append(loss.item())
        return losses

    assert_curves(train)


class Recomputed(Net):
    way: Any = True
    grad = False

    def block(self, h):
        return F.relu(self.a(h)) if h.sum() > 0 else self.a(h)

    def forward(self, x):
        if self.grad:
            x = x.detach()
            x.stop_gradient = False
        return self.b(recompute(self.block, x, use_reentrant=self.way))


class OfALayer(Recomputed):
    def forward(self, x):
        return self.b(recompute(self.a, x, use_reentrant=self.way))


@pytest.mark.parametrize("kind", [Recomputed, OfALayer])
@pytest.mark.parametrize("way", [True, False])
def test_recompute_inside(kind, way) -> None:
    """Both forms; none of the arguments has a gradient, so the first form gives none to ``a``."""
    assert_curves(kind=type("Recomputed", (kind,), {"way": way}))


@pytest.mark.parametrize("way", [True, False])
def test_recompute_of_what_has_a_gradient(way) -> None:
    class Deep(Net):
        def forward(self, x):
            return self.b(recompute(self.norm, self.a(x), use_reentrant=way))

    assert_curves(kind=Deep)


@pytest.mark.parametrize("way", [True, False])
def test_recompute_around(way) -> None:
    """Of a converted layer, or of its ``forward``."""

    def train(net):
        class Around(paddle.nn.Layer):
            def __init__(self) -> None:
                super().__init__()
                self.net = net
                self.before = paddle.nn.Linear(4, 4)

            def forward(self, x):
                y = recompute(self.net, self.before(x), use_reentrant=way)
                return y + recompute(self.net.forward, self.before(x), use_reentrant=way)

        paddle.seed(4)
        return curve(Around())

    assert_curves(train)


def test_hooks() -> None:
    def train(net):
        net.a.register_forward_post_hook(lambda layer, given, result: result * 1.5)
        net.register_forward_pre_hook(lambda layer, given: (given[0] + 1,))
        net.b.weight.register_hook(lambda gradient: gradient * 0.5)
        return curve(net)

    assert_curves(train)


def test_schedulers() -> None:
    def train(net):
        lr = paddle.optimizer.lr
        rate = lr.LinearWarmup(lr.CosineAnnealingDecay(0.1, 5), 3, 0.0, 0.1)
        plateau = lr.ReduceOnPlateau(0.1, patience=0)
        options = {"grad_clip": paddle.nn.ClipGradByGlobalNorm(0.5), "weight_decay": 1e-3}
        losses = []
        for each in (rate, plateau):
            momentum = paddle.optimizer.Momentum(each, parameters=net.parameters(), **options)
            for x, y in batches():
                loss = F.cross_entropy(net(x), y)
                loss.backward()
                momentum.step()
                momentum.clear_grad()
                each.step(*([loss] if each is plateau else []))
                losses.append(loss.item())
        return losses

    assert_curves(train)


def test_a_checkpoint_resumed_in_the_middle(tmp_path) -> None:
    """In a new layer and optimizer, converted before or after the state is there."""
    with unique_name.guard():  # the names of a new process
        net = d2s.to_static(made())
        adam = paddle.optimizer.Adam(0.05, parameters=net.parameters())
        curve(net, adam)
    paddle.save(net.state_dict(), str(tmp_path / "net.pdparams"))
    paddle.save(adam.state_dict(), str(tmp_path / "adam.pdopt"))
    expected = curve(net, adam)
    for early in (True, False):
        with unique_name.guard():
            again = made()
            if early:
                d2s.to_static(again)
                with paddle.no_grad():
                    again(batches()[0][0])  # a program of the state before
            again.set_state_dict(paddle.load(str(tmp_path / "net.pdparams")))
            adam = paddle.optimizer.Adam(0.05, parameters=again.parameters())
            adam.set_state_dict(paddle.load(str(tmp_path / "adam.pdopt")))
            assert curve(d2s.to_static(again), adam) == pytest.approx(expected, rel=1e-4)


def test_an_average_of_weights() -> None:
    """A deep copy that is updated by hand, and runs as a program."""

    def train(net):
        average = copy.deepcopy(net)
        sgd = paddle.optimizer.SGD(0.1, parameters=net.parameters())
        losses = []
        for x, y in batches():
            F.cross_entropy(net(x), y).backward()
            sgd.step()
            sgd.clear_grad()
            with paddle.no_grad():
                for mean, new in zip(average.parameters(), net.parameters(), strict=True):
                    mean.set_value(0.9 * mean + 0.1 * new)
            average.eval()
            losses.append(average(x).mean().item())
        return losses

    assert_curves(train)


@pytest.mark.parametrize("workers", [0, 2])
def test_data_loader(workers) -> None:
    def train(net):
        adam = paddle.optimizer.Adam(0.05, parameters=net.parameters())
        losses = []
        loader = paddle.io.DataLoader(
            Data(), batch_size=4, num_workers=workers, use_shared_memory=False
        )
        for x, y in loader:
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            adam.step()
            adam.clear_grad()
            losses.append(loss.item())
        return losses

    assert_curves(train)


def test_workers_that_run_programs() -> None:
    """Each worker captures its own."""
    loader = paddle.io.DataLoader(
        Augmented(), batch_size=11, num_workers=1, use_shared_memory=False
    )
    found = np.concatenate([features.numpy() for features, _ in loader])
    rows = [Data()[index][0] for index in range(22)]
    assert np.allclose(found, [row * 2 if row.sum() > 0 else row for row in rows])


@pytest.mark.parametrize("convert", [lambda net: net, d2s.to_static])
def test_what_visualdl_reads(convert, tmp_path) -> None:
    """G3: its ``add_graph`` (2.5.3) does this and opens ``.pdmodel``, which there is not."""
    model = paddle.jit.to_static(convert(paddle.nn.Linear(4, 3)), [InputSpec([None, 4], name="x")])
    paddle.jit.save(model, str(tmp_path / "temp"))
    assert (tmp_path / "temp.json").exists()
    assert not (tmp_path / "temp.pdmodel").exists()
