"""Training by hand: rate finders, teachers, callbacks, memory banks, codebooks, experts, flows."""

import math
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import program


@program
def rates_swept_until_divergence(convert):
    """Learning rate range test: sweep the rate up, watch the smoothed loss, stop when it blows up."""

    @dataclass
    class SweepResult:
        rates: list = field(default_factory=list)
        losses: list = field(default_factory=list)
        stopped: str = "finished"

        def suggestion(self, skip_end=1):
            rates, losses = (
                self.rates[: len(self.rates) - skip_end],
                self.losses[: len(self.losses) - skip_end],
            )
            if len(losses) < 3:
                raise ValueError(f"too few points for a suggestion: {len(losses)}")
            slopes = [
                (losses[i + 1] - losses[i - 1]) / (math.log(rates[i + 1]) - math.log(rates[i - 1]))
                for i in range(1, len(losses) - 1)
            ]
            steepest = min(range(len(slopes)), key=slopes.__getitem__)
            return rates[steepest + 1]

    def records_of(convert):
        class Regressor(nn.Layer):
            def __init__(self, width, act="relu"):
                super().__init__()
                self.inp = nn.Linear(5, width)
                self.out = nn.Linear(width, 1)
                self.act = getattr(nn.functional, act)

            def forward(self, x):
                return self.out(self.act(self.inp(x))).squeeze(-1)

        def batches(rng, n, size):
            w = rng.randn(5).astype("float32")
            for _ in range(n):
                x = rng.randn(size, 5).astype("float32")
                yield paddle.to_tensor(x), paddle.to_tensor(np.tanh(x @ w))

        def sweep(model, opt, data, low=1e-4, high=10.0, beta=0.9, blow_up=4.0):
            """Rates go up geometrically from low to high, one per batch."""
            data = list(data)
            if not data:
                raise ValueError("no batches to sweep over")
            factor = (high / low) ** (1 / max(len(data) - 1, 1))
            result = SweepResult()
            average, best = 0.0, float("inf")
            rate = low
            for step, (x, y) in enumerate(data, start=1):
                opt.set_lr(rate)
                loss = ((model(x) - y) ** 2).mean()
                average = beta * average + (1 - beta) * float(loss)
                smooth = average / (1 - beta**step)
                if step > 1 and smooth > blow_up * best:
                    result.stopped = f"diverged at step {step}"
                    break
                if not math.isfinite(smooth):
                    result.stopped = "not finite"
                    break
                best = min(best, smooth)
                result.rates.append(rate)
                result.losses.append(smooth)
                loss.backward()
                opt.step()
                opt.clear_grad()
                rate *= factor
            return result

        run = convert(sweep)
        records = []
        for width, act, steps, size, options in [
            (8, "relu", 12, 16, {}),
            (4, "tanh", 9, 8, {"high": 1.0}),
            (8, "relu", 14, 16, {"high": 1000.0, "blow_up": 2.0}),
            (6, "sigmoid", 2, 4, {}),
            (6, "sigmoid", 0, 4, {}),
        ]:
            paddle.seed(7 + width)
            model = Regressor(width, act)
            opt = paddle.optimizer.SGD(1e-4, parameters=model.parameters())
            try:
                result = run(
                    model, opt, batches(np.random.RandomState(steps), steps, size), **options
                )
                records.append(
                    [len(result.rates), [round(v, 4) for v in result.losses], result.stopped]
                )
                records.append(result.suggestion())
            except ValueError as e:
                records.append((type(e).__name__, str(e)))
            records.append(model.out.weight.clone())
            records.append(round(opt.get_lr(), 6))
        return records

    yield from records_of(convert)


