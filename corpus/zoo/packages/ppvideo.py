"""Networks of PaddleVideo: actions in videos, and in the skeletons of those who act."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import paddle

from corpus.language import Text
from corpus.zoo.model import Inputs, Model, Package, image, noise, words

Settings = dict[str, Any]
TRANSFORMER: Settings = {
    "img_size": 32,
    "patch_size": 16,
    "embed_dim": 32,
    "depth": 2,
    "num_heads": 4,
    "epsilon": 1e-6,
    "drop_path_rate": 0.0,
    "num_seg": 4,
}

NETWORKS: dict[str, tuple[str, Settings, Inputs]] = {
    "AGCN": ("agcn", {}, noise([1, 2, 16, 25, 1])),
    "AGCN2s": ("agcn2s", {}, noise([1, 3, 16, 25, 2])),
    "CTRGCN": ("ctrgcn", {"base_channel": 16}, noise([1, 3, 16, 25, 2])),
    "STGCN": ("stgcn", {}, noise([1, 2, 16, 25, 1])),
    "ASRF": (
        "asrf",
        {"in_channel": 16, "num_features": 8, "num_classes": 4, "num_stages": 2, "num_layers": 3},
        noise([1, 16, 20]),
    ),
    "MSTCN": (
        "ms_tcn",
        {"num_stages": 3, "num_layers": 3, "num_f_maps": 8, "dim": 16, "num_classes": 4},
        noise([1, 16, 20]),
    ),
    "BMN": (
        "bmn",
        {
            "tscale": 8,
            "dscale": 8,
            "prop_boundary_ratio": 0.5,
            "num_sample": 4,
            "num_sample_perbin": 2,
            "feat_dim": 16,
        },
        noise([1, 16, 8]),
    ),
    "MoViNet": ("movinet", {"hidden_dim": 32, "num_classes": 4}, noise([1, 3, 4, 32, 32])),
    "MoViNet_whole": (
        "movinet",
        {"hidden_dim": 32, "num_classes": 4, "causal": False},
        noise([1, 3, 4, 32, 32]),
    ),
    "ResNet_TSN": ("resnet", {"depth": 50}, image(32)),
    "ResNetTSM": ("resnet_tsm", {"depth": 50, "num_seg": 2}, image(32, batch=4)),
    "ResNetTweaksTSM": ("resnet_tweaks_tsm", {"depth": 50, "num_seg": 2}, image(32, batch=4)),
    "ResNetTweaksTSN": ("resnet_tweaks_tsn", {"layers": 50}, image(32)),
    "ResNetTSN_MRI": ("resnet_tsn_MRI", {"layers": 50}, image(32, channels=1)),
    "SwinTransformer3D": (
        "swin_transformer",
        {
            "patch_size": (2, 4, 4),
            "embed_dim": 12,
            "depths": [2, 2],
            "num_heads": [2, 4],
            "window_size": (2, 4, 4),
            "drop_path_rate": 0.0,
        },
        noise([1, 3, 4, 32, 32]),
    ),
    "TransNetV2": (
        "transnetv2",
        {"F": 4, "L": 1, "S": 1, "D": 16},
        lambda: (paddle.randint(0, 255, [1, 12, 27, 48, 3]).astype("float32"),),
    ),
    "VisionTransformer": ("vit", TRANSFORMER, noise([1, 3, 4, 32, 32])),
    "VisionTransformer_space": (
        "vit",
        {**TRANSFORMER, "attention_type": "space_only"},
        noise([1, 3, 4, 32, 32]),
    ),
    "VisionTransformer_tweaks": ("vit_tweaks", TRANSFORMER, noise([1, 3, 4, 32, 32])),
    "TokenShiftVisionTransformer": ("toshift_vit", TRANSFORMER, noise([1, 3, 4, 32, 32])),
    "ResNet3dSlowOnly": (
        "resnet3d_slowonly",
        {
            "depth": 50,
            "in_channels": 5,
            "base_channels": 8,
            "num_stages": 3,
            "out_indices": [2],
            "stage_blocks": [1, 1, 1],
            "conv1_stride_s": 1,
            "pool1_stride_s": 1,
            "inflate": [0, 1, 1],
            "spatial_strides": [2, 2, 2],
            "temporal_strides": [1, 1, 2],
            "dilations": [1, 1, 1],
            "with_pool2": False,
        },
        noise([1, 5, 4, 16, 16]),
    ),
    "PPTSM_MobileNetV2": ("pptsm_mv2", {"num_seg": 4, "class_num": 4}, image(32, batch=4)),
    "PPTSM_MobileNetV3": ("pptsm_mv3", {"num_seg": 4, "class_num": 4}, image(32, batch=4)),
    "PPTSM_v2": ("pptsm_v2", {"num_seg": 4, "class_num": 4}, image(32, batch=4)),
}
"""Name -> module, settings and inputs."""

MADE_BY = {
    "MoViNet_whole": "MoViNet",
    "ResNet_TSN": "ResNet",
    "VisionTransformer_space": "VisionTransformer",
}


def _builder(name: str, module: str, settings: Settings) -> Callable[[], Any]:
    def build() -> Any:
        found = importlib.import_module(f"paddlevideo.modeling.backbones.{module}")
        return getattr(found, MADE_BY.get(name, name))(**settings)

    return build


def _two_streams() -> tuple[Any, ...]:
    """What is seen and what is heard, with lengths and masks."""
    streams = []
    for width in (16, 8):
        lengths = paddle.to_tensor([5, 5])
        streams.append((paddle.randn([2, 5, width]), lengths, paddle.ones([2, 5, width])))
    return (streams,)


def _listening() -> Any:
    found = importlib.import_module("paddlevideo.modeling.heads.attention_lstm_head")
    return found.AttentionLstmHead(
        num_classes=4, feature_dims=[16, 8], embedding_size=8, lstm_size=8
    )


def _ready() -> None:
    """A name that Paddle had when the package was written."""
    paddle.device.is_compiled_with_npu = lambda: False


def models() -> list[Model]:
    """Backbones, and a head that is a network of its own."""
    made = [
        Model(name, _builder(name, module, settings), inputs)
        for name, (module, settings, inputs) in NETWORKS.items()
    ]
    return [*made, Model("AttentionLstmHead", _listening, _two_streams)]


PACKAGE = Package(
    name="ppvideo",
    pins=("ppvideo==2.3.1",),
    roots=("ppvideo/ppvideo",),
    modules=("paddlevideo.modeling.backbones", "paddlevideo.modeling.heads"),
    ready=_ready,
    absent=words("decord av skimage SimpleITK lmdb paddle.fluid"),
    models=models,
    left_out={
        "CFBI": Text("60 million weights, whatever its settings", "无论怎样设置都有六千万个权重")
    },
)
