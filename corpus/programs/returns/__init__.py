"""Early returns, at any depth and of any structure."""
