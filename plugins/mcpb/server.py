"""Starts the server where a host runs this file instead of the command of manifest.json."""

import os
import sys

os.execvp("uv", ["uv", "tool", "run", "humanmcp", "serve", "--handshake", "book", *sys.argv[1:]])  # noqa: S606, S607 - as the host found it
