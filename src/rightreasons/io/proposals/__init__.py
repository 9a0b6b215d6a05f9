"""What a column means if no heading says it: relations between columns, and the choices of items."""
