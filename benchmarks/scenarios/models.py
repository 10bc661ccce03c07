"""Whole models, inference and training: ResNet-18 and a small BERT."""

from __future__ import annotations

import paddle
from paddle import nn
from paddle.nn import functional as F
from paddle.vision.models import resnet18

from benchmarks.by_hand import ByHand
from benchmarks.goals import Goal
from benchmarks.scenario import Scenario
from benchmarks.scenarios.inputs import ramp
from benchmarks.scenarios.layers import as_it_is, sgd, training
from d2s.bench.work import Work

CLASSES = 10
WORDS, LENGTH, WIDTH = 1000, 32, 64


class ResNet(nn.Layer):
    def __init__(self):
        super().__init__()
        self.body = resnet18(num_classes=CLASSES)

    def forward(self, images):
        return self.body(images)


class Bert(nn.Layer):
    """Embeddings, two encoder layers, a pooler and a head."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.places = nn.Embedding(LENGTH, WIDTH)
        self.norm = nn.LayerNorm(WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, 4, 4 * WIDTH, 0.0, activation="gelu")
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.pooler = nn.Linear(WIDTH, WIDTH)
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, ids):
        mask = (ids != 0).astype("float32")
        x = self.words(ids) + self.places(paddle.arange(ids.shape[1]))
        x = self.norm(x)
        x = self.encoder(x, ((1.0 - mask) * -1e4).unsqueeze([1, 2]))
        return self.head(paddle.tanh(self.pooler(x[:, 0])))


class Classifier(nn.Layer):
    """The loss of a model that gives logits."""

    def __init__(self, model: nn.Layer):
        super().__init__()
        self.model = model

    def forward(self, x, labels):
        return F.cross_entropy(self.model(x), labels)


def images() -> paddle.Tensor:
    return ramp(2, 3, 64, 64)


def ids() -> paddle.Tensor:
    return (paddle.arange(2 * LENGTH).reshape([2, LENGTH]) * 37) % WORDS


def _resnet() -> ResNet:
    layer = ResNet()
    layer.eval()
    return layer


def _bert() -> Bert:
    layer = Bert()
    layer.eval()
    return layer


def resnet() -> Work:
    return Work(_resnet(), (images(),))


def resnet_training() -> Work:
    return training(Classifier(ResNet()), images(), paddle.arange(2))


def bert() -> Work:
    return Work(_bert(), (ids(),))


def bert_training() -> Work:
    return training(Classifier(Bert()), ids(), paddle.arange(2))


SCENARIOS = (
    Scenario(
        "resnet",
        "ResNet-18, inference",
        resnet,
        by_hand=ByHand(as_it_is, _resnet),
        goals=(Goal(1, "best"),),
    ),
    Scenario(
        "resnet-training",
        "ResNet-18, training step",
        resnet_training,
        by_hand=ByHand(as_it_is, lambda: Classifier(ResNet()), sgd),
        goals=(Goal(1, "best"),),
    ),
    Scenario(
        "bert",
        "small BERT, inference",
        bert,
        by_hand=ByHand(as_it_is, _bert),
        goals=(Goal(1, "best"),),
    ),
    Scenario(
        "bert-training",
        "small BERT, training step",
        bert_training,
        by_hand=ByHand(as_it_is, lambda: Classifier(Bert()), sgd),
        goals=(Goal(1, "best"),),
    ),
)
