"""try, with, raise, assert, print, del, and the other statements."""
