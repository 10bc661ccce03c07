"""Networks of PaddleFSL, which learns from few examples."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import paddle

from corpus.zoo.model import Inputs, Model, Package, image, noise, words

Settings = dict[str, Any]
NETWORKS: dict[str, tuple[str, Settings, Inputs]] = {
    "MLP": (
        "backbones.mlp.MLP",
        {"input_size": (1, 8, 8), "output_size": 5, "hidden_sizes": [16, 8]},
        image(8, batch=4, channels=1),
    ),
    "Conv": (
        "backbones.conv.Conv",
        {"input_size": (1, 16, 16), "output_size": 5, "conv_channels": [8, 8]},
        image(16, batch=4, channels=1),
    ),
    "Conv_without_pooling": (
        "backbones.conv.Conv",
        {"input_size": (3, 16, 16), "output_size": 5, "conv_channels": [8, 8], "pooling": False},
        image(16, batch=4),
    ),
    "RCConv1D": (
        "backbones.conv.RCConv1D",
        {"max_len": 12, "embedding_size": 6, "hidden_size": 8, "output_size": 5},
        noise([4, 12, 6]),
    ),
    "ConvEmbedModel": (
        "backbones.relationnet.ConvEmbedModel",
        {"input_size": (1, 28, 28), "num_filters": 8},
        image(28, channels=1),
    ),
    "ConvRelationModel": (
        "backbones.relationnet.ConvRelationModel",
        {"input_size": (8, 8, 8), "output_size": 3, "num_filters": 8},
        noise([3, 8, 8, 8], [4, 8, 8, 8]),
    ),
    "RCPositionEmbedding": (
        "backbones.rc_position_embedding.RCPositionEmbedding",
        {"max_len": 10, "embedding_dim": 6, "position_embedding_dim": 3},
        lambda: (paddle.randint(0, 9, [2, 10, 8]).astype("float32"),),
    ),
    "ContextMLP": (
        "model_zoo.par.ContextMLP",
        {"inp_dim": 8, "hidden_dim": 8, "num_layers": 2, "pre_fc": 1, "dropout": 0.1},
        noise([6, 8], [4, 8]),
    ),
    "TaskAwareRelation": (
        "model_zoo.par.TaskAwareRelation",
        {"inp_dim": 8, "hidden_dim": 8, "num_layers": 2, "edge_n_layer": 2, "top_k": 3},
        noise([3, 7, 8]),
    ),
    "TaskAwareRelation_distances": (
        "model_zoo.par.TaskAwareRelation",
        {
            "inp_dim": 8,
            "hidden_dim": 8,
            "num_layers": 2,
            "edge_n_layer": 2,
            "adj_type": "dist",
            "batch_norm": True,
        },
        noise([3, 7, 8]),
    ),
}
"""Name -> module and class, settings and inputs."""


def _builder(place: str, settings: Settings) -> Callable[[], Any]:
    module, _, kind = place.rpartition(".")

    def build() -> Any:
        return getattr(importlib.import_module(f"paddlefsl.{module}"), kind)(**settings)

    return build


def models() -> list[Model]:
    """All of them take milliseconds."""
    return [
        Model(name, _builder(place, settings), inputs)
        for name, (place, settings, inputs) in NETWORKS.items()
    ]


PACKAGE = Package(
    name="paddlefsl",
    pins=("paddlefsl==1.1.0",),
    roots=("paddlefsl",),
    modules=("paddlefsl.backbones", "paddlefsl.model_zoo.par"),
    absent=words("pahelix pgl paddlenlp rdkit visualdl tqdm pandas sklearn cv2 scipy"),
    alone=True,
    models=models,
)