@program
def a_teacher_by_moving_average(convert):
    """Mean teacher: supervised loss, consistency with an EMA teacher on confident samples, a ramp-up of its weight."""

    class EMA:
        def __init__(self, layer, decay=0.95):
            self.decay = decay
            self.updates = 0
            self.shadow = {n: p.detach().clone() for n, p in layer.named_parameters()}

        def update(self, layer):
            self.updates += 1
            d = min(self.decay, (1 + self.updates) / (10 + self.updates))
            for name, p in layer.named_parameters():
                self.shadow[name] = d * self.shadow[name] + (1 - d) * p.detach()

        @contextmanager
        def applied(self, layer):
            kept = {n: p.detach().clone() for n, p in layer.named_parameters()}
            try:
                for n, p in layer.named_parameters():
                    p.set_value(self.shadow[n])
                yield layer
            finally:
                for n, p in layer.named_parameters():
                    p.set_value(kept[n])

    def records_of(convert):
        class Student(nn.Layer):
            def __init__(self, width):
                super().__init__()
                self.body = nn.Linear(4, width)
                self.norm = nn.LayerNorm(width)
                self.head = nn.Linear(width, 3)

            def forward(self, x):
                return self.head(F.gelu(self.norm(self.body(x))))

        def ramp(step, length):
            if length == 0 or step >= length:
                return 1.0
            return math.exp(-5 * (1 - step / length) ** 2)

        def train_step(student, ema, opt, labeled, unlabeled, step, *, length=4, threshold=0.4):
            x, y = labeled
            report = {"step": step}
            loss = F.cross_entropy(student(x), y)
            report["supervised"] = loss.detach()
            if unlabeled is not None:
                weak, strong = unlabeled
                with paddle.no_grad(), ema.applied(student):
                    target = F.softmax(student(weak), axis=-1)
                confidence = target.max(axis=-1)
                keep = confidence > threshold
                report["kept"] = int(keep.sum())
                if report["kept"]:
                    gap = ((F.softmax(student(strong), axis=-1) - target) ** 2).sum(-1)
                    consistency = (gap * keep.astype(gap.dtype)).sum() / keep.sum()
                    loss = loss + ramp(step, length) * consistency
                    report["consistency"] = consistency.detach()
            if not bool(paddle.isfinite(loss)):
                report["skipped"] = f"loss is {float(loss)}"
                return report
            loss.backward()
            report["grad_norm"] = paddle.sqrt(sum((p.grad**2).sum() for p in student.parameters()))
            opt.step()
            opt.clear_grad()
            ema.update(student)
            return report

        run = convert(train_step)
        records = []
        for width, threshold in [(6, 0.4), (5, 0.99)]:
            paddle.seed(width)
            student = Student(width)
            ema = EMA(student)
            opt = paddle.optimizer.AdamW(0.02, parameters=student.parameters(), weight_decay=0.01)
            rng = np.random.RandomState(width)

            def noisy(base, scale):
                return paddle.to_tensor((base + scale * rng.randn(*base.shape)).astype("float32"))

            for step, (n, m) in enumerate([(4, 6), (3, 0), (4, 2), (2, 6), (4, 6)]):
                labeled = (noisy(np.zeros([n, 4]), 1.0), paddle.to_tensor(rng.randint(0, 3, [n])))
                base = rng.randn(m, 4)
                unlabeled = (noisy(base, 0.05), noisy(base, 0.3)) if m else None
                records.append(
                    run(student, ema, opt, labeled, unlabeled, step, threshold=threshold)
                )
            records.append(run(student, ema, opt, (labeled[0] * float("nan"), labeled[1]), None, 9))
            records.append([student.head.bias.clone(), ema.shadow["head.bias"], ema.updates])
        return records

    yield from records_of(convert)


