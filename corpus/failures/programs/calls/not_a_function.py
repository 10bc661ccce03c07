"""A number is to be converted."""

CODE = "D2S102"


def main(to_static):
    to_static(3)  # <- fails
