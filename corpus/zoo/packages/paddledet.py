"""Detectors of PaddleDetection, with their labels in training and their boxes in evaluation."""

from __future__ import annotations

import copy
import importlib
from collections.abc import Callable
from typing import Any

import paddle

from corpus.zoo.model import Inputs, Model, Package, words

CLASSES = 4
Settings = dict[str, Any]

NMS = {"name": "MultiClassNMS", "score_threshold": 0.001, "nms_top_k": 20, "keep_top_k": 10}
RESNET = {"depth": 18, "freeze_norm": False, "norm_type": "bn", "return_idx": [1, 2, 3]}
PYRAMID = {
    "out_channel": 32,
    "spatial_scales": [0.125, 0.0625, 0.03125],
    "extra_stage": 2,
    "has_extra_convs": True,
    "use_c5": False,
}
LEVELS = {"FCOSFeat": {"feat_in": 32, "feat_out": 32, "num_convs": 1, "norm_type": "bn"}}
RPN = {
    "in_channel": 32,
    "anchor_generator": {"anchor_sizes": [[16], [32], [64]], "strides": [8, 16, 32]},
    "rpn_target_assign": {"batch_size_per_im": 16, "use_random": False},
    "train_proposal": {"pre_nms_top_n": 40, "post_nms_top_n": 16, "topk_after_collect": True},
    "test_proposal": {"pre_nms_top_n": 40, "post_nms_top_n": 8},
}
TWO_STAGES: Settings = {
    "ResNet": RESNET,
    "FPN": {"out_channel": 32, "spatial_scales": [0.125, 0.0625, 0.03125], "extra_stage": 0},
    "RPNHead": RPN,
    "BBoxHead": {
        "head": "TwoFCHead",
        "roi_extractor": {"resolution": 7, "sampling_ratio": 0, "aligned": True},
        "bbox_assigner": {"batch_size_per_im": 8, "use_random": False, "num_classes": CLASSES},
        "num_classes": CLASSES,
    },
    "TwoFCHead": {"out_channel": 32},
    "BBoxPostProcess": {"decode": "RCNNBox", "nms": NMS, "num_classes": CLASSES},
    "RCNNBox": {"num_classes": CLASSES},
}
DETR: Settings = {
    "ResNet": {**RESNET, "return_idx": [3]},
    "DETRTransformer": {
        "num_queries": 6,
        "hidden_dim": 32,
        "nhead": 4,
        "num_encoder_layers": 1,
        "num_decoder_layers": 2,
        "dim_feedforward": 64,
        "dropout": 0.0,
    },
    "DETRHead": {"hidden_dim": 32, "num_mlp_layers": 2, "num_classes": CLASSES},
    "DETRLoss": {
        "num_classes": CLASSES,
        "matcher": "HungarianMatcher",
        "loss_coeff": {
            "class": 1,
            "bbox": 5,
            "giou": 2,
            "no_object": 0.1,
            "mask": 1,
            "dice": 1,
        },
    },
    "DETRBBoxPostProcess": {"num_top_queries": 5, "num_classes": CLASSES},
}
DEFORMABLE = {
    "num_queries": 6,
    "hidden_dim": 32,
    "nhead": 4,
    "num_encoder_layers": 1,
    "num_decoder_layers": 2,
    "dim_feedforward": 64,
    "dropout": 0.0,
}

