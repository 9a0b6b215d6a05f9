"""What is kept on disk: records with digests, leases of folders, and files that are swapped in together."""
