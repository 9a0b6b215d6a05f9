"""Our measures inside the tools of others; each file stands for one tool, and imports it only where it must."""