DETECTORS: dict[str, tuple[str, Settings]] = {
    "YOLOv3": (
        "YOLOv3",
        {
            "YOLOv3": {"backbone": "MobileNet", "neck": "YOLOv3FPN", "yolo_head": "YOLOv3Head"},
            "MobileNet": {"scale": 0.25},
            "YOLOv3Head": {"num_classes": CLASSES},
            "YOLOv3Loss": {"num_classes": CLASSES},
            "BBoxPostProcess": {"decode": "YOLOBox", "nms": NMS, "num_classes": CLASSES},
            "YOLOBox": {"num_classes": CLASSES},
        },
    ),
    "PPYOLOE": (
        "PPYOLOE",
        {
            "PPYOLOE": {"post_process": None},
            "CSPResNet": {
                "layers": [1, 1, 1, 1],
                "channels": [16, 16, 32, 32, 64],
                "use_large_stem": True,
            },
            "CustomCSPPAN": {"out_channels": [64, 32, 32], "block_num": 1, "act": "swish"},
            "PPYOLOEHead": {"num_classes": CLASSES, "nms": NMS, "static_assigner_epoch": 4},
            "ATSSAssigner": {"num_classes": CLASSES},
        },
    ),
    "PicoDet": (
        "PicoDet",
        {
            "PicoDet": {"backbone": "LCNet", "neck": "LCPAN", "head": "PicoHeadV2"},
            "LCNet": {"scale": 0.35},
            "LCPAN": {"out_channels": 32},
            "PicoHeadV2": {
                "conv_feat": {
                    "name": "PicoFeat",
                    "feat_in": 32,
                    "feat_out": 32,
                    "num_convs": 1,
                    "num_fpn_stride": 3,
                    "share_cls_reg": True,
                    "use_se": True,
                },
                "num_classes": CLASSES,
                "feat_in_chan": 32,
                "nms": NMS,
                "loss_class": {"name": "VarifocalLoss"},
                "loss_dfl": {"name": "DistributionFocalLoss", "loss_weight": 0.5},
                "loss_bbox": {"name": "GIoULoss", "loss_weight": 2.5},
                "assigner": {"name": "TaskAlignedAssigner"},
            },
            "ATSSAssigner": {"num_classes": CLASSES},
        },
    ),
    "FCOS": (
        "FCOS",
        {
            "ResNet": RESNET,
            "FPN": {**PYRAMID, "out_channel": 256},
            "FCOSFeat": {"feat_in": 256, "feat_out": 256, "num_convs": 1, "norm_type": "bn"},
            "FCOSHead": {"num_classes": CLASSES, "nms": NMS, "fcos_feat": "FCOSFeat"},
        },
    ),
    "GFL": (
        "GFL",
        {
            "GFL": {"backbone": "ResNet", "neck": "FPN", "head": "GFLHead"},
            "ResNet": RESNET,
            "FPN": PYRAMID,
            **LEVELS,
            "GFLHead": {"num_classes": CLASSES, "feat_in_chan": 32, "nms": NMS},
        },
    ),
    "RetinaNet": (
        "RetinaNet",
        {
            "RetinaNet": {"backbone": "ResNet", "neck": "FPN", "head": "RetinaHead"},
            "ResNet": RESNET,
            "FPN": PYRAMID,
            "RetinaHead": {
                "conv_feat": {"name": "RetinaFeat", "feat_in": 32, "feat_out": 32, "num_convs": 1},
                "num_classes": CLASSES,
                "nms": NMS,
                "bbox_assigner": {
                    "name": "MaxIoUAssigner",
                    "positive_overlap": 0.5,
                    "negative_overlap": 0.4,
                },
            },
        },
    ),
    "TOOD": (
        "TOOD",
        {
            "TOOD": {"backbone": "ResNet", "neck": "FPN", "head": "TOODHead"},
            "ResNet": RESNET,
            "FPN": PYRAMID,
            "TOODHead": {
                "num_classes": CLASSES,
                "feat_channels": 32,
                "stacked_convs": 2,
                "norm_groups": 8,
                "nms": NMS,
            },
            "ATSSAssigner": {"num_classes": CLASSES},
        },
    ),
    "YOLOX": (
        "YOLOX",
        {
            "YOLOX": {"input_size": [64, 64], "size_range": [2, 3]},
            "CSPDarkNet": {"depth_mult": 0.33, "width_mult": 0.125},
            "YOLOCSPPAN": {"depth_mult": 0.33},
            "YOLOXHead": {
                "num_classes": CLASSES,
                "width_mult": 0.125,
                "nms": NMS,
                "assigner": {"name": "SimOTAAssigner", "num_classes": CLASSES},
            },
        },
    ),
    "YOLOF": (
        "YOLOF",
        {
            "ResNet": {**RESNET, "return_idx": [3]},
            "DilatedEncoder": {
                "in_channels": [512],
                "out_channels": [32],
                "block_mid_channels": 16,
            },
            "YOLOFHead": {
                "num_classes": CLASSES,
                "conv_feat": {"name": "YOLOFFeat", "feat_in": 32, "feat_out": 32},
                "anchor_generator": {
                    "name": "AnchorGenerator",
                    "anchor_sizes": [[16, 32, 64]],
                    "aspect_ratios": [1.0],
                    "strides": [32],
                },
                "bbox_assigner": {
                    "name": "UniformAssigner",
                    "pos_ignore_thr": 0.15,
                    "neg_ignore_thr": 0.7,
                },
                "nms": NMS,
            },
        },
    ),
    "TTFNet": (
        "TTFNet",
        {
            "TTFNet": {"backbone": "ResNet", "post_process": "BBoxPostProcess"},
            "ResNet": {**RESNET, "return_idx": [0, 1, 2, 3]},
            "TTFFPN": {"planes": [32, 32, 16], "shortcut_num": [3, 2, 1]},
            "TTFHead": {"num_classes": CLASSES, "hm_head_planes": 16, "wh_head_planes": 16},
            "BBoxPostProcess": {"decode": {"name": "TTFBox", "max_per_img": 10}},
        },
    ),
    "FasterRCNN": (
        "FasterRCNN",
        {
            "FasterRCNN": {
                "backbone": "ResNet",
                "neck": "FPN",
                "rpn_head": "RPNHead",
                "bbox_head": "BBoxHead",
                "bbox_post_process": "BBoxPostProcess",
            },
            **TWO_STAGES,
        },
    ),
    "CascadeRCNN": (
        "CascadeRCNN",
        {
            "CascadeRCNN": {
                "backbone": "ResNet",
                "neck": "FPN",
                "rpn_head": "RPNHead",
                "bbox_head": "CascadeHead",
                "bbox_post_process": "BBoxPostProcess",
            },
            **TWO_STAGES,
            "CascadeHead": {
                "head": "CascadeTwoFCHead",
                "roi_extractor": {"resolution": 7, "sampling_ratio": 0, "aligned": True},
                "bbox_assigner": {
                    "batch_size_per_im": 8,
                    "use_random": False,
                    "num_classes": CLASSES,
                },
                "num_classes": CLASSES,
            },
            "CascadeTwoFCHead": {"out_channel": 32},
        },
    ),
    "DETR": (
        "DETR",
        {
            "DETR": {
                "backbone": "ResNet",
                "transformer": "DETRTransformer",
                "detr_head": "DETRHead",
            },
            **DETR,
        },
    ),
    "DeformableDETR": (
        "DETR",
        {
            **DETR,
            "DETR": {
                "backbone": "ResNet",
                "transformer": "DeformableTransformer",
                "detr_head": "DeformableDETRHead",
            },
            "ResNet": RESNET,
            "DeformableTransformer": DEFORMABLE,
            "DeformableDETRHead": {
                "hidden_dim": 32,
                "num_mlp_layers": 2,
                "num_classes": CLASSES,
            },
            "DETRLoss": {
                "num_classes": CLASSES,
                "matcher": "HungarianMatcher",
                "use_focal_loss": True,
            },
            "HungarianMatcher": {"use_focal_loss": True},
            "DETRBBoxPostProcess": {
                "num_top_queries": 5,
                "use_focal_loss": True,
                "num_classes": CLASSES,
            },
        },
    ),
    "DINO": (
        "DETR",
        {
            **DETR,
            "DETR": {
                "backbone": "ResNet",
                "transformer": "DINOTransformer",
                "detr_head": "DINOHead",
            },
            "ResNet": RESNET,
            "DINOTransformer": {
                **DEFORMABLE,
                "num_classes": CLASSES,
                "num_denoising": 0,
                "num_levels": 4,
            },
            "DINOHead": {"loss": {"name": "DINOLoss", "num_classes": CLASSES}},
            "DINOLoss": {
                "num_classes": CLASSES,
                "matcher": "HungarianMatcher",
                "use_focal_loss": True,
            },
            "HungarianMatcher": {"use_focal_loss": True},
            "DETRBBoxPostProcess": {
                "num_top_queries": 5,
                "use_focal_loss": True,
                "num_classes": CLASSES,
            },
        },
    ),
    "SSD": (
        "SSD",
        {
            "SSD": {
                "backbone": "MobileNet",
                "ssd_head": "SSDHead",
                "post_process": "BBoxPostProcess",
            },
            "MobileNet": {
                "feature_maps": [11, 13, 14, 15, 16, 17],
                "with_extra_blocks": True,
            },
            "SSDHead": {"num_classes": CLASSES, "use_extra_head": False},
            "BBoxPostProcess": {"decode": "SSDBox", "nms": NMS, "num_classes": CLASSES},
        },
    ),
    "TopDownHRNet": (
        "TopDownHRNet",
        {
            "TopDownHRNet": {"width": 18, "num_joints": 5, "flip": False},
            "HRNet": {"width": 18, "freeze_at": -1, "freeze_norm": False, "return_idx": [0]},
        },
    ),
}
"""Name -> the architecture, and the settings of its parts."""

