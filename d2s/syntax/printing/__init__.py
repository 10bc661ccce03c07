"""How a tree becomes text: tokens, literals among them, and how they are laid out on lines."""
