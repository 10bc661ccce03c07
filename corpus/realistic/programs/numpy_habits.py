"""Functions that step out to NumPy and Python numbers in the middle, as people write them."""

from dataclasses import dataclass
from typing import List

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import program


@program
def beam_search_tolist(convert):
    """Beam search over Python hypotheses: topk on tensors, the rest on lists."""

    @dataclass
    class Hypothesis:
        tokens: List[int]
        score: float

        def extend(self, token, logp):
            return Hypothesis(self.tokens + [token], self.score + logp)

        @property
        def normalised(self):
            return self.score / len(self.tokens)

    class BeamDecoder:
        def __init__(self, table, width=2, eos=0):
            self.table, self.width, self.eos = table, width, eos

        @convert
        def decode(self, start, max_len=5):
            beams = [Hypothesis([start], 0.0)]
            finished = []
            for _ in range(max_len):
                candidates = []
                for beam in beams:
                    logp = F.log_softmax(self.table[beam.tokens[-1]], axis=-1)
                    values, indices = paddle.topk(logp, k=self.width)
                    for v, i in zip(values.numpy().tolist(), indices.numpy().tolist()):
                        candidates.append(beam.extend(i, v))
                candidates.sort(key=lambda h: h.score, reverse=True)
                beams = []
                for h in candidates[: self.width]:
                    (finished if h.tokens[-1] == self.eos else beams).append(h)
                if not beams:
                    break
            return max(finished or beams, key=lambda h: h.normalised)

    table = paddle.to_tensor(np.random.RandomState(0).randn(7, 7).astype("float32"))
    for width in (1, 2, 3):
        decoder = BeamDecoder(table, width)
        for start in (1, 4):
            yield decoder.decode(start)
    yield decoder.decode(2, max_len=1)


@program
def nms_via_numpy(convert):
    """Detection head: tensors up to the scores, NumPy for the suppression, tensors again."""

    class Detector(nn.Layer):
        def __init__(self, iou_threshold=0.4):
            super().__init__()
            self.regress = nn.Linear(4, 4)
            self.score = nn.Linear(4, 1)
            self.iou_threshold = iou_threshold

        def suppress(self, boxes, scores):
            x1, y1, x2, y2 = boxes.T
            area = (x2 - x1).clip(0) * (y2 - y1).clip(0)
            order = scores.argsort()[::-1]
            keep = []
            while order.size > 0:
                i = order[0]
                keep.append(int(i))
                w = (np.minimum(x2[i], x2[order[1:]]) - np.maximum(x1[i], x1[order[1:]])).clip(0)
                h = (np.minimum(y2[i], y2[order[1:]]) - np.maximum(y1[i], y1[order[1:]])).clip(0)
                iou = w * h / (area[i] + area[order[1:]] - w * h + 1e-9)
                order = order[1:][iou <= self.iou_threshold]
            return keep

        def forward(self, anchors):
            boxes = anchors + 0.1 * self.regress(anchors)
            scores = F.sigmoid(self.score(anchors)).squeeze(-1)
            keep = self.suppress(boxes.detach().numpy(), scores.detach().numpy())
            return paddle.gather(boxes, paddle.to_tensor(keep)), len(keep)

    paddle.seed(3)
    model = Detector()
    run = convert(model)
    rng = np.random.RandomState(1)
    for n in (4, 4, 6):
        corner = rng.rand(n, 2) * 4
        anchors = np.concatenate([corner, corner + 1 + rng.rand(n, 2) * 2], 1).astype("float32")
        boxes, kept = run(paddle.to_tensor(anchors))
        boxes.sum().backward()
        yield boxes, kept, model.regress.weight.grad
        model.clear_gradients()


@program
def running_metrics_numpy(convert):
    """A confusion matrix kept in NumPy and a loss history of floats, updated by a converted step."""

    class Metrics:
        def __init__(self, classes):
            self.confusion = np.zeros((classes, classes), dtype="int64")
            self.losses = []

        def update(self, logits, labels, loss):
            predicted = logits.argmax(axis=-1).numpy()
            np.add.at(self.confusion, (labels.numpy(), predicted), 1)
            self.losses.append(float(loss))

        @property
        def accuracy(self):
            return float(np.trace(self.confusion) / max(self.confusion.sum(), 1))

    paddle.seed(9)
    net = nn.Linear(3, 3)
    metrics = Metrics(3)

    @convert
    def evaluate(x, y):
        logits = net(x)
        loss = F.cross_entropy(logits, y)
        metrics.update(logits, y, loss)
        if metrics.losses[-1] > 1.2:
            print("high loss")
        return loss

    rng = np.random.RandomState(2)
    for n in (4, 4, 2, 6):
        x = paddle.to_tensor(rng.randn(n, 3).astype("float32"))
        yield evaluate(x, paddle.to_tensor(rng.randint(0, 3, n)))
        yield metrics.accuracy
    yield metrics


@program
def scipy_style_minimize(convert):
    """A NumPy optimizer (golden section, then Nelder-Mead-like shrink) around a tensor objective."""

    class Objective:
        def __init__(self, target):
            self.target = target
            self.evaluations = 0

        @convert
        def value_and_grad(self, w):
            w = paddle.to_tensor(w, dtype="float32", stop_gradient=False)
            loss = ((paddle.tanh(w) - self.target) ** 2).sum()
            (grad,) = paddle.grad(loss, w)
            self.evaluations += 1
            return loss.item(), grad.numpy()

    def minimize(fun, x0, steps=6):
        x, step = np.asarray(x0, dtype="float32"), 1.0
        best, g = fun(x)
        for _ in range(steps):
            trial = x - step * g
            value, trial_g = fun(trial)
            if value < best:
                x, best, g, step = trial, value, trial_g, step * 1.2
            else:
                step *= 0.5
        return x, best

    for target in ([0.5, -0.5], [0.9, 0.1, 0.0]):
        objective = Objective(paddle.to_tensor(target))
        yield minimize(objective.value_and_grad, np.zeros(len(target)))
        yield objective.evaluations


@program
def curriculum_by_item(convert):
    """A curriculum that reads .item() of the loss to pick the next difficulty, with a patience."""

    class Curriculum:
        LEVELS = ("easy", "medium", "hard")

        def __init__(self, patience=2, threshold=0.4):
            self.level = 0
            self.patience, self.threshold = patience, threshold
            self.below = 0

        def observe(self, loss_value):
            if loss_value < self.threshold:
                self.below += 1
            else:
                self.below = 0
            if self.below >= self.patience and self.level < len(self.LEVELS) - 1:
                self.level += 1
                self.below = 0
            return self.LEVELS[self.level]

    paddle.seed(12)
    net = nn.Linear(2, 1)
    sgd = paddle.optimizer.SGD(learning_rate=0.1, parameters=net.parameters())
    curriculum = Curriculum()

    @convert
    def train_step(x, noise):
        scale = {"easy": 0.0, "medium": 0.5, "hard": 1.0}[curriculum.LEVELS[curriculum.level]]
        target = x.sum(axis=1, keepdim=True)
        loss = F.mse_loss(net(x + scale * noise), target)
        loss.backward()
        sgd.step()
        sgd.clear_grad()
        name = curriculum.observe(loss.item())
        return loss, name

    rng = np.random.RandomState(6)
    for _ in range(8):
        x = paddle.to_tensor(rng.randn(8, 2).astype("float32"))
        yield train_step(x, paddle.to_tensor(rng.randn(8, 2).astype("float32")))
    yield curriculum, net
