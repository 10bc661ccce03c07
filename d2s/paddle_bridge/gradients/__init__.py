"""Paddle's builder of gradients, with its text corrected where a gradient is wrong."""
