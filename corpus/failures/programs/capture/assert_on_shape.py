"""An assertion about a shape, which is known at capture."""

import paddle


def patches(image):
    height, width = image.shape[-2:]
    assert height % 4 == 0, f"height {height}"
    assert width % 4 == 0, f"{width} columns are not divisible by 4"  # <- fails
    return image.reshape([height // 4, 4, width // 4, 4])


def main(to_static):
    to_static(patches)(paddle.ones([8, 6]))
