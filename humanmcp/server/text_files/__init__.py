"""The person's files: `in.txt`, `out.txt`, `problems.txt` and their neighbours."""