@program
def callbacks_that_stop_and_restore(convert):
    """A small trainer with callbacks: early stopping, best checkpoint, plateau schedule, a history as text."""

    class StopTraining(Exception):
        pass

    class Callback:
        def on_train_end(self, trainer): ...

    class EarlyStopping(Callback):
        def __init__(self, patience=2, min_delta=1e-3, restore=True):
            self.patience, self.min_delta, self.restore = patience, min_delta, restore
            self.best, self.wait, self.weights = float("inf"), 0, None

        def on_epoch_end(self, trainer, epoch, logs):
            if logs["val_loss"] < self.best - self.min_delta:
                self.best, self.wait = logs["val_loss"], 0
                self.weights = {k: v.clone() for k, v in trainer.model.state_dict().items()}
                return
            self.wait += 1
            if self.wait >= self.patience:
                raise StopTraining(f"no progress for {self.wait} epochs, best {self.best:.3f}")

        def on_train_end(self, trainer):
            if self.restore and self.weights is not None:
                trainer.model.set_state_dict(self.weights)

    class ReduceOnPlateau(Callback):
        last = None

        def on_epoch_end(self, trainer, epoch, logs):
            if self.last is not None and logs["val_loss"] > self.last:
                trainer.opt.set_lr(trainer.opt.get_lr() * 0.5)
            self.last = logs["val_loss"]

    class History(Callback, list):
        def on_epoch_end(self, trainer, epoch, logs):
            self.append(
                f"epoch {epoch:>2} | " + " ".join(f"{k}={v:.3f}" for k, v in sorted(logs.items()))
            )

    def records_of(convert):
        class Trainer:
            def __init__(self, model, opt, callbacks=()):
                self.model, self.opt, self.callbacks = model, opt, list(callbacks)
                self.stopped = None

            def fire(self, event, *args):
                for callback in self.callbacks:
                    getattr(callback, event)(self, *args)

        def fit(trainer, train, valid, epochs, clip=None):
            model, opt = trainer.model, trainer.opt
            try:
                for epoch in range(epochs):
                    model.train()
                    total = 0.0
                    for x, y in train:
                        loss = nn.functional.smooth_l1_loss(model(x), y)
                        loss.backward()
                        if clip is not None:
                            nn.utils.clip_grad_norm_(model.parameters(), clip)
                        opt.step()
                        opt.clear_grad()
                        total += float(loss)
                    model.eval()
                    with paddle.no_grad():
                        val = float(
                            sum(nn.functional.mse_loss(model(x), y) for x, y in valid)
                        ) / len(valid)
                    trainer.fire(
                        "on_epoch_end",
                        epoch,
                        {"loss": total / len(train), "val_loss": val, "lr": opt.get_lr()},
                    )
            except StopTraining as stop:
                trainer.stopped = str(stop)
            finally:
                trainer.fire("on_train_end")
            return trainer.stopped or f"ran all {epochs} epochs"

        run = convert(fit)
        records = []
        for lr, epochs, clip, patience in [
            (0.1, 4, None, 2),
            (1.8, 8, None, 1),
            (0.5, 5, 0.1, 2),
            (0.1, 2, None, 2),
        ]:
            paddle.seed(2)
            rng = np.random.RandomState(epochs)
            model = nn.Sequential(nn.Linear(3, 6), nn.BatchNorm1D(6), nn.Tanh(), nn.Linear(6, 1))
            data = [
                tuple(paddle.to_tensor(rng.randn(n, w).astype("float32")) for w in (3, 1))
                for n in (6, 4, 5)
            ]
            history, early = History(), EarlyStopping(patience)
            opt = paddle.optimizer.SGD(lr, parameters=model.parameters())
            trainer = Trainer(model, opt, [history, ReduceOnPlateau(), early])
            records += [
                run(trainer, data[:2], data[2:], epochs, clip),
                list(history),
                round(early.best, 4),
            ]
            records += [model[3].weight.clone(), model[1]._mean.clone(), opt.get_lr()]
        try:
            run(trainer, data, [], 1)
        except ZeroDivisionError as e:
            records.append((type(e).__name__, str(e)))
        return records

    yield from records_of(convert)


