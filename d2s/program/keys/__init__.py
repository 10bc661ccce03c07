"""What calls have in common that share a program: the key of a call (rule G2)."""
