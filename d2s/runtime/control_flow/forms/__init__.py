"""What a variable may be, where a tensor decides which of several things it is."""
