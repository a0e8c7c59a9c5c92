"""A server that plays a recorded log: waits for each IN line, then says the OUT lines after it.

`scripted.py LOG`. An IN line that differs ends it with status 9.
"""

import os
import sys


def main() -> int:
    """Play the log once, then wait for the end of input."""
    with open(sys.argv[1], "rb") as log:  # noqa: PTH123 - as little as possible is imported
        script = [line.rstrip(b"\n").split(b"] ", 1)[1] for line in log]
    for entry in script:
        label, text = entry.split(b": ", 1)
        if label == b"IN":
            if sys.stdin.buffer.readline() != text + b"\n":
                return 9
        else:
            os.write(1, text + b"\n")
    return 0 if sys.stdin.buffer.read() == b"" else 9


if __name__ == "__main__":
    sys.exit(main())
