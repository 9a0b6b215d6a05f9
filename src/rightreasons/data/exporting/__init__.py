"""Items as tasks of evaluation harnesses, with our ids, so that their logs come back into the same measures."""