@program
def contrast_with_a_bank(convert):
    """Contrastive learning with a queue of negatives, a momentum encoder and a warm-up without negatives."""

    class MemoryBank:
        """A ring of the last keys. Rows are valid only once they have been written."""

        def __init__(self, capacity, dim):
            self.rows = paddle.zeros([capacity, dim])
            self.cursor = 0
            self.filled = 0

        def __len__(self):
            return self.filled

        def valid(self):
            return self.rows[: self.filled].clone()

        def push(self, keys):
            capacity = self.rows.shape[0]
            for key in keys:
                self.rows[self.cursor] = key
                self.cursor = (self.cursor + 1) % capacity
                self.filled = min(self.filled + 1, capacity)

    def records_of(convert):
        def encoder():
            return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4))

        class MoCo(nn.Layer):
            def __init__(self, capacity, momentum=0.9, temperature=0.2):
                super().__init__()
                self.query, self.key = encoder(), encoder()
                self.key.set_state_dict(self.query.state_dict())
                for p in self.key.parameters():
                    p.stop_gradient = True
                self.bank = MemoryBank(capacity, 4)
                self.momentum, self.temperature = momentum, temperature
                self.stats = {"steps": 0, "hits": 0}

            @paddle.no_grad()
            def follow(self):
                for slow, fast in zip(self.key.parameters(), self.query.parameters()):
                    slow.set_value(self.momentum * slow + (1 - self.momentum) * fast)

            def forward(self, one, two, hard=None):
                q = F.normalize(self.query(one), axis=-1)
                with paddle.no_grad():
                    if self.training:
                        self.follow()
                    k = F.normalize(self.key(two), axis=-1)
                positive = (q * k).sum(-1, keepdim=True)
                if len(self.bank) == 0:
                    loss = (2 - 2 * positive).mean()
                else:
                    negative = q @ self.bank.valid().t()
                    if hard is not None:
                        negative = negative.topk(min(hard, len(self.bank)), axis=-1)[0]
                    logits = paddle.concat([positive, negative], axis=-1) / self.temperature
                    loss = F.cross_entropy(logits, paddle.zeros([one.shape[0]], dtype="int64"))
                    self.stats["hits"] += int((logits.argmax(-1) == 0).sum())
                if self.training:
                    self.bank.push(k)
                    self.stats["steps"] += 1
                return loss

        records = []
        for capacity, hard in [(6, None), (4, 2)]:
            paddle.seed(capacity)
            rng = np.random.RandomState(capacity)
            model = MoCo(capacity)
            call = convert(model)
            opt = paddle.optimizer.Momentum(0.1, parameters=model.query.parameters())
            for size in (2, 3, 3, 1, 5):
                base = rng.randn(size, 6)
                one, two = (
                    paddle.to_tensor((base + 0.1 * rng.randn(size, 6)).astype("float32"))
                    for _ in range(2)
                )
                loss = call(one, two, hard=hard)
                loss.backward()
                opt.step()
                grad = model.query[0].weight.grad
                records.append([loss.item(), len(model.bank), model.bank.cursor, grad.abs().sum()])
                opt.clear_grad()
            records += [model.bank.rows.clone(), dict(model.stats), model.key[2].bias.clone()]
            model.eval()
            with paddle.no_grad():
                records.append(call(one, two))
                records.append(call(two[:2], one[:2], hard=1))
            records.append([dict(model.stats), len(model.bank), model.bank.cursor])
            model.train()
            records.append(call(one, two, hard).item())
        return records

    yield from records_of(convert)


