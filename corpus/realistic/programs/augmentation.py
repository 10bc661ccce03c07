"""Augmentation and losses on images, sets and sequences."""

import math
from collections import namedtuple
from dataclasses import dataclass
from typing import Optional, Sequence

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import attempt, program


@program
def image_pipeline_with_random_choices(convert):
    """Flip, crop, erase and jitter composed in a pipeline; a draw decides each on tensors."""

    class Transform:
        def __init__(self, p=1.0):
            self.p = p

        def __call__(self, image):
            if paddle.rand([1]) < self.p:
                return self.apply(image)
            return image

        def apply(self, image):
            raise NotImplementedError

    class HorizontalFlip(Transform):
        def apply(self, image):
            return paddle.flip(image, axis=[-1])

    class RandomCrop(Transform):
        def __init__(self, size, padding=1, p=1.0):
            super().__init__(p)
            self.size, self.padding = size, padding

        def apply(self, image):
            padded = F.pad(image.unsqueeze(0), [self.padding] * 4, mode="reflect").squeeze(0)
            top = paddle.randint(0, padded.shape[1] - self.size + 1, [1])
            left = paddle.randint(0, padded.shape[2] - self.size + 1, [1])
            rows = top + paddle.arange(self.size)
            columns = left + paddle.arange(self.size)
            return paddle.index_select(paddle.index_select(padded, rows, 1), columns, 2)

    class Erase(Transform):
        def __init__(self, fraction=0.5, p=0.5, value=0.0):
            super().__init__(p)
            self.fraction, self.value = fraction, value

        def apply(self, image):
            height, width = image.shape[1:]
            y = paddle.arange(height).unsqueeze(1).astype("float32") / height
            x = paddle.arange(width).unsqueeze(0).astype("float32") / width
            corner = paddle.rand([2]) * (1 - self.fraction)
            inside = (y >= corner[0]) & (y < corner[0] + self.fraction)
            inside = inside & (x >= corner[1]) & (x < corner[1] + self.fraction)
            return paddle.where(inside, paddle.full_like(image, self.value), image)

    class ColorJitter(Transform):
        def apply(self, image):
            brightness = 0.8 + 0.4 * paddle.rand([1])
            image = image * brightness
            if image.max() > 1.0:
                image = image / image.max()
            gray = image.mean(axis=0, keepdim=True)
            return gray + (image - gray) * (0.5 + paddle.rand([1]))

    class Compose:
        def __init__(self, *transforms):
            self.transforms = transforms
            self.count = 0

        @convert
        def __call__(self, image):
            self.count += 1
            for transform in self.transforms:
                image = transform(image)
            return image

    pipeline = Compose(HorizontalFlip(p=0.5), RandomCrop(4), Erase(), ColorJitter(p=0.8))
    rng = np.random.RandomState(0)
    for seed, size in ((0, 4), (1, 4), (2, 6), (3, 4), (4, 6)):
        paddle.seed(seed)
        image = paddle.to_tensor(rng.rand(3, size, size).astype("float32"))
        out = pipeline(image)
        yield out, out.shape
    yield pipeline.count
    yield attempt(lambda: Compose(Transform())(image))


