"""Questions about data beyond memory: counts of its batches, merged."""
