"""Items of multiple choice: the columns of their formats, their choices, and the correct choices."""
