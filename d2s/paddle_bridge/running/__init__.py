"""Programs that run: forward, backward, training steps in them, and how runs fail."""