@program
def mixup_and_cutmix_with_soft_labels(convert):
    """A batch is mixed in one of three ways by a draw; soft targets with label smoothing."""

    @dataclass
    class MixConfig:
        classes: int = 4
        smoothing: float = 0.1
        mixup: float = 0.5
        cutmix: float = 0.5

    class Mixer:
        def __init__(self, config, seed=0):
            self.config = config
            self.rng = np.random.RandomState(seed)

        def soft(self, labels):
            c = self.config
            hot = F.one_hot(labels, num_classes=c.classes)
            return hot * (1 - c.smoothing) + c.smoothing / c.classes

        def box(self, size, lam):
            side = int(size * math.sqrt(1 - lam))
            top, left = self.rng.randint(0, size - side + 1, 2)
            return top, left, side

        def __call__(self, images, labels, lam, use_cutmix):
            targets = self.soft(labels)
            order = paddle.arange(images.shape[0] - 1, -1, -1)
            other, other_targets = images[order], targets[order]
            if use_cutmix:
                top, left, side = self.box(images.shape[-1], lam)
                images = images.clone()
                images[:, :, top : top + side, left : left + side] = other[
                    :, :, top : top + side, left : left + side
                ]
                lam = 1 - side * side / (images.shape[-1] * images.shape[-2])
            else:
                images = lam * images + (1 - lam) * other
            return images, lam * targets + (1 - lam) * other_targets

    class Net(nn.Layer):
        def __init__(self, classes=4):
            super().__init__()
            self.conv = nn.Conv2D(2, 3, 3, padding=1)
            self.head = nn.Linear(3, classes)

        def forward(self, x):
            return self.head(F.relu(self.conv(x)).mean(axis=[2, 3]))

    def soft_cross_entropy(logits, targets):
        return -(targets * F.log_softmax(logits, axis=-1)).sum(axis=-1).mean()

    net, mixer = Net(), Mixer(MixConfig())

    @convert
    def loss_of(images, labels, lam=None, use_cutmix=False):
        if not net.training or lam is None:
            return F.cross_entropy(net(images), labels)
        images, targets = mixer(images, labels, lam, use_cutmix)
        return soft_cross_entropy(net(images), targets)

    rng = np.random.RandomState(1)
    for n, lam, cut in ((3, 0.7, False), (4, 0.6, True), (2, None, False), (4, 0.3, True)):
        images = paddle.to_tensor(rng.rand(n, 2, 5, 5).astype("float32"))
        labels = paddle.to_tensor(rng.randint(0, 4, n))
        loss = loss_of(images, labels, lam=lam, use_cutmix=cut)
        loss.backward()
        yield loss, net.conv.weight.grad, net.head.bias.grad
        net.clear_gradients()
    net.eval()
    yield loss_of(images, labels, lam=0.5)


@program
def contrastive_queue_and_hard_negatives(convert):
    """InfoNCE with a queue of negatives and a momentum encoder; triplets with mined negatives."""

    class Queue:
        def __init__(self, size, dim):
            self.data = F.normalize(paddle.to_tensor(np.eye(size, dim, dtype="float32")), axis=-1)
            self.pointer, self.size = 0, size

        def push(self, keys):
            for i in range(keys.shape[0]):
                self.data[self.pointer] = keys[i]
                self.pointer = (self.pointer + 1) % self.size

    class MoCo(nn.Layer):
        def __init__(self, inputs=4, dim=3, queue=5, m=0.9, temperature=0.2):
            super().__init__()
            self.query, self.key = nn.Linear(inputs, dim), nn.Linear(inputs, dim)
            for q, k in zip(self.query.parameters(), self.key.parameters()):
                k.set_value(q)
                k.stop_gradient = True
            self.queue, self.m, self.temperature = Queue(queue, dim), m, temperature

        @paddle.no_grad()
        def momentum_update(self):
            for q, k in zip(self.query.parameters(), self.key.parameters()):
                k.set_value(self.m * k + (1 - self.m) * q)

        def forward(self, a, b):
            q = F.normalize(self.query(a), axis=-1)
            with paddle.no_grad():
                self.momentum_update()
                k = F.normalize(self.key(b), axis=-1)
            positive = (q * k).sum(axis=-1, keepdim=True)
            negative = paddle.matmul(q, self.queue.data.clone().detach(), transpose_y=True)
            logits = paddle.concat(x=[positive, negative], axis=1) / self.temperature
            loss = F.cross_entropy(logits, paddle.zeros([a.shape[0]], dtype="int64"))
            self.queue.push(k)
            return loss, (logits.argmax(axis=1) == 0).astype("float32").mean()

    @convert
    def triplet_loss(embeddings, labels, margin=0.3, mining="hard"):
        d = (embeddings.unsqueeze(0) - embeddings.unsqueeze(1)).square().sum(-1)
        d = (d + 1e-12).sqrt()
        same = labels.unsqueeze(0) == labels.unsqueeze(1)
        eye = paddle.eye(labels.shape[0]).astype("bool")
        total, count = paddle.zeros([]), paddle.zeros([])
        for i in range(labels.shape[0]):
            positives, negatives = same[i] & ~eye[i], ~same[i]
            if not (positives.any() and negatives.any()):
                continue
            hardest = paddle.where(positives, d[i], paddle.zeros_like(d[i])).max()
            big = paddle.full_like(d[i], 1e6)
            if mining == "semi":
                allowed = negatives & (d[i] > hardest)
                if not allowed.any():
                    allowed = negatives
                closest = paddle.where(allowed, d[i], big).min()
            else:
                closest = paddle.where(negatives, d[i], big).min()
            total = total + F.relu(hardest - closest + margin)
            count = count + 1
        return total / count.clip(min=1.0), count

    model = convert(MoCo())
    optimizer = paddle.optimizer.SGD(0.1, parameters=model.query.parameters())
    rng = np.random.RandomState(2)
    for n in (2, 2, 3):
        x = rng.randn(n, 4).astype("float32")
        loss, accuracy = model(paddle.to_tensor(x), paddle.to_tensor(x + 0.1))
        loss.backward()
        yield loss, accuracy, model.query.weight.grad, model.queue.pointer
        optimizer.step()
        optimizer.clear_grad()
    yield model.queue.data, model.key.weight
    for mining, labels in (("hard", [0, 0, 1, 1]), ("semi", [0, 1, 0, 1]), ("semi", [2, 2, 2, 2])):
        e = paddle.to_tensor(rng.randn(4, 3).astype("float32"), stop_gradient=False)
        loss, count = triplet_loss(e, paddle.to_tensor(labels), mining=mining)
        loss.backward()
        yield loss, count, e.grad


