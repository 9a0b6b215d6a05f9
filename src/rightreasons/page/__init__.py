"""What a page is made of: parts, words, plots, and a question as data."""
