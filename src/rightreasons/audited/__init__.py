"""What is audited: a model, its items, and what it said of them."""