@program
def codes_revived_when_dead(convert):
    """Vector quantizer with EMA code updates, straight-through gradients and revival of dead codes."""

    def records_of(convert):
        class Quantizer(nn.Layer):
            def __init__(self, codes, dim, decay=0.8, dead_below=0.05, beta=0.25):
                super().__init__()
                self.decay, self.dead_below, self.beta = decay, dead_below, beta
                self.register_buffer("codebook", paddle.randn([codes, dim]))
                self.register_buffer("usage", paddle.ones([codes]))
                self.register_buffer("sums", self.codebook.clone())
                self.revived = []
                self.steps = 0

            def nearest(self, flat):
                d = (
                    (flat**2).sum(-1, keepdim=True)
                    - 2 * flat @ self.codebook.t()
                    + (self.codebook**2).sum(-1)
                )
                return d.argmin(axis=-1)

            def update(self, flat, ids):
                onehot = F.one_hot(ids, self.codebook.shape[0])
                counts = onehot.sum(axis=0)
                self.usage = self.decay * self.usage + (1 - self.decay) * counts
                self.sums = self.decay * self.sums + (1 - self.decay) * (onehot.t() @ flat)
                total = self.usage.sum()
                smoothed = (self.usage + 1e-5) / (total + 1e-5 * len(counts)) * total
                self.codebook = self.sums / smoothed.unsqueeze(-1)
                dead = paddle.nonzero(self.usage < self.dead_below).flatten().tolist()
                for k, code in enumerate(dead):
                    row = flat[k % flat.shape[0]]
                    self.codebook[code] = row
                    self.sums[code] = row
                    self.usage[code] = 1.0
                    self.revived.append((self.steps, code))

            def forward(self, x):
                flat = x.reshape([-1, x.shape[-1]])
                ids = self.nearest(flat.detach())
                codes = F.embedding(ids, self.codebook).reshape(x.shape)
                loss = self.beta * F.mse_loss(x, codes.detach())
                if self.training:
                    with paddle.no_grad():
                        self.update(flat.detach(), ids)
                    self.steps += 1
                share = (
                    paddle.bincount(ids, minlength=self.codebook.shape[0]).astype("float32")
                    / ids.shape[0]
                )
                perplexity = paddle.exp(-(share * paddle.log(share + 1e-10)).sum())
                return (
                    x + (codes - x).detach(),
                    loss,
                    {"perplexity": perplexity, "ids": ids.reshape(x.shape[:-1])},
                )

        class AutoEncoder(nn.Layer):
            def __init__(self, codes, dim=3, **options):
                super().__init__()
                self.down = nn.Linear(5, dim)
                self.vq = Quantizer(codes, dim, **options)
                self.up = nn.Linear(dim, 5)

            def forward(self, x):
                q, commit, stats = self.vq(self.down(x))
                return F.mse_loss(self.up(q), x) + commit, stats

        records = []
        for codes, options in [(4, {}), (6, {"decay": 0.3, "dead_below": 0.2}), (1, {"beta": 1.0})]:
            paddle.seed(codes)
            model = AutoEncoder(codes, **options)
            call = convert(model)
            opt = paddle.optimizer.SGD(0.2, parameters=model.parameters())
            rng = np.random.RandomState(codes)
            for shape in ([3, 5], [2, 4, 5], [1, 5], [3, 5]):
                x = paddle.to_tensor(rng.randn(*shape).astype("float32"))
                loss, stats = call(x)
                loss.backward()
                records.append({"loss": loss, "grad": model.down.weight.grad.clone(), **stats})
                opt.step()
                opt.clear_grad()
                records.append([model.vq.usage.clone(), len(model.vq.revived)])
            records.append([model.vq.codebook.clone(), list(model.vq.revived), model.vq.steps])
            model.eval()
            for _ in range(2):
                loss, stats = call(x[:1])
                records.append([loss, stats["ids"], model.vq.steps])
            records.append(sorted(model.state_dict()))
            try:
                call(paddle.ones([2, 4]))
            except Exception as e:
                records.append(type(e).__name__)
        return records

    yield from records_of(convert)


