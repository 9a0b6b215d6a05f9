"""A kill, a full disk and a flipped bit at every write of every command; docs/evidence/reliability.md has the counts."""
