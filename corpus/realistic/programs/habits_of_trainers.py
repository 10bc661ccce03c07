"""Training code with optimisers, losses and averages that somebody wrote by hand."""

import collections
import contextlib
import copy
import math
from dataclasses import asdict, dataclass, field
from typing import Dict, List, Optional

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import attempt, program


@program
def segmenter_with_focal_and_dice(convert):
    """A tiny segmenter: focal and dice losses, AdamW by hand with a global clip, a report."""

    class Segmenter(nn.Layer):
        def __init__(self, channels, classes):
            super().__init__()
            self.stem = nn.Conv2D(in_channels=3, out_channels=channels, kernel_size=3, padding=1)
            self.norm = nn.BatchNorm2D(num_features=channels)
            self.head = nn.Conv2D(in_channels=channels, out_channels=classes, kernel_size=1)

        def forward(self, x):
            return self.head(F.relu(self.norm(self.stem(x))))

    def focal_loss(logits, target, gamma=2.0, alpha=0.25, ignore_index=255):
        valid = target != ignore_index
        safe = paddle.where(valid, target, paddle.zeros_like(target))
        logp = F.log_softmax(logits, axis=1)
        onehot = F.one_hot(safe, num_classes=logits.shape[1]).transpose([0, 3, 1, 2])
        logpt = (logp * onehot).sum(axis=1)
        loss = -alpha * (1 - logpt.exp()) ** gamma * logpt
        count = valid.sum().item()
        if count == 0:
            return (loss * 0.0).sum()
        return paddle.where(valid, loss, paddle.zeros_like(loss)).sum() / count

    def dice_loss(logits, target, smooth=1.0):
        probs = F.softmax(logits, axis=1)
        losses = []
        for c in range(logits.shape[1]):
            mask = (target == c).astype(probs.dtype)
            if mask.sum() == 0:
                continue
            inter = (probs[:, c] * mask).sum()
            losses.append(1 - (2 * inter + smooth) / (probs[:, c].sum() + mask.sum() + smooth))
        if len(losses) == 0:
            return paddle.to_tensor(0.0)
        return sum(losses) / len(losses)

    class HandAdamW:
        def __init__(self, params, lr=1e-2, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
            self.params = [p for p in params if not p.stop_gradient]
            self.lr, self.betas, self.eps, self.wd = lr, betas, eps, weight_decay
            self.state = {
                id(p): {"m": paddle.zeros_like(p), "v": paddle.zeros_like(p)} for p in self.params
            }
            self.t = 0

        @paddle.no_grad()
        def step(self):
            self.t += 1
            b1, b2 = self.betas
            for p in self.params:
                if p.grad is None:
                    continue
                s = self.state[id(p)]
                s["m"] = b1 * s["m"] + (1 - b1) * p.grad
                s["v"] = b2 * s["v"] + (1 - b2) * p.grad * p.grad
                mhat = s["m"] / (1 - b1**self.t)
                vhat = s["v"] / (1 - b2**self.t)
                p.set_value(p * (1 - self.lr * self.wd) - self.lr * mhat / (vhat.sqrt() + self.eps))

        def zero_grad(self):
            for p in self.params:
                p.clear_gradient()

    def clip_grad_norm(params, max_norm):
        grads = [p.grad for p in params if p.grad is not None]
        total = paddle.sqrt(sum((g**2).sum() for g in grads))
        if total > max_norm:
            scale = max_norm / (total + 1e-6)
            for p in params:
                if p.grad is not None:
                    p.grad.set_value(p.grad * scale)
        return total

    paddle.seed(1)
    model = Segmenter(channels=4, classes=3)
    opt = HandAdamW(model.parameters())

    @convert
    def train_step(images, labels, dice_weight=0.5):
        model.train()
        logits = model(images)
        f = focal_loss(logits, labels)
        d = dice_loss(logits, labels)
        loss = f + dice_weight * d
        loss.backward()
        norm = clip_grad_norm(opt.params, max_norm=0.3)
        opt.step()
        opt.zero_grad()
        return {"loss": loss.item(), "focal": f.detach(), "dice": d.detach(), "norm": norm}

    rng = np.random.RandomState(0)
    for size, ignored in [(6, 0), (6, 5), (8, 64), (4, 3)]:
        images = paddle.to_tensor(rng.randn(2, 3, size, size).astype("float32"))
        labels = rng.randint(0, 3, (2, size, size))
        labels.reshape(2, -1)[:, :ignored] = 255
        out = train_step(images, paddle.to_tensor(labels), dice_weight=0.5 if ignored else 0.0)
        print(f"size {size}: loss {out['loss']:.4f}, norm {float(out['norm']):.4f}")
        yield out
    yield [p for p in model.parameters()]
    yield opt.t


@program
def mixup_with_an_average_model(convert):
    """Mixup or cutmix by a draw, label smoothing, an EMA copy that is evaluated from time to time."""

    @dataclass
    class MixConfig:
        alpha: float = 0.4
        cutmix_prob: float = 0.5
        smoothing: float = 0.1
        ema_decay: float = 0.9
        num_classes: int = 4

    def smooth_targets(labels, num_classes, eps):
        onehot = F.one_hot(labels, num_classes)
        return onehot * (1 - eps) + eps / num_classes

    def mix_batch(x, y, lam, perm, use_cutmix):
        if use_cutmix:
            h, w = x.shape[-2:]
            cut = math.sqrt(1 - lam)
            ch, cw = int(h * cut), int(w * cut)
            top, left = (h - ch) // 2, (w - cw) // 2
            mixed = x.clone()
            if ch > 0 and cw > 0:
                patch = x[perm][:, :, top : top + ch, left : left + cw]
                mixed[:, :, top : top + ch, left : left + cw] = patch
            lam = 1 - ch * cw / (h * w)
        else:
            mixed = lam * x + (1 - lam) * x[perm]
        return mixed, lam * y + (1 - lam) * y[perm]

    class ModelEMA:
        def __init__(self, model, decay):
            self.module = copy.deepcopy(model)
            self.module.eval()
            self.decay = decay
            self.updates = 0

        def update(self, model):
            self.updates += 1
            d = min(self.decay, (1 + self.updates) / (10 + self.updates))
            with paddle.no_grad():
                source = model.state_dict()
                for name, value in self.module.state_dict().items():
                    if value.dtype == paddle.float32:
                        value.set_value(value * d + source[name].detach() * (1 - d))

    class Trainer:
        def __init__(self, model, cfg):
            self.model, self.cfg = model, cfg
            self.ema = ModelEMA(model, cfg.ema_decay)
            self.velocity = {n: paddle.zeros_like(p) for n, p in model.named_parameters()}
            self.history = []

        @convert
        def step(self, x, labels, lam, perm, draw, lr=0.1):
            cfg = self.cfg
            y = smooth_targets(labels, cfg.num_classes, cfg.smoothing)
            x, y = mix_batch(x, y, lam, perm, use_cutmix=draw < cfg.cutmix_prob)
            logits = self.model(x)
            loss = (-y * F.log_softmax(logits)).sum(-1).mean()
            loss.backward()
            with paddle.no_grad():
                for name, p in self.model.named_parameters():
                    if p.stop_gradient:
                        continue
                    self.velocity[name] = self.velocity[name] * 0.9 + p.grad
                    p.set_value(p - lr * self.velocity[name])
            self.model.clear_gradients()
            self.ema.update(self.model)
            self.history.append(loss.item())
            return loss

        @convert
        def evaluate(self, x, labels):
            with paddle.no_grad():
                pred = self.ema.module(x).argmax(axis=-1)
            hits = (pred == labels).sum().item()
            return {"acc": hits / len(labels), "pred": pred.numpy()}

    paddle.seed(2)
    model = nn.Sequential(
        nn.Conv2D(1, 4, 3),
        nn.BatchNorm2D(4),
        nn.ReLU(),
        nn.AdaptiveAvgPool2D(1),
        nn.Flatten(),
        nn.Linear(4, 4),
    )
    trainer = Trainer(model, MixConfig())
    rng = np.random.RandomState(1)
    for i, n in enumerate([4, 4, 6, 5]):
        x = paddle.to_tensor(rng.randn(n, 1, 6, 6).astype("float32"))
        labels = paddle.to_tensor(rng.randint(0, 4, n))
        lam = float(rng.beta(0.4, 0.4))
        perm = paddle.to_tensor(rng.permutation(n))
        yield trainer.step(x, labels, lam, perm, rng.rand())
        yield trainer.evaluate(x, labels)
    print(", ".join(f"{h:.3f}" for h in trainer.history))
    yield trainer.ema.module.state_dict()


@program
def preferences_learnt_from_pairs(convert):
    """DPO on packed pairs: reference log-probabilities in a cache, margins, an adaptive beta."""

    class TinyLM(nn.Layer):
        def __init__(self, vocab=11, dim=8):
            super().__init__()
            self.emb = nn.Embedding(vocab, dim)
            self.rnn = nn.GRU(dim, dim)
            self.out = nn.Linear(dim, vocab)

        def forward(self, ids):
            h, _ = self.rnn(self.emb(ids))
            return self.out(h)

    def sequence_logp(model, ids, mask):
        logits = model(ids[:, :-1])
        logp = paddle.take_along_axis(F.log_softmax(logits, -1), ids[:, 1:].unsqueeze(-1), axis=-1)
        return (logp.squeeze(-1) * mask[:, 1:]).sum(-1)

    class DPO:
        VARIANTS = ("sigmoid", "ipo", "hinge")

        def __init__(self, policy, beta=0.1, variant="sigmoid"):
            assert variant in self.VARIANTS, f"unknown variant {variant!r}"
            self.policy = policy
            self.reference = copy.deepcopy(policy)
            for p in self.reference.parameters():
                p.stop_gradient = True
            self.beta, self.variant = beta, variant
            self.cache: Dict[int, paddle.Tensor] = {}
            self.margins: List[float] = []

        def reference_logp(self, key, ids, mask):
            if key not in self.cache:
                with paddle.no_grad():
                    self.cache[key] = sequence_logp(self.reference, ids, mask)
            return self.cache[key]

        @convert
        def loss(self, key, chosen, rejected, cmask, rmask):
            ids = paddle.concat(x=[chosen, rejected], axis=0)
            mask = paddle.concat(x=[cmask, rmask], axis=0)
            ref_c, ref_r = self.reference_logp(key, ids, mask).chunk(chunks=2, axis=0)
            pol_c, pol_r = sequence_logp(self.policy, ids, mask).chunk(chunks=2, axis=0)
            logits = (pol_c - pol_r) - (ref_c - ref_r)
            if self.variant == "sigmoid":
                losses = -F.log_sigmoid(self.beta * logits)
            elif self.variant == "ipo":
                losses = (logits - 1 / (2 * self.beta)) ** 2
            else:
                losses = F.relu(1 - self.beta * logits)
            margin = (self.beta * logits).mean().item()
            self.margins.append(margin)
            if len(self.margins) >= 3 and abs(margin) > 0.5:
                self.beta = max(self.beta * 0.5, 0.01)
            assert not paddle.isnan(losses).any(), f"nan loss at {key}"
            losses.mean().backward()
            return losses, logits.detach(), (logits > 0).astype("float32").mean().item()

    rng = np.random.RandomState(3)
    for variant in ("sigmoid", "ipo", "hinge"):
        paddle.seed(4)
        policy = TinyLM()
        dpo = DPO(policy, beta=0.2, variant=variant)
        opt = paddle.optimizer.SGD(learning_rate=1.0, parameters=policy.parameters())
        for key, length in [(0, 5), (1, 7), (0, 5), (1, 7)]:
            r = np.random.RandomState(key)
            ids = [paddle.to_tensor(r.randint(0, 11, (2, length))) for _ in range(2)]
            masks = [paddle.to_tensor((r.rand(2, length) > 0.2).astype("float32")) for _ in ids]
            yield dpo.loss(key, *ids, *masks)
            opt.step()
            opt.clear_grad()
        yield dpo.beta, dpo.margins
    yield attempt(lambda: DPO(TinyLM(), variant="kto"))


@program
def hard_pixels_and_uncertain_tasks(convert):
    """Several heads: OHEM for pixels, Huber with a moving delta, learnt uncertainties, a schedule."""

    def ohem_cross_entropy(logits, labels, thresh=0.7, min_kept=3, ignore=-1):
        flat = logits.transpose([0, 2, 3, 1]).reshape([-1, logits.shape[1]])
        target = labels.reshape([-1])
        keep = target != ignore
        if not keep.any():
            return flat.sum() * 0.0, 0
        losses = F.cross_entropy(flat, target, ignore_index=ignore, reduction="none").flatten()
        prob = paddle.exp(-losses)
        hard = paddle.logical_and(prob < thresh, keep)
        n_hard = int(hard.sum())
        if n_hard < min_kept:
            kept = min(min_kept, int(keep.sum()))
            masked = paddle.where(keep, losses, paddle.full_like(losses, -1.0))
            top, _ = paddle.topk(masked, k=kept)
            return top.mean(), kept
        return losses[hard].mean(), n_hard

    class MovingHuber:
        def __init__(self, momentum=0.9):
            self.delta = None
            self.momentum = momentum

        def __call__(self, pred, target):
            error = (pred - target).abs()
            now = error.detach().median()
            if self.delta is None:
                self.delta = now
            else:
                self.delta = self.momentum * self.delta + (1 - self.momentum) * now
            d = self.delta
            return paddle.where(error <= d, 0.5 * error**2, d * (error - 0.5 * d)).mean()

    class MultiHead(nn.Layer):
        def __init__(self):
            super().__init__()
            self.trunk = nn.Conv2D(2, 6, 3, padding=1)
            self.seg = nn.Conv2D(6, 3, 1)
            self.depth = nn.Conv2D(6, 1, 1)
            self.log_vars = self.create_parameter(
                [2], default_initializer=nn.initializer.Constant(0.0)
            )
            self.huber = MovingHuber()

        @convert
        def forward(self, x, labels, depth, epoch=0):
            h = F.gelu(self.trunk(x))
            seg_loss, kept = ohem_cross_entropy(self.seg(h), labels)
            reg_loss = self.huber(self.depth(h).squeeze(1), depth)
            parts = {"seg": seg_loss, "depth": reg_loss}
            total = paddle.zeros([])
            for i, (name, value) in enumerate(parts.items()):
                if epoch < 1 and name == "depth":
                    continue
                total += paddle.exp(-self.log_vars[i]) * value + self.log_vars[i]
            return total, {k: float(v) for k, v in parts.items()}, kept

    paddle.seed(5)
    net = MultiHead()
    opt = paddle.optimizer.AdamW(learning_rate=0.05, parameters=net.parameters(), weight_decay=0.01)
    rng = np.random.RandomState(5)
    for epoch in range(3):
        for n, scale in [(1, 1.0), (2, 8.0)]:
            x = paddle.to_tensor((scale * rng.randn(n, 2, 4, 4)).astype("float32"))
            labels = paddle.to_tensor(rng.randint(-1, 3, (n, 4, 4)))
            if epoch == 1:
                labels = paddle.full_like(labels, -1)
            depth = paddle.to_tensor(rng.rand(n, 4, 4).astype("float32"))
            total, parts, kept = net(x, labels, depth, epoch=epoch)
            total.backward()
            opt.step()
            opt.clear_grad()
            yield total, parts, kept
    yield net.log_vars, net.huber.delta


@program
def contrast_of_views_with_hard_pairs(convert):
    """SupCon with a memory deque, a temperature that is clamped, a triplet margin with semi-hards."""

    class Memory:
        def __init__(self, capacity):
            self.items = collections.deque(maxlen=capacity)

        def push(self, feats, labels):
            for f, l in zip(feats, labels):
                self.items.append((f.detach(), int(l)))

        def __len__(self):
            return len(self.items)

        def tensors(self):
            feats = paddle.stack([f for f, _ in self.items])
            return feats, paddle.to_tensor([l for _, l in self.items])

    class SupCon(nn.Layer):
        def __init__(self, dim, temperature=0.2, capacity=8):
            super().__init__()
            self.proj = nn.Linear(dim, 4)
            self.log_t = self.create_parameter(
                [], default_initializer=nn.initializer.Constant(math.log(temperature))
            )
            self.memory = Memory(capacity)

        @convert
        def forward(self, a, b, labels):
            za = F.normalize(self.proj(a), axis=-1)
            zb = F.normalize(self.proj(b), axis=-1)
            keys, key_labels = paddle.concat([za, zb]), paddle.concat([labels, labels])
            if len(self.memory):
                mem, mem_labels = self.memory.tensors()
                keys = paddle.concat([keys, mem])
                key_labels = paddle.concat([key_labels, mem_labels])
            t = self.log_t.exp().clip(min=0.05, max=1.0)
            sim = za @ keys.T / t
            n = len(a)
            self_mask = paddle.zeros_like(sim)
            self_mask[paddle.arange(n), paddle.arange(n)] = 1.0
            positive = (labels.unsqueeze(1) == key_labels.unsqueeze(0)).astype(sim.dtype)
            positive = positive * (1 - self_mask)
            sim = sim - 1e9 * self_mask
            logp = sim - paddle.logsumexp(sim, axis=1, keepdim=True)
            per_anchor = -(positive * logp).sum(1) / positive.sum(1).clip(min=1.0)
            self.memory.push(zb, labels)
            return per_anchor.mean(), self.semi_hard(za, zb, labels)

        def semi_hard(self, za, zb, labels, margin=0.3):
            dist = ((za.unsqueeze(1) - zb.unsqueeze(0)) ** 2).sum(-1)
            total, used = 0.0, 0
            for i in range(len(labels)):
                d_pos = dist[i, i]
                row = dist[i][labels != labels[i]]
                if row.shape[0] == 0:
                    continue
                semi = row[(row > d_pos) & (row < d_pos + margin)]
                neg = semi.min() if semi.shape[0] > 0 else row.min()
                violation = d_pos - neg + margin
                if violation > 0:
                    total = total + violation
                    used += 1
            return total / max(used, 1), used

    paddle.seed(6)
    head = SupCon(dim=5)
    rng = np.random.RandomState(6)
    for n, classes in [(4, 3), (4, 1), (6, 3), (4, 2)]:
        a = paddle.to_tensor(rng.randn(n, 5).astype("float32"))
        b = a + 0.1 * paddle.to_tensor(rng.randn(n, 5).astype("float32"))
        labels = paddle.to_tensor(rng.randint(0, classes, n))
        loss, (triplet, used) = head(a, b, labels)
        (loss + triplet).backward()
        yield loss, triplet, used, len(head.memory)
        yield head.proj.weight.grad, head.log_t.grad
        head.clear_gradients()


@program
def logs_and_checkpoints_of_a_loop(convert):
    """A loop with meters, a context that times phases, best weights kept, patience, a warm restart."""

    class AverageMeter:
        def __init__(self, name, fmt=":.3f"):
            self.name, self.fmt = name, fmt
            self.reset()

        def reset(self):
            self.val = self.avg = self.sum = self.count = 0

        def update(self, val, n=1):
            self.val = val
            self.sum += val * n
            self.count += n
            self.avg = self.sum / self.count

        def __str__(self):
            return ("{name} {val" + self.fmt + "} ({avg" + self.fmt + "})").format(**self.__dict__)

    @dataclass
    class State:
        epoch: int = 0
        best: float = math.inf
        bad_epochs: int = 0
        phases: List[str] = field(default_factory=list)
        weights: Optional[dict] = None

    @contextlib.contextmanager
    def phase(state, name):
        state.phases.append(f"+{name}")
        try:
            yield state
        finally:
            state.phases.append(f"-{name}")

    def cosine_lr(step, total, base=0.3, warmup=2):
        if step < warmup:
            return base * (step + 1) / warmup
        return 0.5 * base * (1 + math.cos(math.pi * (step - warmup) / max(1, total - warmup)))

    class Loop:
        def __init__(self, model, patience=2):
            self.model = model
            self.patience = patience
            self.state = State()
            self.meters = {"train": AverageMeter("train"), "valid": AverageMeter("valid", ":.4f")}
            self.step_count = 0

        def run_epoch(self, xs, ys, total):
            for x, y in zip(xs, ys):
                loss = F.mse_loss(self.model(x), y)
                grads = paddle.grad(loss, self.model.parameters())
                lr = cosine_lr(self.step_count, total)
                with paddle.no_grad():
                    for p, g in zip(self.model.parameters(), grads):
                        p.subtract_(lr * g)
                self.step_count += 1
                self.meters["train"].update(loss.item(), n=x.shape[0])

        @convert
        def fit(self, train, valid, epochs=5):
            state = self.state
            for _ in range(epochs):
                state.epoch += 1
                for meter in self.meters.values():
                    meter.reset()
                with phase(state, "train"):
                    self.run_epoch(*train, total=epochs * len(train[0]))
                with phase(state, "valid"), paddle.no_grad():
                    loss = F.mse_loss(self.model(valid[0]), valid[1])
                self.meters["valid"].update(float(loss), n=len(valid[0]))
                print("epoch", state.epoch, *map(str, self.meters.values()), sep=" | ")
                if loss < state.best - 1e-3:
                    state.best = loss.item()
                    state.bad_epochs = 0
                    state.weights = {k: v.clone() for k, v in self.model.state_dict().items()}
                else:
                    state.bad_epochs += 1
                    if state.bad_epochs >= self.patience:
                        self.model.set_state_dict(state.weights)
                        return "stopped", state.epoch
            return "done", state.epoch

    rng = np.random.RandomState(7)
    w = rng.randn(3, 1).astype("float32")
    for noise, epochs in [(0.0, 5), (2.0, 8)]:
        paddle.seed(7)
        loop = Loop(nn.Linear(3, 1))
        xs = [paddle.to_tensor(rng.randn(4, 3).astype("float32")) for _ in range(3)]
        ys = [
            x @ paddle.to_tensor(w) + noise * paddle.to_tensor(rng.randn(4, 1).astype("float32"))
            for x in xs
        ]
        valid = (paddle.concat(x=xs[:2]), paddle.concat(x=ys[1:]))
        yield loop.fit((xs, ys), valid, epochs=epochs)
        yield loop.fit((xs[:2], ys[:2]), valid, epochs=2)
        yield asdict(loop.state)
        yield loop.model.weight
