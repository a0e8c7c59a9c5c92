"""`python -m humanmcp` is the same as `humanmcp`."""

import sys

from humanmcp.cli import main

if __name__ == "__main__":
    sys.exit(main())
