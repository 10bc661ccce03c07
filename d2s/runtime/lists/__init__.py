"""Lists whose length the run decides, and what is iterated like them."""
