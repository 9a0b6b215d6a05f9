"""A kill, a full disk and a flipped bit at every write of every command; counts: docs/evidence/reliability.md."""
