"""A server that sends every line back, and exits with the status it is given."""

import os
import sys

with os.fdopen(1, "wb") as out:
    for line in sys.stdin.buffer:
        out.write(line)
        out.flush()
sys.exit(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
