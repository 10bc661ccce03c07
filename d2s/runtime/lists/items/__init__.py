"""What the items of a list of the run are, and what is asked of their leaves."""
