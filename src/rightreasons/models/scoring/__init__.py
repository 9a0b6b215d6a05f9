"""What a model answers: scores of classes, choices and spans."""
