"""What runs over many items share: bars, processes, and columns of results."""
