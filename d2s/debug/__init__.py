"""Ways to look at what d2s does.  Whoever debugs reads from here; nothing in d2s depends on it."""
