"""A particle whose velocity is turned round at a wall.

exercises: fields of a dataclass assigned in a tensor branch
rows: 83
"""

from dataclasses import dataclass

import paddle


@dataclass
class Particle:
    place: paddle.Tensor
    speed: paddle.Tensor
    name: str = "p"


def bounce(place, speed):
    particle = Particle(place, speed)
    particle.place = particle.place + particle.speed
    if particle.place > 1:
        particle.place = 2 - particle.place
        particle.speed = -particle.speed
    return particle


def build():
    return bounce


def inputs():
    for place in (0.25, 0.75):
        yield paddle.to_tensor(place), paddle.to_tensor(0.5)
