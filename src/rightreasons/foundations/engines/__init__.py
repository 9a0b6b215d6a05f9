"""Many independent tasks: which engine runs them, and how they are run."""
