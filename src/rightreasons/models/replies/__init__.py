"""What a reply says: which answer, and which probability."""