@program
def experts_by_noisy_gates(convert):
    """Sparse mixture of experts: noisy top-k gating, capacity with overflow, load balancing loss."""

    def records_of(convert):
        class Expert(nn.Layer):
            def __init__(self, dim, kind):
                super().__init__()
                self.kind = kind
                if kind == "mlp":
                    self.net = nn.Sequential(
                        nn.Linear(dim, 2 * dim), nn.Silu(), nn.Linear(2 * dim, dim)
                    )
                elif kind == "scale":
                    self.scale = self.create_parameter(
                        [dim], default_initializer=nn.initializer.Constant(0.5)
                    )
                elif kind != "skip":
                    raise ValueError(f"no expert of kind {kind!r}")

            def forward(self, x):
                match self.kind:
                    case "mlp":
                        return self.net(x)
                    case "scale":
                        return x * self.scale
                    case _:
                        return x

        class Mixture(nn.Layer):
            def __init__(self, dim, kinds, k=2, capacity=None, balance=0.1):
                super().__init__()
                self.experts = nn.LayerList([Expert(dim, kind) for kind in kinds])
                self.gate = nn.Linear(dim, len(kinds), bias_attr=False)
                self.noise = nn.Linear(dim, len(kinds), bias_attr=False)
                self.k, self.capacity, self.balance = min(k, len(kinds)), capacity, balance
                self.dropped = defaultdict(int)

            def route(self, x, noise=None):
                logits = self.gate(x)
                if self.training and noise is not None:
                    logits = logits + noise * F.softplus(self.noise(x))
                top, index = logits.topk(self.k, axis=-1)
                return F.softmax(top, axis=-1), index, F.softmax(logits, axis=-1)

            def forward(self, x, noise=None):
                weights, index, full = self.route(x, noise)
                out = paddle.zeros_like(x)
                load = []
                for e, expert in enumerate(self.experts):
                    rows, slots = paddle.nonzero(index == e, as_tuple=True)
                    rows, slots = rows.flatten(), slots.flatten()
                    count = rows.shape[0]
                    load.append(count)
                    if count == 0:
                        continue
                    if self.capacity is not None and count > self.capacity:
                        self.dropped[expert.kind] += count - self.capacity
                        rows, slots = rows[: self.capacity], slots[: self.capacity]
                    share = paddle.gather_nd(weights, paddle.stack([rows, slots], axis=-1))
                    y = expert(paddle.gather(x, rows)) * share.unsqueeze(-1)
                    out = paddle.scatter_nd_add(out, rows.unsqueeze(-1), y)
                fraction = paddle.to_tensor([n / max(sum(load), 1) for n in load])
                aux = self.balance * len(load) * (fraction * full.mean(axis=0)).sum()
                return out, aux, load

        records = []
        rng = np.random.RandomState(21)
        for kinds, k, capacity in [
            (["mlp", "scale", "skip"], 2, None),
            (["mlp", "mlp", "scale", "skip"], 1, 2),
            (["skip"], 2, 3),
        ]:
            paddle.seed(k + len(kinds))
            layer = Mixture(4, kinds, k, capacity)
            moe = convert(layer)
            for tokens in (5, 1, 8):
                x = paddle.to_tensor(rng.randn(tokens, 4).astype("float32"), stop_gradient=False)
                noise = paddle.to_tensor(rng.randn(tokens, len(kinds)).astype("float32"))
                out, aux, load = moe(x, noise)
                ((out**2).mean() + aux).backward()
                records += [out, aux, load, x.grad, layer.gate.weight.grad.clone()]
                layer.clear_gradients()
            layer.eval()
            out, aux, load = moe(x, noise)
            records += [out.detach(), load, dict(layer.dropped)]
            layer.train()
            records.append([g.shape for g in moe(x[:2])[:2]])
        try:
            Mixture(4, ["mlp", "conv"])
        except ValueError as e:
            records.append((type(e).__name__, str(e)))
        return records

    yield from records_of(convert)


