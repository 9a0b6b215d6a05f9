"""Commands that ask about a model."""
