"""Small networks with their preparation: vocabularies, masks, bags, neighbours, blocks by config."""

import math
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Dict, List, Optional, Tuple

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import attempt, program


@program
def text_cnn_with_a_vocabulary(convert):
    """Reviews to ids with a minimum frequency, kernels of three widths, F1 per class."""

    class Vocabulary:
        PAD, UNK = "<pad>", "<unk>"

        def __init__(self, texts, min_freq=2):
            counts = Counter(word for text in texts for word in self.split(text))
            self.itos = [self.PAD, self.UNK]
            self.itos += [w for w, c in counts.most_common() if c >= min_freq]
            self.stoi = {w: i for i, w in enumerate(self.itos)}

        def __len__(self):
            return len(self.itos)

        @staticmethod
        def split(text):
            return re.findall(r"[a-z']+", text.lower())

        def encode(self, text, length):
            ids = [self.stoi.get(w, self.stoi[self.UNK]) for w in self.split(text)][:length]
            return ids + [self.stoi[self.PAD]] * (length - len(ids))

    class TextCNN(nn.Layer):
        def __init__(self, vocab, dim=6, widths=(2, 3, 4), channels=4, classes=2):
            super().__init__()
            self.embed = nn.Embedding(vocab, dim, padding_idx=0)
            self.convs = nn.LayerList([nn.Conv1D(dim, channels, w) for w in widths])
            self.out = nn.Linear(channels * len(widths), classes)
            self.widths = widths

        def forward(self, ids):
            h = self.embed(ids).transpose([0, 2, 1])
            shortest = ids.shape[1]
            if shortest < max(self.widths):
                h = F.pad(h, [0, max(self.widths) - shortest], data_format="NCL")
            pooled = [F.relu(conv(h)).max(axis=-1) for conv in self.convs]
            return self.out(paddle.concat(pooled, axis=-1))

    class Scores:
        def __init__(self, classes):
            self.tp = paddle.zeros([classes])
            self.fp = paddle.zeros([classes])
            self.fn = paddle.zeros([classes])

        def update(self, logits, labels):
            predicted = logits.argmax(axis=-1)
            for c in range(self.tp.shape[0]):
                hit = (predicted == c) & (labels == c)
                self.tp[c] += hit.astype("float32").sum()
                self.fp[c] += ((predicted == c) & (labels != c)).astype("float32").sum()
                self.fn[c] += ((predicted != c) & (labels == c)).astype("float32").sum()

        def compute(self):
            report = {}
            for c in range(self.tp.shape[0]):
                if self.tp[c] == 0:
                    report[f"f1/{c}"] = 0.0
                    continue
                precision = self.tp[c] / (self.tp[c] + self.fp[c])
                recall = self.tp[c] / (self.tp[c] + self.fn[c])
                report[f"f1/{c}"] = float(2 * precision * recall / (precision + recall))
            report["macro"] = sum(report.values()) / len(report)
            return report

    texts = [
        ("A good film, good and warm", 1),
        ("bad plot and bad cast", 0),
        ("the film is good", 1),
        ("the cast is bad, the film is long", 0),
        ("warm and long", 1),
    ]
    paddle.seed(3)
    vocab = Vocabulary([t for t, _ in texts])
    model = TextCNN(len(vocab))
    opt = paddle.optimizer.Adam(0.05, parameters=model.parameters())

    @convert
    def train_step(ids, labels, smoothing=0.1):
        logits = model(ids)
        onehot = F.label_smooth(F.one_hot(labels, 2), epsilon=smoothing)
        loss = F.cross_entropy(logits, onehot, soft_label=True)
        loss.backward()
        opt.step()
        opt.clear_grad()
        return loss, logits

    @convert
    def evaluate(scores, batches):
        model.eval()
        for ids, labels in batches:
            with paddle.no_grad():
                scores.update(model(ids), labels)
        model.train()
        return scores.compute()

    yield vocab.itos
    for epoch in range(3):
        length = (8, 5, 3)[epoch]
        ids = paddle.to_tensor([vocab.encode(t, length) for t, _ in texts])
        labels = paddle.to_tensor([y for _, y in texts])
        yield train_step(ids, labels)
        yield evaluate(Scores(2), [(ids[:3], labels[:3]), (ids[3:], labels[3:])])
    yield model.embed.weight


