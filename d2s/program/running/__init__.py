"""Programs that run, forward and backward, and what their failures become."""
