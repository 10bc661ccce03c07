"""From a function and a call to a captured program."""
