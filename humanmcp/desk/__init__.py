"""The web page: it reads and writes the inbox and nothing else."""
