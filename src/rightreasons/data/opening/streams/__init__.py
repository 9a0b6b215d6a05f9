"""Data beyond memory, batch by batch."""
