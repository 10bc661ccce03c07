"""The spectrum of a signal, with its strongest part removed.

exercises: fft, complex multiplication, real, imag, abs and conj; condition on a complex part
rows: 1
"""

import paddle

GRAD = False  # gradients are compared for real outputs only, and fft is the point here


def remove_strongest(x, phase):
    spectrum = paddle.fft.rfft(x)
    turned = spectrum * paddle.complex(phase, phase * 0)
    if turned[1].real() > 0:
        turned = turned * 1j
    else:
        turned = paddle.conj(turned)
    return turned, paddle.abs(turned), paddle.fft.irfft(turned)


def build():
    return remove_strongest


def inputs():
    yield paddle.to_tensor([1.0, 2.0, 3.0, 1.5]), paddle.to_tensor(1.0)
    yield paddle.to_tensor([5.0, 2.0, 1.0, 1.5]), paddle.to_tensor(1.0)
