"""Facts about a tree, as frozen values beside it; writes nothing on nodes, changes no tree."""