@program
def spectrogram_masking(convert):
    """SpecAugment: time and frequency bands are masked by drawn widths; lengths are honoured."""
    Band = namedtuple("Band", "start width")

    class SpecAugment:
        def __init__(self, freq_masks=1, time_masks=2, max_freq=2, max_time: float = 0.4):
            self.freq_masks, self.time_masks = freq_masks, time_masks
            self.max_freq, self.max_time = max_freq, max_time
            self.training = True

        def draw(self, limit, size):
            width = (paddle.rand([]) * limit).floor()
            start = (paddle.rand([]) * (size - width)).floor()
            return Band(start=start, width=width)

        def mask(self, positions, band):
            inside = (positions >= band.start) & (positions < band.start + band.width)
            return 1.0 - inside.astype("float32")

        @convert
        def __call__(self, spec, lengths: Optional[Sequence] = None, replace_with_mean=False):
            if not self.training:
                return spec, paddle.ones([])
            batch, freq, time = spec.shape
            rows = []
            kept = []
            for b in range(batch):
                length = lengths[b] if lengths is not None else time
                keep = paddle.ones([freq, time])
                for _ in range(self.freq_masks):
                    band = self.draw(self.max_freq + 1, freq)
                    keep = keep * self.mask(paddle.arange(freq), band).unsqueeze(1)
                for _ in range(self.time_masks):
                    band = self.draw(self.max_time * length, length)
                    keep = keep * self.mask(paddle.arange(time), band).unsqueeze(0)
                filler = spec[b].mean() if replace_with_mean else 0.0
                rows.append(spec[b] * keep + filler * (1 - keep))
                kept.append(keep.mean())
            return paddle.stack(rows), paddle.stack(kept)

    augment = SpecAugment()
    rng = np.random.RandomState(3)
    for seed, shape in ((0, (2, 4, 6)), (1, (1, 5, 8)), (2, (3, 4, 6))):
        paddle.seed(seed)
        spec = paddle.to_tensor(rng.rand(*shape).astype("float32"))
        yield augment(spec)
        yield augment(spec, lengths=paddle.to_tensor([4] * shape[0]), replace_with_mean=True)
        yield augment(spec, lengths=[3] * shape[0])
    augment.training = False
    yield augment(spec)
