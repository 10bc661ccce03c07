"""Operators that stand for functions of Python and of Paddle, and what they are called with."""
