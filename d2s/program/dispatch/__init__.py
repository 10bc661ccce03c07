"""From a call to the program for it: the cache and the specialized call."""