@program
def masked_autoencoder_on_patches(convert):
    """Patches shuffled by noise, a part encoded, mask tokens put back, loss on the hidden ones."""

    @dataclass
    class Config:
        image: int = 8
        patch: int = 2
        dim: int = 8
        depth: int = 1
        mask_ratio: float = 0.75
        norm_pix: bool = True

        @property
        def tokens(self):
            return (self.image // self.patch) ** 2

    def sincos(n, dim):
        at = np.arange(n)[:, None] / 10000 ** (np.arange(dim // 2)[None] / (dim // 2))
        return paddle.to_tensor(np.concatenate([np.sin(at), np.cos(at)], 1).astype("float32"))

    class Block(nn.Layer):
        def __init__(self, dim, heads=2):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
            self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
            self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
            self.heads = heads

        def forward(self, x):
            b, n, d = x.shape
            qkv = self.qkv(self.norm1(x)).reshape([b, n, 3, self.heads, d // self.heads])
            q, k, v = qkv.transpose([2, 0, 3, 1, 4])
            attn = F.softmax(q @ k.transpose([0, 1, 3, 2]) / math.sqrt(d // self.heads), axis=-1)
            x = x + self.proj((attn @ v).transpose([0, 2, 1, 3]).reshape([b, n, d]))
            return x + self.mlp(self.norm2(x))

    class MaskedAutoencoder(nn.Layer):
        def __init__(self, cfg: Config):
            super().__init__()
            self.cfg = cfg
            self.embed = nn.Linear(cfg.patch**2, cfg.dim)
            self.register_buffer("pos", sincos(cfg.tokens, cfg.dim))
            self.mask_token = self.create_parameter(
                [1, 1, cfg.dim], default_initializer=nn.initializer.Normal(std=0.02)
            )
            self.encoder = nn.LayerList([Block(cfg.dim) for _ in range(cfg.depth)])
            self.decoder = nn.LayerList([Block(cfg.dim)])
            self.head = nn.Linear(cfg.dim, cfg.patch**2)

        def patchify(self, images):
            p, n = self.cfg.patch, self.cfg.image // self.cfg.patch
            x = images.reshape([-1, n, p, n, p]).transpose([0, 1, 3, 2, 4])
            return x.reshape([-1, n * n, p * p])

        def random_mask(self, x, noise):
            keep = int(x.shape[1] * (1 - self.cfg.mask_ratio))
            shuffle = paddle.argsort(noise, axis=1)
            restore = paddle.argsort(shuffle, axis=1)
            kept = shuffle[:, :keep]
            visible = paddle.take_along_axis(x, kept.unsqueeze(-1), axis=1, broadcast=True)
            mask = paddle.ones(noise.shape)
            mask[:, :keep] = 0
            return visible, paddle.take_along_axis(mask, restore, axis=1), restore

        @convert
        def forward(self, images, noise):
            target = self.patchify(images)
            x = self.embed(target) + self.pos
            x, mask, restore = self.random_mask(x, noise)
            for block in self.encoder:
                x = block(x)
            missing = restore.shape[1] - x.shape[1]
            filler = self.mask_token.expand([x.shape[0], missing, -1])
            full = paddle.concat([x, filler], axis=1)
            index = restore.unsqueeze(-1).expand([-1, -1, full.shape[-1]])
            x = paddle.take_along_axis(full, index, axis=1) + self.pos
            for block in self.decoder:
                x = block(x)
            pred = self.head(x)
            if self.cfg.norm_pix:
                mean = target.mean(axis=-1, keepdim=True)
                var = target.var(axis=-1, keepdim=True)
                target = (target - mean) / (var + 1e-6) ** 0.5
            loss = ((pred - target) ** 2).mean(axis=-1)
            loss = (loss * mask).sum() / mask.sum()
            return {"loss": loss, "pred": pred, "mask": mask}

    rng = np.random.RandomState(4)
    paddle.seed(8)
    for ratio, norm in ((0.75, True), (0.5, False)):
        model = MaskedAutoencoder(Config(mask_ratio=ratio, norm_pix=norm))
        opt = paddle.optimizer.AdamW(1e-2, parameters=model.parameters(), weight_decay=0.05)
        for step in range(3):
            b = 2 + step % 2
            images = paddle.to_tensor(rng.rand(b, 8, 8).astype("float32"))
            noise = paddle.to_tensor(rng.rand(b, model.cfg.tokens).astype("float32"))
            out = model(images, noise)
            out["loss"].backward()
            yield out, model.mask_token.grad
            opt.step()
            opt.clear_grad()


@program
def bags_judged_by_attention(convert):
    """Multiple instances: bags of any size, gated attention, the instances that explain a bag."""

    class GatedAttention(nn.Layer):
        def __init__(self, dim, hidden=4):
            super().__init__()
            self.v, self.u, self.w = (
                nn.Linear(dim, hidden),
                nn.Linear(dim, hidden),
                nn.Linear(hidden, 1),
            )

        def forward(self, h):
            scores = self.w(paddle.tanh(self.v(h)) * F.sigmoid(self.u(h))).squeeze(-1)
            return F.softmax(scores, axis=0)

    class BagClassifier(nn.Layer):
        def __init__(self, dim=3):
            super().__init__()
            self.features = nn.Sequential(nn.Linear(dim, 5), nn.ReLU())
            self.attention = GatedAttention(5)
            self.head = nn.Linear(5, 1)

        def forward(self, bag):
            h = self.features(bag)
            a = self.attention(h)
            return self.head((a.unsqueeze(-1) * h).sum(axis=0)).squeeze(), a

    paddle.seed(21)
    model = BagClassifier()
    opt = paddle.optimizer.Momentum(0.1, parameters=model.parameters())

    @convert
    def train_on(bags, labels):
        losses, hits = [], 0
        for bag, label in zip(bags, labels):
            logit, attention = model(bag)
            losses.append(F.binary_cross_entropy_with_logits(logit, label))
            if (logit > 0) == (label > 0.5):
                hits += 1
        total = sum(losses) / len(losses)
        total.backward()
        opt.step()
        opt.clear_grad()
        return {"loss": total, "accuracy": hits / len(bags)}

    @convert
    def explain(bag, share=0.6):
        """The fewest instances whose attention adds up to a share of the whole."""
        with paddle.no_grad():
            logit, attention = model(bag)
        if logit < -4:
            return "clearly negative", []
        order = paddle.argsort(attention, descending=True)
        picked, mass = [], paddle.zeros([])
        for i in order:
            picked.append(int(i))
            mass += attention[i]
            if mass >= share:
                break
        return f"{len(picked)} of {bag.shape[0]}", picked

    rng = np.random.RandomState(5)
    for _ in range(4):
        bags, labels = [], []
        for size in rng.randint(2, 6, size=3):
            bag = rng.randn(size, 3).astype("float32")
            bags.append(paddle.to_tensor(bag))
            labels.append(paddle.to_tensor(np.float32(bag.max() > 1.5)))
        yield train_on(bags, labels)
        yield explain(bags[0]), explain(bags[1], share=0.9)
    yield model.attention.w.weight


@program
def labels_corrected_and_smoothed(convert):
    """A base predictor on nodes, its residuals spread over the graph, then its labels smoothed."""

    class Graph:
        def __init__(self, n, edges):
            self.n = n
            pairs = edges + [(b, a) for a, b in edges] + [(i, i) for i in range(n)]
            self.src = paddle.to_tensor([a for a, _ in pairs])
            self.dst = paddle.to_tensor([b for _, b in pairs])
            degree = paddle.zeros([n]).scatter(self.dst, paddle.ones([len(pairs)]), overwrite=False)
            inverse = degree.rsqrt()
            self.weight = inverse[self.src] * inverse[self.dst]

        def spread(self, x):
            messages = x.index_select(self.src) * self.weight.unsqueeze(-1)
            return paddle.zeros_like(x).scatter(self.dst, messages, overwrite=False)

    def propagate(graph, start, alpha, clamp=None, tolerance=1e-3, limit=20):
        x, rounds = start, 0
        while True:
            new = alpha * graph.spread(x) + (1 - alpha) * start
            if clamp is not None:
                mask, values = clamp
                new = paddle.where(mask.unsqueeze(-1), values, new)
            rounds += 1
            change = (new - x).abs().max()
            x = new
            if change < tolerance or rounds >= limit:
                break
        return x, rounds

    @convert
    def correct_and_smooth(graph, soft, labels, train_mask, scale="auto"):
        onehot = F.one_hot(labels, soft.shape[1])
        error = paddle.where(train_mask.unsqueeze(-1), onehot - soft, paddle.zeros_like(soft))
        spread, first = propagate(graph, error, 0.8)
        if scale == "auto":
            sigma = error.abs().sum() / train_mask.astype("float32").sum()
            size = spread.abs().sum(axis=1, keepdim=True)
            factor = sigma / size
            factor = paddle.where(
                paddle.isinf(factor) | (factor > 1000), paddle.ones_like(factor), factor
            )
            spread = spread * factor
        corrected = soft + (scale if isinstance(scale, float) else 1.0) * spread
        corrected = paddle.where(paddle.isnan(corrected), soft, corrected)
        start = paddle.where(train_mask.unsqueeze(-1), onehot, corrected)
        smooth, second = propagate(graph, start, 0.6, clamp=(train_mask, onehot))
        return smooth, smooth.argmax(axis=-1), {"rounds": (first, second)}

    rng = np.random.RandomState(10)
    for n, extra in ((6, 2), (9, 4), (6, 3)):
        edges = [(i, (i + 1) % n) for i in range(n)]
        edges += [tuple(int(v) for v in rng.choice(n, 2, replace=False)) for _ in range(extra)]
        graph = Graph(n, edges)
        soft = F.softmax(paddle.to_tensor(rng.randn(n, 3).astype("float32")), axis=-1)
        labels = paddle.to_tensor(rng.randint(0, 3, n))
        known = paddle.to_tensor(rng.rand(n) < 0.5)
        yield correct_and_smooth(graph, soft, labels, known)
        yield correct_and_smooth(graph, soft, labels, known, scale=0.5)


@program
def inverted_residuals_with_stochastic_depth(convert):
    """Mobile blocks from rows of settings, squeeze and excite, paths dropped by given draws."""

    def make_divisible(v, divisor=4):
        new = max(divisor, int(v + divisor / 2) // divisor * divisor)
        return new + divisor if new < 0.9 * v else new

    class SqueezeExcite(nn.Layer):
        def __init__(self, channels, ratio=0.25):
            super().__init__()
            hidden = make_divisible(channels * ratio)
            self.down = nn.Conv2D(channels, hidden, 1)
            self.up = nn.Conv2D(hidden, channels, 1)

        def forward(self, x):
            s = F.adaptive_avg_pool2d(x, 1)
            return x * F.hardsigmoid(self.up(F.relu(self.down(s))))

    class InvertedResidual(nn.Layer):
        def __init__(self, cin, cout, expand, stride, se, act, keep):
            super().__init__()
            hidden = make_divisible(cin * expand)
            layers: List[nn.Layer] = []
            if hidden != cin:
                layers += [
                    nn.Conv2D(cin, hidden, 1, bias_attr=False),
                    nn.BatchNorm2D(hidden),
                    act(),
                ]
            layers += [
                nn.Conv2D(hidden, hidden, 3, stride, 1, groups=hidden, bias_attr=False),
                nn.BatchNorm2D(hidden),
                act(),
            ]
            if se:
                layers.append(SqueezeExcite(hidden))
            layers += [nn.Conv2D(hidden, cout, 1, bias_attr=False), nn.BatchNorm2D(cout)]
            self.body = nn.Sequential(*layers)
            self.residual = stride == 1 and cin == cout
            self.keep = keep

        def forward(self, x, draw: Optional[paddle.Tensor] = None):
            if not self.residual:
                return self.body(x)
            if self.training and draw is not None:
                if draw > self.keep:
                    return x
                return x + self.body(x) / self.keep
            return x + self.body(x)

    @dataclass
    class Row:
        expand: float
        channels: int
        stride: int
        repeats: int = 1
        se: bool = False
        act: type = field(default=nn.ReLU)

    class MobileNet(nn.Layer):
        def __init__(self, rows: List[Row], width=1.0, survival=0.6, classes=3):
            super().__init__()
            channels = make_divisible(4 * width)
            self.stem = nn.Sequential(nn.Conv2D(1, channels, 3, 2, 1), nn.Hardswish())
            total = sum(r.repeats for r in rows)
            blocks = []
            for row in rows:
                cout = make_divisible(row.channels * width)
                for k in range(row.repeats):
                    keep = 1 - (1 - survival) * (len(blocks) + 1) / total
                    stride = row.stride if k == 0 else 1
                    blocks.append(
                        InvertedResidual(channels, cout, row.expand, stride, row.se, row.act, keep)
                    )
                    channels = cout
            self.blocks = nn.LayerList(blocks)
            self.head = nn.Linear(channels, classes)

        @convert
        def forward(self, x, draws=None):
            taps: Dict[str, Tuple[int, ...]] = {}
            x = self.stem(x)
            for i, block in enumerate(self.blocks):
                x = block(x, None if draws is None else draws[i])
                if i % 2 == 0:
                    taps[f"block{i}"] = tuple(x.shape)
            return self.head(x.mean(axis=[2, 3])), taps

    rows = [Row(1, 4, 1), Row(2, 8, 2, 2, True, nn.Hardswish), Row(2, 8, 1, 1, True)]
    paddle.seed(13)
    net = MobileNet(rows)
    rng = np.random.RandomState(6)
    opt = paddle.optimizer.RMSProp(0.01, parameters=net.parameters())
    for step in range(4):
        x = paddle.to_tensor(rng.randn(2 + step % 2, 1, 12, 12).astype("float32"))
        draws = paddle.to_tensor(rng.rand(len(net.blocks)).astype("float32"))
        logits, taps = net(x, draws)
        loss = F.cross_entropy(logits, paddle.zeros([x.shape[0]], dtype="int64"))
        loss.backward()
        opt.step()
        opt.clear_grad()
        yield loss, taps, draws
    net.eval()
    yield net(x)[0], net.blocks[1].body[1]._mean
    yield attempt(lambda: net(x[:, :, 0]))
