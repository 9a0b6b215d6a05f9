"""Opens a user's own data: files, splits, columns, labels, choices, questions, predictions."""
