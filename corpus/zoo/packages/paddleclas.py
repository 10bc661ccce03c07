"""Backbones of PaddleClas: one or two of each family, with ten classes."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable
from typing import Any

from corpus.zoo.model import Model, Package, image, words

NAMES = words("""
MobileNetV4_conv_small MobileNetV4_hybrid_medium FasterNet_T0 StarNet_S1 PPLCNet_x0_25
PPLCNetV2_small ESNet_x0_25 PPHGNetV2_B0 MobileNetV3_small_x0_35 ResNet50_vd HRNet_W18_C
Res2Net50_14w_8s SE_ResNet18_vd DPN68 EfficientNetB0_small EfficientNetV2_S ResNeSt50_fast_1s1x64d
ShuffleNetV2_swish GhostNet_x0_5 Xception41 DarkNet53 RegNetX_200MF MixNet_S ReXNet_1_0 DLA34
RedNet26 HarDNet39_ds CSPDarkNet53 RepVGG_A0 VAN_B0 PeleeNet ConvNeXt_tiny MicroNet_M0
MobileNeXt_x0_35 TinyNet_E PVT_V2_B0 PVT_V2_B2_Linear MobileViT_XXS MobileViTV2_x0_5 MobileViTV3_XXS
NextViT_small_224 AdaFace_IR_18 WideResNet PPLCNetV2_base_ShiTu ResNet50_adaptive_max_pool2d
""")
LARGE = words("""
ViT_small_patch16_224 DeiT_tiny_distilled_patch16_224 SwinTransformer_tiny_patch4_window7_224
CSWinTransformer_tiny_224 pcpvt_small alt_gvt_small LeViT_128S TNT_small
MOCOV3_vit_small cae_base_patch16_224 CvT_13_224 UniFormer_small DSNet_tiny MobileFaceNet
""")
"""Their weights fix the size of the image: 224."""

OTHERS = {"SVTR_tiny": (32, 3), "AdaFace_IR_18": (112, 3)}


def _builder(name: str) -> Callable[[], Any]:
    def build() -> Any:
        found = getattr(importlib.import_module("ppcls.arch.backbone"), name)
        if name.startswith(("AdaFace", "MobileFaceNet")):
            return found()
        return found(class_num=10)

    return build


def _ready() -> None:
    """The package logs when it builds, and only through a logger that has been set up."""
    importlib.import_module("ppcls.utils.logger").init_logger(log_level=logging.ERROR)


def models() -> list[Model]:
    """Small images where the network takes any size."""
    small = [Model(name, _builder(name), image(OTHERS.get(name, (32, 3))[0])) for name in NAMES]
    return small + [Model(name, _builder(name), image(224, batch=1)) for name in LARGE]


PACKAGE = Package(
    name="paddleclas",
    pins=("paddleclas==2.6.0",),
    roots=("paddleclas/paddleclas",),
    modules=("ppcls.arch.backbone",),
    ready=_ready,
    absent=("visualdl", "faiss"),
    models=models,
)