ONLY_EVAL = words("GFL TTFNet SSD DINO")
"""What needs targets in training that only its own reader of data makes."""

LABELS = words(
    "im_id gt_bbox gt_class is_crowd pad_mask gt_score pad_gt_mask epoch_id target target_weight "
    "target0 target1 target2"
) + tuple(f"{what}{level}" for what in ("labels", "reg_target", "centerness") for level in range(5))

SIZES = {"SSD": 128}


def _builder(name: str, settings: Settings) -> Callable[[], Any]:
    def build() -> Any:
        workspace = importlib.import_module("ppdet.core.workspace")
        workspace.merge_config(copy.deepcopy(settings))  # the package writes into them
        return workspace.create(name)

    return build


def _inputs(name: str) -> Inputs:
    size = SIZES.get(name, 64)

    def inputs() -> tuple[Any, ...]:
        """Two images with two boxes each."""
        low = paddle.rand([2, 2, 2]) * size / 2
        high = low + 8 + paddle.rand([2, 2, 2]) * (size / 2 - 8)
        boxes = paddle.concat([low, high], axis=-1)
        given: dict[str, Any] = {
            "image": paddle.randn([2, 3, size, size]),
            "im_shape": paddle.full([2, 2], float(size)),
            "scale_factor": paddle.ones([2, 2]),
            "im_id": paddle.to_tensor([[0], [1]]),
        }
        classes = paddle.randint(0, CLASSES, [2, 2, 1]).astype("int32")
        if name in ("FasterRCNN", "CascadeRCNN", "DETR", "DeformableDETR"):
            given["gt_bbox"] = [boxes[0], boxes[1]]
            given["gt_class"] = [classes[0], classes[1]]
            given["is_crowd"] = [paddle.zeros([2, 1], "int32") for _ in range(2)]
            if "DETR" in name:
                given["gt_bbox"] = [box / size for box in given["gt_bbox"]]
                given["pad_mask"] = paddle.ones([2, size, size])
        elif name == "YOLOv3":
            given["gt_bbox"] = paddle.concat([low + 4, high - low], axis=-1) / size
            given["gt_score"] = paddle.ones([2, 2])
            for level, stride in enumerate((32, 16, 8)):
                cells = size // stride
                target = paddle.rand([2, 3, 6 + CLASSES, cells, cells])
                given[f"target{level}"] = target
        elif name == "FCOS":
            for level, stride in enumerate((8, 16, 32, 64, 128)):
                cells = max(1, size // stride)
                labels = paddle.randint(0, CLASSES + 1, [2, cells, cells, 1]).astype("int32")
                given[f"labels{level}"] = labels
                given[f"reg_target{level}"] = paddle.rand([2, cells, cells, 4])
                given[f"centerness{level}"] = paddle.rand([2, cells, cells, 1])
        elif name == "TopDownHRNet":
            given["target"] = paddle.rand([2, 5, size // 4, size // 4])
            given["target_weight"] = paddle.ones([2, 5, 1])
            given["center"] = paddle.full([2, 2], size / 2.0)
            given["scale"] = paddle.ones([2, 2])
        else:
            given["gt_bbox"] = boxes
            given["gt_class"] = classes
            given["pad_gt_mask"] = paddle.ones([2, 2, 1])
            given["gt_score"] = paddle.ones([2, 2, 1])
            given["epoch_id"] = 100
        return (given,)

    return inputs


def models() -> list[Model]:
    """Detectors and a network for joints."""
    return [
        Model(
            name,
            _builder(architecture, settings),
            _inputs(name),
            ("eval",) if name in ONLY_EVAL else ("eval", "train"),
            LABELS,
        )
        for name, (architecture, settings) in DETECTORS.items()
    ]


PACKAGE = Package(
    name="paddledet",
    pins=("paddledet==2.6.0",),
    roots=("paddledet",),
    modules=("ppdet.modeling", "ppdet.core.workspace"),
    absent=words("pycocotools lap motmetrics numba visualdl shapely terminaltables lmdb imgaug"),
    models=models,
)
