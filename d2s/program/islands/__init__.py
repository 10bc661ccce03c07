"""Functions that are not one program: breaks, drivers and the islands in them; what pays."""
