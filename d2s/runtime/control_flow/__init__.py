"""``if``, ``try``, ``raise``: one ``if`` of the program, and how its sides become one."""