@program
def couplings_and_their_inverse(convert):
    """A normalizing flow of affine couplings with actnorm and permutations; inverse, log density, training."""

    class ActNorm(nn.Layer):
        """Scales and shifts; the first training batch decides how."""

        def __init__(self, dim):
            super().__init__()
            self.log_scale = self.create_parameter(
                [dim], default_initializer=nn.initializer.Constant(0.0)
            )
            self.shift = self.create_parameter(
                [dim], default_initializer=nn.initializer.Constant(0.0)
            )
            self.ready = False

        def forward(self, x):
            if not self.ready and self.training:
                with paddle.no_grad():
                    std = x.std(axis=0, unbiased=False) + 1e-6
                    self.log_scale.set_value(-paddle.log(std))
                    self.shift.set_value(-x.mean(axis=0) / std)
                self.ready = True
            return x * paddle.exp(self.log_scale) + self.shift, self.log_scale.sum().expand(
                [x.shape[0]]
            )

        def inverse(self, z):
            return (z - self.shift) * paddle.exp(-self.log_scale)

    class Coupling(nn.Layer):
        def __init__(self, dim, hidden, flip):
            super().__init__()
            self.split, self.flip = dim // 2, flip
            kept = dim - self.split if flip else self.split
            self.net = nn.Sequential(
                nn.Linear(kept, hidden), nn.Tanh(), nn.Linear(hidden, 2 * (dim - kept))
            )

        def parts(self, x):
            a, b = x[:, : self.split], x[:, self.split :]
            return (b, a) if self.flip else (a, b)

        def join(self, kept, changed):
            return paddle.concat([changed, kept] if self.flip else [kept, changed], axis=-1)

        def forward(self, x):
            kept, changed = self.parts(x)
            s, t = self.net(kept).chunk(2, axis=-1)
            s = 1.5 * paddle.tanh(s)
            return self.join(kept, changed * paddle.exp(s) + t), s.sum(-1)

        def inverse(self, z):
            kept, changed = self.parts(z)
            s, t = self.net(kept).chunk(2, axis=-1)
            return self.join(kept, (changed - t) * paddle.exp(-1.5 * paddle.tanh(s)))

    def records_of(convert):
        class Flow(nn.Layer):
            def __init__(self, dim, depth, hidden=6):
                super().__init__()
                if dim < 2:
                    raise ValueError("a coupling needs two dimensions or more")
                steps = [
                    layer
                    for i in range(depth)
                    for layer in (ActNorm(dim), Coupling(dim, hidden, bool(i % 2)))
                ]
                self.steps = nn.LayerList(steps)
                self.trace = []

            def forward(self, x, reverse=False):
                if reverse:
                    for step in self.steps[::-1]:
                        x = step.inverse(x)
                    return x
                logdet = paddle.zeros([x.shape[0]])
                self.trace = []
                for step in self.steps:
                    x, change = step(x)
                    logdet += change
                    self.trace.append(type(step).__name__)
                prior = -0.5 * (x**2 + math.log(2 * math.pi)).sum(-1)
                return x, prior + logdet

        records = []
        for dim, depth, sizes in [(2, 3, (8, 5)), (3, 2, (6, 6, 1)), (4, 0, (3,))]:
            paddle.seed(dim)
            rng = np.random.RandomState(depth)
            model = Flow(dim, depth)
            flow = convert(model)
            opt = paddle.optimizer.Adam(0.05, parameters=model.parameters()) if depth else None
            for n in sizes:
                x = paddle.to_tensor(
                    (2 + 3 * rng.randn(n, dim)).astype("float32"), stop_gradient=False
                )
                z, logp = flow(x)
                (-logp.mean()).backward()
                records += [z, logp, x.grad, list(model.trace)]
                if opt is not None:
                    opt.step()
                    opt.clear_grad()
                with paddle.no_grad():
                    back = flow(flow(x)[0], reverse=True)
                    records.append(bool(paddle.allclose(back, x, rtol=1e-3, atol=1e-3)))
            model.eval()
            records.append(flow(paddle.zeros([2, dim]), reverse=True))
        return records

    yield from records_of(convert)
