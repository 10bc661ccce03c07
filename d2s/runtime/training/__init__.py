"""Whole training steps in a program: gradients, optimizers, flags of gradients."""
