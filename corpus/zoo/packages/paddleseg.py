"""Networks of PaddleSeg, most of them on the smallest backbone that they take."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from corpus.zoo.model import Model, Package, image, words

CLASSES = 4
RESNET = "ResNet18_vd"
Settings = dict[str, Any]

ALONE: dict[str, Settings] = {
    "AttentionUNet": {},
    "BiSeNetV2": {},
    "DDRNet_23": {},
    "ENet": {},
    "ESPNetV1": {},
    "ESPNetV2": {},
    "FastSCNN": {},
    "HarDNet": {},
    "PPHumanSegLite": {},
    "RTFormer": {"base_channels": 16, "spp_channels": 16, "head_channels": 16, "cross_size": 2},
    "SegNet": {},
    "SINet": {},
    "U2Netp": {},
    "UNet": {},
    "UNetPlusPlus": {},
    "UNet3Plus": {},
    "LPSNet": {
        "depths": [1, 1, 1, 1, 1],
        "channels": [8, 8, 16, 16, 16],
        "scale_ratios": [1.0, 0.5],
    },
}
"""Networks without a backbone of their own choice."""

ON_BACKBONES: dict[str, tuple[str, Settings]] = {
    "ANN": (RESNET, {"backbone_indices": (2, 3), "inter_channels": 32, "key_value_channels": 16}),
    "BiseNetV1": (RESNET, {}),
    "CCNet": (RESNET, {"recurrence": 2}),
    "DANet": (RESNET, {"backbone_indices": (2, 3)}),
    "DecoupledSegNet": (RESNET, {}),
    "DeepLabV3P": (RESNET, {}),
    "DeepLabV3": (RESNET, {}),
    "DMNet": (RESNET, {"mid_channels": 32}),
    "DNLNet": (RESNET, {}),
    "EMANet": (RESNET, {"ema_channels": 32, "gc_channels": 32, "num_bases": 8}),
    "ENCNet": (RESNET, {"mid_channels": 32}),
    "FastFCN": (RESNET, {"mid_channels": 32}),
    "FCN": ("HRNet_W18_Small_V1", {}),
    "GCNet": (RESNET, {"gc_channels": 32}),
    "GINet": (RESNET, {}),
    "GloRe": (RESNET, {}),
    "GSCNN": (RESNET, {}),
    "ISANet": (RESNET, {"isa_channels": 16, "down_factor": (2, 2)}),
    "LRASPP": ("MobileNetV3_small_x0_35", {}),
    "MobileSeg": ("MobileNetV2_x0_25", {}),
    "OCRNet": (
        "HRNet_W18_Small_V1",
        {"backbone_indices": [0], "ocr_mid_channels": 32, "ocr_key_channels": 16},
    ),
    "PFPNNet": (
        RESNET,
        {
            "backbone_indices": [0, 1, 2, 3],
            "channels": 32,
            "fpn_inplanes": [64, 128, 256, 512],
        },
    ),
    "PointRend": (
        RESNET,
        {
            "backbone_indices": [0, 1, 2, 3],
            "fpn_inplanes": [64, 128, 256, 512],
            "point_num_points": 16,
            "point_subdivision_num_points": 16,
        },
    ),
    "PPLiteSeg": ("STDC1", {}),
    "PSPNet": (RESNET, {"pp_out_channels": 32}),
    "SegFormer": ("MixVisionTransformer_B0", {"embedding_dim": 32}),
    "SFNet": (RESNET, {"backbone_indices": [0, 1, 2, 3]}),
    "STDCSeg": ("STDC1", {}),
    "TopFormer": ("TopTransformer_Tiny", {}),
    "UPerNet": (RESNET, {"backbone_indices": [0, 1, 2, 3], "channels": 32}),
    "PPMobileSeg": ("MobileSeg_Tiny", {}),
    "SegNeXt": (
        "MSCAN_T",
        {"decoder_cfg": {"in_channels": [64, 160, 256], "ham_channels": 32, "channels": 32}},
    ),
    "PortraitNet": ("MobileNetV2_x1_0", {}),
    "Lite_HRNet_FCN": ("Lite_HRNet_18", {"backbone_indices": [-1]}),
    "UHRNet_FCN": ("UHRNet_W18_Small", {}),
    "GhostNet_DeepLab": ("GhostNet_x0_5", {}),
}
"""Network -> its backbone, and what else it is told."""

WIDE = words("AttentionUNet SegNet U2Netp UNet UNetPlusPlus UNet3Plus")
"""These compute much for each pixel, and get smaller images."""

SAME = {"Lite_HRNet_FCN": "FCN", "UHRNet_FCN": "FCN", "GhostNet_DeepLab": "DeepLabV3P"}


def _builder(name: str, backbone: str | None, settings: Settings) -> Callable[[], Any]:
    def build() -> Any:
        found = importlib.import_module("paddleseg.models")
        made = dict(settings)
        if backbone is not None:
            made["backbone"] = getattr(found.backbones, backbone)()
        return getattr(found, SAME.get(name, name))(num_classes=CLASSES, **made)

    return build


def models() -> list[Model]:
    """Two images for each; the widest networks come last."""
    made = [
        Model(name, _builder(name, None, settings), image(32 if name in WIDE else 64))
        for name, settings in ALONE.items()
    ]
    made += [
        Model(name, _builder(name, backbone, settings), image())
        for name, (backbone, settings) in ON_BACKBONES.items()
    ]
    return sorted(made, key=lambda model: model.name in WIDE)


PACKAGE = Package(
    name="paddleseg",
    pins=("paddleseg==2.8.0",),
    roots=("paddleseg",),
    modules=("paddleseg.models",),
    absent=("visualdl", "skimage"),
    models=models,
)
