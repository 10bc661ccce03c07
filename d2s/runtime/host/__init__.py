"""What is said and written by each run: the text of tensors, files, messages, breakpoints."""
