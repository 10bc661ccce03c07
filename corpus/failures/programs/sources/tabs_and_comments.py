"""Tabs, comments and blank lines between the statements."""

import paddle


def smooth(x, kernel):
	# a comment

	if x.sum() > 0:  # another one

		# and one in front of

		y = (
			# the operand
			x
			* kernel  # the other one
		)
		y = y - paddle.ones([9])  # <- fails
	else:
		y = x
	return y


def main(to_static):
    to_static(smooth)(paddle.ones([3]), paddle.ones([3]))
