"""What a call in converted code calls: converted functions, stand-ins, classes, hooks."""
