"""State outside of the arguments: what a program reads, guards and changes."""
