"""What a terminal is shown, and the files that are written in its place."""
