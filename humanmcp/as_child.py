"""`python -m humanmcp.as_child COMMAND …`: a command that ends when its starter ends.

The starter holds the other end of its stdin. The system closes that end however the starter ends.
"""

import sys

from humanmcp.cli import main
from humanmcp.common.own_process import end_with_stdin

if __name__ == "__main__":
    end_with_stdin()
    sys.exit(main())
